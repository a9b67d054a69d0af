// Runs before the page is drawn, so that a remembered theme never flashes the other one.
// The system decides while nothing is remembered; the switch itself is theme-switch.js.

(() => {
  try {
    const chosen = localStorage.getItem("ostler.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that refuses storage follows the system.
  }
})();
