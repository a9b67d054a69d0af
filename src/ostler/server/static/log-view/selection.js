// The selected lines, as the address says them: `#L120` or `#L120-L140`.

export function readHash(hash) {
  const match = /^#L([1-9]\d{0,11})(?:-L([1-9]\d{0,11}))?$/.exec(hash);
  if (!match) return null;
  const ends = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b);
  return { first: ends[0], last: ends[1] };
}

export class Selection {
  first = 0;
  last = 0;
  cursor = 0;
  #start = 0;

  /** A plain choice starts anew; an extending one keeps the end where the choice began. */
  choose(line, extend = false) {
    if (!extend || !this.#start) this.#start = line;
    this.cursor = line;
    this.first = Math.min(this.#start, line);
    this.last = Math.max(this.#start, line);
  }

  set({ first, last }) {
    this.#start = this.cursor = first;
    this.first = first;
    this.last = last;
  }

  clear() {
    this.first = this.last = this.#start = 0;
  }

  has(line) {
    return this.first > 0 && line >= this.first && line <= this.last;
  }

  get hash() {
    if (!this.first) return "";
    return this.first === this.last ? `#L${this.first}` : `#L${this.first}-L${this.last}`;
  }
}
