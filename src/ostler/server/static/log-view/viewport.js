// Shows a window of rows out of very many. The truth is an anchor (a row, and how far into it the
// window starts); the browser's scrollbar is only its shadow, since no element may be tall enough
// for a million lines: small movements move the anchor by as many pixels, big ones by proportion.

const TALLEST = 15_000_000; // below the limit of every browser (Firefox 17.8, Chromium 33.5 million)
const SPARE = 6;

export class Viewport extends EventTarget {
  #anchor = 0;
  #into = 0;
  #expected = 0;
  #last = 0;
  #drawn = new Map();
  #first = 0;
  #edges = [0];
  #estimate = 20;
  #frame = 0;
  #moving = 0;
  atEnd = false;
  wrap = false;

  /** `scroller` holds `spacer` (makes the scrollbar) and `pane` (sticks to the window, holds rows). */
  constructor({ scroller, spacer, pane, count, draw }) {
    super();
    Object.assign(this, { scroller, spacer, pane, count, draw });
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    scroller.addEventListener("scrollend", () => this.#settled());
    new ResizeObserver(() => this.refresh()).observe(scroller);
  }

  set lineHeight(pixels) {
    this.#estimate = this.fixed = pixels;
  }

  get height() {
    return this.scroller.clientHeight;
  }

  /** First and last rows that can be seen. */
  get visible() {
    const fit = Math.ceil(this.height / this.fixed);
    return [this.#anchor, Math.min(this.count() - 1, this.#anchor + fit)];
  }

  refresh() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  /** Draws all rows anew, as when the theme, the wrap or the search changed. */
  redraw() {
    for (const element of this.#drawn.values()) element.remove();
    this.#drawn.clear();
    this.refresh();
  }

  toEnd() {
    this.atEnd = true;
    this.refresh();
  }

  toRow(row, share = 0) {
    this.atEnd = false;
    this.#anchor = Math.max(0, Math.min(row, this.count() - 1));
    this.#into = -Math.floor(this.height * share);
    this.refresh();
  }

  reveal(row) {
    const top = this.#topOf(row);
    if (top === null) this.toRow(row, 0.3);
    else if (top < 0) this.toRow(row);
    else if (top > this.height - this.fixed) this.by(top - this.height + this.fixed);
  }

  by(pixels) {
    this.atEnd = false;
    this.#into += pixels;
    this.refresh();
  }

  #topOf(row) {
    const at = row - this.#first;
    if (at < 0 || at >= this.#edges.length - 1) return null;
    return this.#edges[at] - this.#edges[this.#anchor - this.#first] - this.#into;
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────

  #render() {
    const rows = this.count();
    const height = this.height;
    if (height === 0) return;
    const fit = Math.ceil(height / this.fixed) + 1;
    this.#normalise(rows, fit);
    const above = Math.max(0, Math.ceil(-this.#into / this.fixed)) + SPARE;
    const below = Math.max(0, Math.ceil(this.#into / this.fixed)) + SPARE;
    const first = Math.max(0, (this.atEnd ? rows - fit : this.#anchor) - above);
    const last = Math.min(rows, (this.atEnd ? rows : this.#anchor + fit) + below);
    this.#place(first, last);
    this.#measure(first, last);
    const top = this.#settleTop(rows, height, first, last);
    this.pane.firstElementChild.style.transform = `translateY(${top}px)`;
    this.#project(rows, height);
    this.dispatchEvent(new Event("drawn"));
  }

  /** Turns pixels beyond the anchor's row into rows; wrapped rows nearby are drawn and measured instead. */
  #normalise(rows, fit) {
    if (this.atEnd) this.#anchor = Math.max(0, rows - fit);
    this.#anchor = Math.max(0, Math.min(this.#anchor, rows - 1));
    if (this.wrap && Math.abs(this.#into) <= 2 * this.height) return;
    const whole = Math.floor(this.#into / this.#estimate);
    this.#anchor += whole;
    this.#into -= whole * this.#estimate;
    if (this.#anchor < 0) this.#into = 0;
    this.#anchor = Math.max(0, Math.min(this.#anchor, rows - 1));
  }

  #place(first, last) {
    const list = this.pane.firstElementChild;
    for (const [row, element] of this.#drawn) {
      if (row >= first && row < last) continue;
      element.remove();
      this.#drawn.delete(row);
    }
    let before = list.firstElementChild;
    for (let row = first; row < last; row += 1) {
      const old = this.#drawn.get(row);
      const element = this.draw(row, old);
      if (element !== before) list.insertBefore(element, before);
      else before = before.nextElementSibling;
      if (old && old !== element) {
        if (before === old) before = old.nextElementSibling;
        old.remove();
      }
      this.#drawn.set(row, element);
    }
  }

  #measure(first, last) {
    const edges = [0];
    for (let row = first; row < last; row += 1) {
      const height = this.wrap ? this.#drawn.get(row).getBoundingClientRect().height : this.fixed;
      edges.push(edges.at(-1) + height);
    }
    this.#first = first;
    this.#edges = edges;
    if (!this.wrap) this.#estimate = this.fixed;
    else if (last > first) this.#estimate += (edges.at(-1) / (last - first) - this.#estimate) * 0.1;
  }

  /** Where the drawn rows stand; makes the anchor agree with it. */
  #settleTop(rows, height, first, last) {
    const edges = this.#edges;
    const whole = edges.at(-1);
    let top = -(edges[Math.max(0, this.#anchor - first)] + this.#into);
    const low = last === rows ? Math.min(0, height - whole) : -Infinity;
    if (this.atEnd || top <= low) top = low;
    if (first === 0 && top > 0) top = 0;
    const found = Math.max(0, edges.findLastIndex((edge) => edge <= -top));
    this.#anchor = Math.min(first + found, Math.max(0, rows - 1));
    this.#into = -top - edges[found];
    this.bottomSeen = last === rows && top <= low + 1;
    return top;
  }

  // ── the scrollbar ────────────────────────────────────────────────────────────────────────────

  #reach(rows, height) {
    const pixels = rows * this.#estimate;
    return { pixels: Math.max(1, pixels - height), bar: Math.max(0, Math.min(pixels, TALLEST) - height) };
  }

  #project(rows, height) {
    const { pixels, bar } = this.#reach(rows, height);
    const tall = `${Math.round(bar + height)}px`;
    if (this.spacer.style.height !== tall) this.spacer.style.height = tall;
    if (this.#moving && !this.atEnd) return;
    const at = this.#anchor * this.#estimate + this.#into;
    const goal = this.bottomSeen ? bar : Math.min(bar, Math.max(0, (at / pixels) * bar));
    if (Math.abs(this.scroller.scrollTop - goal) > 1) this.scroller.scrollTop = goal;
    this.#expected = this.#last = this.scroller.scrollTop;
  }

  #scrolled() {
    const now = this.scroller.scrollTop;
    if (Math.abs(now - this.#expected) < 1) return;
    const moved = now - this.#last;
    this.#last = now;
    this.#expected = -10;
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => this.#settled(), 160);
    const rows = this.count();
    const { pixels, bar } = this.#reach(rows, this.height);
    this.atEnd = false;
    if (now <= 0) this.#anchor = this.#into = 0;
    else if (now >= bar - 1) this.atEnd = true;
    else if (Math.abs(moved) <= 2 * this.height) this.#into += moved;
    else {
      const at = (now / bar) * pixels;
      this.#anchor = Math.floor(at / this.#estimate);
      this.#into = at - this.#anchor * this.#estimate;
    }
    this.refresh();
    this.dispatchEvent(new CustomEvent("moved", { detail: { up: moved < 0 } }));
  }

  #settled() {
    if (!this.#moving) return;
    clearTimeout(this.#moving);
    this.#moving = 0;
    this.refresh();
  }
}
