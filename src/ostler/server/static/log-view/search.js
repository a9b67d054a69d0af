// Finds text in a log without having the log: the server searches and streams its hits, of which
// only the line numbers are kept.

const MOST = 1000;

export class Search extends EventTarget {
  #abort = null;
  hits = [];
  text = "";
  exact = false;
  done = true;
  more = false;
  scanned = 0;

  constructor(source) {
    super();
    this.source = source;
  }

  get query() {
    return this.text ? { text: this.text, exact: this.exact } : null;
  }

  clear() {
    this.#abort?.abort();
    Object.assign(this, { hits: [], text: "", done: true, more: false });
    this.dispatchEvent(new Event("found"));
  }

  async start(text, exact) {
    this.clear();
    if (!text) return;
    Object.assign(this, { text, exact, done: false });
    await this.#read(1);
  }

  /** The hit after (or before) a line; goes round at the end. */
  step(line, direction) {
    if (this.hits.length === 0) return null;
    if (direction > 0) return this.hits.find((hit) => hit > line) ?? this.hits[0];
    return this.hits.findLast((hit) => hit < line) ?? this.hits.at(-1);
  }

  /** Asks for the hits after the last known one, when there were too many for one answer. */
  async continue() {
    if (this.more && this.done) await this.#read(this.hits.at(-1) + 1);
  }

  async #read(from) {
    const abort = new AbortController();
    this.#abort = abort;
    this.done = false;
    this.more = false;
    const address = this.source.url("/search", {
      q: this.text, from_line: from, limit: MOST, case: this.exact ? 1 : 0,
    });
    try {
      const reply = await fetch(address, { signal: abort.signal });
      if (!reply.ok) throw new Error(`The server answered ${reply.status} to the search.`);
      await this.#follow(reply.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      if (error.name === "AbortError") return;
      this.dispatchEvent(new CustomEvent("failed", { detail: error }));
    }
    this.done = true;
    this.dispatchEvent(new Event("found"));
  }

  async #follow(reader) {
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) this.#take(JSON.parse(line));
      this.dispatchEvent(new Event("found"));
    }
  }

  #take(record) {
    if (record.line) this.hits.push(record.line);
    if (!record.done) return;
    this.scanned = record.scanned_lines;
    this.more = record.hits >= MOST;
  }
}

/** The line that closes a group opened on `line`: its end mark, or the line before the next group. */
export async function groupEnd(source, line) {
  const after = await Promise.all(
    ["::endgroup::", "##[endgroup]", "::group::", "##[group]"].map((mark) => firstHit(source, mark, line + 1)),
  );
  const end = Math.min(after[0], after[1]);
  return Math.min(end, Math.min(after[2], after[3]) - 1, source.total);
}

async function firstHit(source, mark, from) {
  const reply = await fetch(source.url("/search", { q: mark, from_line: from, limit: 20, case: 1 }));
  if (!reply.ok) return Infinity;
  const records = (await reply.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return records.find((record) => record.text?.startsWith(mark))?.line ?? Infinity;
}
