// <theme-switch>: a button that goes from the system's theme to light to dark, and remembers it.

const THEMES = ["system", "light", "dark"];
const NAMES = { system: "as the system", light: "light", dark: "dark" };

class ThemeSwitch extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button?.addEventListener("click", () => this.#choose(THEMES[(THEMES.indexOf(this.#theme) + 1) % 3]));
    this.#show();
  }

  get #theme() {
    return document.documentElement.dataset.theme ?? "system";
  }

  #choose(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === "system") localStorage.removeItem("ostler.theme");
      else localStorage.setItem("ostler.theme", theme);
    } catch {
      // The choice then lasts as long as the page.
    }
    this.#show();
    document.dispatchEvent(new CustomEvent("theme-change"));
  }

  #show() {
    if (!this.button) return;
    const label = `Theme: ${NAMES[this.#theme]}`;
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    for (const icon of this.querySelectorAll("[data-theme-icon]")) {
      icon.toggleAttribute("hidden", icon.dataset.themeIcon !== this.#theme);
    }
  }
}

customElements.define("theme-switch", ThemeSwitch);
