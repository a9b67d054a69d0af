// What every page loads.

import "./elements/cmd-k.js";
import "./elements/copy-button.js";
import "./elements/page-stream.js";
import "./elements/theme-switch.js";
import "./elements/time-ago.js";

// A filter form acts as soon as something is chosen; its button is for those without scripts.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});
