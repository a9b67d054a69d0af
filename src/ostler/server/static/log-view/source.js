// Holds the little of a log that is near what is on screen, and asks the server for the rest.
// Lines come from two places: pages of the Log API (any line, forgotten when far away), and the
// page's event stream (the newest lines of a running job, of which only the last ones are kept).

const PAGE = 256;
const KEPT_PAGES = 10;
const KEPT_CHARACTERS = 600_000;
const KEPT_NEWEST = 1024;
const LONGEST = 8200; // the server cuts at 8000 and says so

/** Copies a long text's head: a plain slice would keep the whole line in memory. */
function shorten(line) {
  if (line[0].length <= LONGEST) return line;
  const bytes = new TextEncoder().encode(line[0].slice(0, LONGEST));
  return [new TextDecoder().decode(bytes), line[1], line[2], line[0].length];
}

export class LogSource extends EventTarget {
  #pages = new Map();
  #loading = new Map();
  #newest = { first: 1, lines: [], characters: 0 };
  #wanted = [0, 0];
  #streaming = false;
  total = 0;
  bytes = 0;
  complete = false;
  failure = null;

  constructor(address, attempt) {
    super();
    this.address = address;
    this.attempt = attempt;
  }

  url(path, parameters = {}) {
    const query = new URLSearchParams(parameters);
    if (this.attempt) query.set("attempt", this.attempt);
    return `${this.address}${path}${query.size ? `?${query}` : ""}`;
  }

  /** The first thing to ask for: the head, or the end (`from` −n), of the log. */
  async open(from) {
    const page = await this.#fetchLines(from, PAGE);
    if (page === null) return;
    if (from < 0) this.#setNewest(page.first_line, page.lines);
    else this.#keep(Math.floor((page.first_line - 1) / PAGE), page);
    this.#learn(page);
  }

  /** `[text, microseconds, step, whole length?]`, or undefined while it is not here. */
  line(number) {
    const newest = this.#newest.lines[number - this.#newest.first];
    if (newest) return newest;
    const page = this.#pages.get(Math.floor((number - 1) / PAGE));
    return page?.lines[(number - 1) % PAGE];
  }

  /** Says which lines are on screen: loads what is missing, gives up loading what is far away. */
  want(first, last) {
    this.#wanted = [Math.floor((first - 1) / PAGE), Math.floor((last - 1) / PAGE)];
    const [from, to] = this.#wanted;
    for (const [page, abort] of this.#loading) {
      if (page < from - 1 || page > to + 1) abort.abort();
    }
    for (let page = from; page <= to; page += 1) {
      const low = Math.max(first, page * PAGE + 1);
      const high = Math.min(last, (page + 1) * PAGE, this.total);
      if (high < low || this.#loading.has(page)) continue;
      if (this.line(low) && this.line(high)) this.#touch(page);
      else this.#load(page);
    }
  }

  /** Lines pushed by the server: `{first_line, lines, total_lines, offset}` or `{skipped_to}`. */
  append(event) {
    this.failure = null;
    this.#streaming = true; // from now on the stream says how long the log is, and has what is new
    if (event.lines?.length) {
      const next = this.#newest.first + this.#newest.lines.length;
      if (event.first_line > next) this.#setNewest(event.first_line, event.lines);
      else this.#extend(this.#replace(event));
    }
    this.total = Math.max(this.total, event.total_lines ?? 0);
    this.bytes = event.offset ?? event.skipped_to ?? this.bytes;
    this.dispatchEvent(new Event("grown"));
  }

  finish() {
    this.complete = true;
    this.dispatchEvent(new Event("grown"));
  }

  /** Whole texts of a range of lines, for copying. */
  async texts(first, last) {
    const texts = [];
    for (let from = first; from <= last; from += 5000) {
      const page = await this.#fetchLines(from, Math.min(5000, last - from + 1));
      if (!page?.lines.length) break;
      for (const line of page.lines) texts.push(line[0]);
    }
    return texts;
  }

  async #fetchLines(from, lines, signal) {
    try {
      // The run page preloads the first of these addresses: it must be written the same there.
      const reply = await fetch(this.url("", { from_line: from, lines }), { signal });
      if (!reply.ok) throw new Error(`The server answered ${reply.status} when asked for lines.`);
      this.failure = null;
      return await reply.json();
    } catch (error) {
      if (error.name === "AbortError") return null;
      this.failure = error;
      this.dispatchEvent(new Event("failed"));
      return null;
    }
  }

  async #load(page) {
    const abort = new AbortController();
    this.#loading.set(page, abort);
    const reply = await this.#fetchLines(page * PAGE + 1, PAGE, abort.signal);
    this.#loading.delete(page);
    if (reply === null) return;
    this.#keep(page, reply);
    this.#learn(reply);
  }

  #learn(page) {
    if (!this.#streaming || page.complete) {
      this.total = Math.max(this.total, page.total_lines);
      this.bytes = Math.max(this.bytes, page.bytes);
    }
    this.complete = page.complete;
    this.dispatchEvent(new Event("loaded"));
  }

  #touch(page) {
    const kept = this.#pages.get(page);
    if (!kept) return;
    this.#pages.delete(page);
    this.#pages.set(page, kept);
  }

  #keep(page, reply) {
    const lines = reply.lines.map(shorten);
    this.#pages.delete(page);
    this.#pages.set(page, { lines, characters: lines.reduce((sum, line) => sum + line[0].length, 0) });
    let characters = 0;
    for (const kept of this.#pages.values()) characters += kept.characters;
    for (const [oldest, kept] of this.#pages) {
      const near = oldest >= this.#wanted[0] && oldest <= this.#wanted[1];
      if (near || (this.#pages.size <= KEPT_PAGES && characters <= KEPT_CHARACTERS)) continue;
      this.#pages.delete(oldest);
      characters -= kept.characters;
    }
  }

  #setNewest(first, lines) {
    this.#newest = { first, lines: [], characters: 0 };
    this.#extend(lines);
  }

  /** Takes again what is here already, for its last line may have grown; returns what is new. */
  #replace({ first_line: first, lines }) {
    const newest = this.#newest;
    const known = newest.first + newest.lines.length - first;
    for (let at = Math.max(0, newest.first - first); at < Math.min(known, lines.length); at += 1) {
      const line = shorten(lines[at]);
      newest.characters += line[0].length - newest.lines[first + at - newest.first][0].length;
      newest.lines[first + at - newest.first] = line;
    }
    return lines.slice(known);
  }

  #extend(lines) {
    const newest = this.#newest;
    for (const line of lines) {
      newest.lines.push(shorten(line));
      newest.characters += line[0].length;
    }
    if (newest.lines.length <= 2 * KEPT_NEWEST && newest.characters <= KEPT_CHARACTERS) return;
    let drop = Math.max(0, newest.lines.length - KEPT_NEWEST);
    let left = 0;
    for (let at = newest.lines.length - 1; at >= drop; at -= 1) {
      left += newest.lines[at][0].length;
      if (left > KEPT_CHARACTERS / 2) drop = Math.min(at + 1, newest.lines.length - 1);
    }
    newest.lines = newest.lines.slice(drop);
    newest.first += drop;
    newest.characters = newest.lines.reduce((sum, line) => sum + line[0].length, 0);
  }
}
