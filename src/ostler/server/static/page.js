// What every page loads.

import "./elements/cmd-k.js";
import "./elements/copy-button.js";
import "./elements/page-stream.js";
import "./elements/theme-switch.js";
import "./elements/time-ago.js";

// What a reader unfolded stays so when its part of the page is fetched anew.
const unfolded = new Set();
document.addEventListener("toggle", ({ target }) => {
  if (target.id && target.localName === "details") unfolded[target.open ? "add" : "delete"](target.id);
}, true);
document.addEventListener("htmx:afterSwap", () => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
});

// A filter form acts as soon as something is chosen; its button is for those without scripts.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});
