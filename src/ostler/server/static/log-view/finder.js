// The search as a person uses it: a field, a count, next and previous. What to search is search.js;
// where things are on screen is told by the log view (`place`).

import { press } from "./toolbar.js";

const TYPING_PAUSE = 120;

export class Finder {
  #jumpFrom = null;
  #typing = 0;

  /** `place`: `{top(), cursor(), show(line), redraw(), leave()}`. */
  constructor(search, parts, place) {
    Object.assign(this, { search, parts, place });
    search.addEventListener("found", () => this.#found());
    search.addEventListener("failed", ({ detail }) => (parts.count.textContent = detail.message));
    parts.input.addEventListener("input", () => this.#typed());
    parts.input.addEventListener("keydown", (event) => this.#key(event));
  }

  /** What to mark in the lines. */
  get query() {
    return this.search.query;
  }

  focus() {
    this.parts.input.focus();
    this.parts.input.select();
  }

  /** Ends the search; false if there was none. */
  clear() {
    if (!this.search.text && !this.parts.input.value) return false;
    clearTimeout(this.#typing);
    this.parts.input.value = "";
    this.search.clear();
    this.place.redraw();
    return true;
  }

  toggleExact() {
    press(this.parts.exact, this.parts.exact.getAttribute("aria-pressed") !== "true");
    this.#start();
  }

  async next(direction) {
    if (this.parts.input.value !== this.search.text) return this.#start();
    const cursor = this.place.cursor();
    if (direction > 0 && cursor === this.search.hits.at(-1)) await this.search.continue();
    const hit = this.search.step(cursor, direction);
    if (hit) this.#show(hit);
  }

  #typed() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#start(), TYPING_PAUSE);
  }

  #start() {
    clearTimeout(this.#typing);
    this.#jumpFrom = this.place.top();
    this.search.start(this.parts.input.value, this.parts.exact.getAttribute("aria-pressed") === "true");
    this.place.redraw();
  }

  /** The first hit from where the reader is; the search goes on meanwhile. */
  #found() {
    this.#count();
    if (this.#jumpFrom === null) return;
    const { hits, done } = this.search;
    const hit = hits.find((line) => line >= this.#jumpFrom) ?? (done ? hits[0] : undefined);
    if (hit === undefined) return;
    this.#jumpFrom = null;
    this.#show(hit);
  }

  #show(line) {
    this.place.show(line);
    this.#count();
  }

  #count() {
    const { hits, done, more, text } = this.search;
    const at = hits.indexOf(this.place.cursor()) + 1;
    const all = `${hits.length.toLocaleString("en")}${more ? "+" : ""}`;
    const found = at ? `${at.toLocaleString("en")} of ${all}` : all;
    this.parts.count.textContent = !text ? "" : hits.length ? found : done ? "No hits" : "…";
  }

  #key(event) {
    if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") this.place.leave();
    else return;
    event.preventDefault();
  }
}
