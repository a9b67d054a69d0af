// <page-stream>: the one event stream of a page. What may change on the page says so in its markup
// (`data-topic="runs"`) or by a `stream-subscribe` event (the log, whose topic moves on as it is
// read, and null once nobody reads it). A `changed` event goes to every element of that topic, where htmx fetches it anew; `log`
// and `end` events go on as `stream-log`. A lost stream comes back by itself, from where it was.

const COALESCE = 250;
const LONGEST_PAUSE = 15_000;
const UNSEEN = 10_000; // a browser has few connections for a site: a page that nobody sees gives its own back

class PageStream extends HTMLElement {
  #asked = new Set();
  #stream = null;
  #opening = 0;
  #pause = 500;
  #waiting = new Map();
  #unseen = 0;
  #end = new AbortController();

  connectedCallback() {
    const { signal } = this.#end;
    document.addEventListener("stream-subscribe", ({ detail }) => this.#ask(detail.topic), { signal });
    document.addEventListener("htmx:afterSwap", () => this.#openIfNew(), { signal });
    document.addEventListener("visibilitychange", () => this.#seen(!document.hidden), { signal });
    window.addEventListener("pagehide", () => this.#close(), { signal });
    window.addEventListener("pageshow", (event) => event.persisted && this.#open(), { signal });
    this.#openIfNew();
  }

  disconnectedCallback() {
    this.#end.abort();
    this.#close();
  }

  #ask(topic) {
    this.#asked.add(topic);
    this.#openSoon(0);
  }

  get #topics() {
    const marked = [...document.querySelectorAll("[data-topic]")].map((element) => element.dataset.topic);
    return [...new Set(marked)].sort();
  }

  #openIfNew() {
    const topics = this.#topics.join(",");
    if (topics === this.marked) return;
    this.marked = topics;
    this.#openSoon(0);
  }

  #openSoon(pause) {
    clearTimeout(this.#opening);
    this.#opening = setTimeout(() => this.#open(), pause);
  }

  #open() {
    this.#close();
    const topics = [...this.#topics, ...[...this.#asked].map((topic) => topic()).filter(Boolean)];
    if (topics.length === 0) return;
    const stream = new EventSource(`/stream?topics=${encodeURIComponent(topics.join(","))}`);
    this.#stream = stream;
    stream.addEventListener("open", () => this.#opened());
    stream.addEventListener("error", () => this.#lost(stream));
    stream.addEventListener("signed-out", () => location.reload());
    stream.addEventListener("changed", (event) => this.#changed(JSON.parse(event.data).topic));
    stream.addEventListener("log", (event) => this.#log(JSON.parse(event.data)));
    stream.addEventListener("end", (event) => this.#log({ ...JSON.parse(event.data), end: true }));
  }

  #opened() {
    this.#pause = 500;
    if (this.missed) for (const topic of this.#topics) this.#changed(topic);
    this.missed = false;
    this.hidden = true;
  }

  #seen(seen) {
    clearTimeout(this.#unseen);
    if (!seen) {
      this.#unseen = setTimeout(() => {
        this.missed = true;
        this.#close();
      }, UNSEEN);
    } else if (!this.#stream) this.#openSoon(0);
  }

  /** The page may have missed something meanwhile: once back, everything is fetched anew. */
  #lost(stream) {
    if (stream !== this.#stream) return;
    this.#close();
    this.missed = true;
    this.hidden = false;
    this.textContent = "Connection lost. Trying again.";
    this.#openSoon(this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #close() {
    clearTimeout(this.#opening);
    this.#stream?.close();
    this.#stream = null;
  }

  #log(detail) {
    document.dispatchEvent(new CustomEvent("stream-log", { detail }));
  }

  #changed(topic) {
    if (this.#waiting.has(topic)) return;
    this.#waiting.set(topic, setTimeout(() => {
      this.#waiting.delete(topic);
      for (const element of document.querySelectorAll("[data-topic]")) {
        if (element.dataset.topic === topic) element.dispatchEvent(new CustomEvent("changed"));
      }
    }, COALESCE));
  }
}

customElements.define("page-stream", PageStream);
