// <cmd-k src="/palette">: goes anywhere by a few letters. Ctrl+K or ⌘K opens it. The places of the
// navigation are there at once; runs, pools and runners come from the server as one types.

class CommandPalette extends HTMLElement {
  #entries = [];
  #chosen = 0;
  #abort = null;

  connectedCallback() {
    const key = document.querySelector("[data-open-palette] kbd");
    if (key) key.textContent = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K";
    document.addEventListener("keydown", (event) => {
      if (event.key !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey) return;
      event.preventDefault();
      this.open();
    });
    document.addEventListener("click", (event) => event.target.closest("[data-open-palette]") && this.open());
  }

  open() {
    if (!this.dialog) this.#build();
    if (this.dialog.open) return;
    this.input.value = "";
    this.#ask();
    this.dialog.showModal();
  }

  #build() {
    this.dialog = document.createElement("dialog");
    this.dialog.className = "palette";
    this.dialog.setAttribute("aria-label", "Go to");
    this.input = document.createElement("input");
    Object.assign(this.input, { className: "palette-query", type: "text", placeholder: "Go to a run, pool, runner…", autocomplete: "off" });
    const rules = { role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Go to", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(rules)) this.input.setAttribute(name, value);
    this.list = document.createElement("div");
    Object.assign(this.list, { className: "palette-list", id: "palette-list", role: "listbox" });
    this.list.setAttribute("aria-label", "Places");
    this.dialog.append(this.input, this.list);
    this.append(this.dialog);
    this.input.addEventListener("input", () => this.#ask());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("click", (event) => this.#go(event.target.closest("[role=option]")?.dataset.href));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  #places() {
    const words = this.input.value.toLowerCase();
    return [...document.querySelectorAll(".nav a")]
      .map((link) => ({ title: link.dataset.name ?? link.textContent.trim(), detail: "Page", href: link.getAttribute("href") }))
      .filter((entry) => entry.title.toLowerCase().includes(words));
  }

  async #ask() {
    this.#abort?.abort();
    this.#abort = new AbortController();
    this.#show(this.#places());
    const query = this.input.value.trim();
    if (!query) return;
    try {
      const address = `${this.getAttribute("src")}?${new URLSearchParams({ q: query })}`;
      const reply = await fetch(address, { signal: this.#abort.signal, headers: { Accept: "application/json" } });
      if (reply.ok) this.#show([...this.#places(), ...(await reply.json()).entries]);
    } catch (error) {
      if (error.name !== "AbortError") this.#show(this.#places());
    }
  }

  #show(entries) {
    this.#entries = entries;
    this.#chosen = 0;
    this.list.replaceChildren(...entries.map((entry, at) => this.#option(entry, at)));
    if (entries.length === 0) {
      const empty = document.createElement("p");
      empty.className = "palette-empty";
      empty.textContent = "Nothing by that name.";
      this.list.append(empty);
    }
    this.#mark();
  }

  #option(entry, at) {
    const made = document.createElement("div");
    Object.assign(made, { className: "palette-entry", id: `palette-${at}`, role: "option" });
    made.dataset.href = entry.href;
    for (const part of ["title", "detail"]) {
      const text = document.createElement("span");
      text.className = `palette-${part}`;
      text.textContent = entry[part] ?? "";
      made.append(text);
    }
    return made;
  }

  #mark() {
    [...this.list.querySelectorAll("[role=option]")].forEach((option, at) => {
      option.setAttribute("aria-selected", String(at === this.#chosen));
      if (at === this.#chosen) option.scrollIntoView({ block: "nearest" });
    });
    if (this.#entries.length) this.input.setAttribute("aria-activedescendant", `palette-${this.#chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const count = this.#entries.length;
    if (event.key === "ArrowDown") this.#chosen = (this.#chosen + 1) % Math.max(1, count);
    else if (event.key === "ArrowUp") this.#chosen = (this.#chosen + count - 1) % Math.max(1, count);
    else if (event.key === "Enter") return this.#go(this.#entries[this.#chosen]?.href);
    else return;
    event.preventDefault();
    this.#mark();
  }

  #go(href) {
    if (href?.startsWith("/") && !href.startsWith("//")) location.assign(href);
  }
}

customElements.define("cmd-k", CommandPalette);
