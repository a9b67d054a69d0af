// <log-view job="job_…" [attempt="2"] [live] [started="micros"] [steps="id of the list of steps"]>
// Shows a log of any length, finished or running, and never holds it: see source.js for what is
// kept, viewport.js for scrolling, rows.js for folding. This file joins them and decides what each
// key and button does. Live lines come as `stream-log` events from the page's <page-stream>.

import { actionOf } from "./keyboard.js";
import { preferences, remember, TIMESTAMPS } from "./preferences.js";
import { drawLine, drawStep } from "./row.js";
import { RowMap } from "./rows.js";
import { groupEnd, Search } from "./search.js";
import { Finder } from "./finder.js";
import { readHash, Selection } from "./selection.js";
import { LogSource } from "./source.js";
import { readSteps } from "./steps.js";
import { buildParts, press } from "./toolbar.js";
import { kindOf } from "./line.js";
import { Viewport } from "./viewport.js";

const RETRY_PAUSE = 2000;
const LIVE_PAUSE = 50; // milliseconds between drawings of a running log: nobody reads faster

export class LogView extends HTMLElement {
  #look = preferences();
  #rows = new RowMap();
  #selection = new Selection();
  #following = false;
  #seen = 0;
  #generation = 0;
  #growth = 0;
  #firstLine = null;
  #end = new AbortController();

  connectedCallback() {
    if (this.source) return;
    const job = this.getAttribute("job");
    this.source = new LogSource(`/api/v1/jobs/${encodeURIComponent(job)}/log`, this.getAttribute("attempt"));
    this.#following = this.hasAttribute("live") && !readHash(location.hash);
    const opened = this.#open();
    this.parts = buildParts(this.getAttribute("label") ?? "Log");
    this.finder = this.#makeFinder();
    this.append(...this.parts.all);
    this.viewport = new Viewport({
      ...this.parts, count: () => this.#rows.rows, draw: (row, old) => this.#draw(row, old),
    });
    this.#listen();
    this.#applyLook();
    opened.then(() => this.#opened());
  }

  #open() {
    const asked = readHash(location.hash);
    return this.source.open(asked ? Math.max(1, asked.first - 128) : this.#following ? -256 : 1);
  }

  disconnectedCallback() {
    this.#end.abort();
    this.finder?.clear();
  }

  #makeFinder() {
    return new Finder(new Search(this.source), this.parts, {
      top: () => (this.#rows.rows ? this.#rows.at(this.viewport.visible[0]).line ?? 1 : 1),
      cursor: () => this.#selection.cursor,
      show: (line) => this.#reveal(line),
      redraw: () => this.#redraw(),
      leave: () => this.act("escape"),
    });
  }

  #reveal(line) {
    this.#rows.total = this.source.total;
    this.#rows.reveal(line);
    this.#select(line);
  }

  #opened() {
    const asked = readHash(location.hash);
    this.#takeSteps();
    if (asked) this.#goTo(asked);
    else if (this.#following) this.viewport.toEnd();
    if (this.source.complete) return;
    this.dispatchEvent(new CustomEvent("stream-subscribe", {
      bubbles: true,
      detail: { topic: () => this.isConnected && !this.source.complete && `log:${this.getAttribute("job")}:${this.source.bytes}` },
    }));
  }

  // ── listening ────────────────────────────────────────────────────────────────────────────────

  #listen() {
    const { signal } = this.#end;
    const on = (target, name, action) => target.addEventListener(name, action, { signal });
    on(this.source, "loaded", () => this.#changed());
    on(this.source, "grown", () => this.#grown());
    on(this.source, "failed", () => this.#retry());
    on(this.viewport, "drawn", () => this.#drawn());
    on(this.viewport, "moved", ({ detail }) => detail.up && this.#follow(false));
    on(document, "stream-log", ({ detail }) => this.#streamed(detail));
    on(document, "keydown", (event) => this.#key(event));
    on(document, "theme-change", () => this.#redraw());
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.#redraw());
    on(window, "hashchange", () => this.#hashChanged());
    on(this, "click", (event) => this.#clicked(event));
    on(this.parts.scroller, "wheel", (event) => event.deltaY < 0 && this.#follow(false));
    this.#watchSteps();
  }

  #watchSteps() {
    const list = document.getElementById(this.getAttribute("steps"));
    if (!list) return;
    const watcher = new MutationObserver(() => this.#takeSteps());
    watcher.observe(list, { subtree: true, childList: true, attributes: true });
    this.#end.signal.addEventListener("abort", () => watcher.disconnect());
  }

  #takeSteps() {
    const list = document.getElementById(this.getAttribute("steps"));
    if (!list) return;
    const { attempt, started } = list.dataset;
    if (attempt && attempt !== this.getAttribute("attempt")) return this.#showAttempt(attempt, started);
    if (started) this.setAttribute("started", started);
    if (this.#rows.setSteps(readSteps(list))) this.#redraw();
  }

  /** A new attempt has a log of its own: a fresh view takes this one's place. */
  #showAttempt(attempt, started) {
    const fresh = this.cloneNode(false);
    fresh.setAttribute("attempt", attempt);
    fresh.setAttribute("started", started ?? "");
    fresh.toggleAttribute("live", true);
    this.replaceWith(fresh);
  }

  #retry() {
    this.#state();
    clearTimeout(this.retrying);
    this.retrying = setTimeout(() => {
      if (!this.isConnected) return;
      if (this.source.total === 0) this.#open();
      else this.viewport.refresh();
    }, RETRY_PAUSE);
  }

  #streamed(detail) {
    if (detail.job !== this.getAttribute("job")) return;
    if (detail.attempt && detail.attempt !== Number(this.getAttribute("attempt") ?? detail.attempt)) return;
    if (detail.end) this.source.finish();
    else this.source.append(detail);
  }

  #grown() {
    this.#rows.total = this.source.total;
    this.#growth ||= setTimeout(() => {
      this.#growth = 0;
      this.#changed();
    }, LIVE_PAUSE);
  }

  #changed() {
    this.#rows.total = this.source.total;
    if (this.#following) this.viewport.toEnd();
    this.viewport.refresh();
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────

  get #dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  #draw(row, old) {
    const { step, line: number } = this.#rows.at(row);
    const line = step ? null : this.source.line(number);
    const groupOpen = !this.#rows.isGroupFolded(number);
    const open = step && !this.#rows.isFolded(step);
    const key = step ? `s${step.label}${open}` : `${number}:${this.#generation}${line ? line[0].length : "-"}${groupOpen}`;
    let made = old;
    if (old?.drawnFor !== key) {
      made = step ? drawStep(step, open) : drawLine(number, line, { ...this.#drawnLook, groupOpen });
      made.drawnFor = key;
    }
    if (!step) {
      made.classList.toggle("is-selected", this.#selection.has(number));
      made.classList.toggle("is-cursor", this.#selection.cursor === number);
    }
    return made;
  }

  get #drawnLook() {
    return {
      dark: this.#dark, query: this.finder.query, timestamps: this.#look.timestamps,
      start: Number(this.getAttribute("started")), rawAddress: this.source.url("/raw"),
      size: this.source.complete ? this.source.total : -1,
    };
  }

  #drawn() {
    const [from, to] = this.viewport.visible;
    if (this.#rows.rows > 0) {
      this.#firstLine ??= performance.mark("log-first-line");
      const first = this.#rows.at(from);
      const last = this.#rows.at(Math.max(from, to));
      this.source.want(first.line ?? first.step.first, Math.min(this.source.total, last.line ?? last.step.first));
    }
    if (this.viewport.bottomSeen) this.#seen = this.source.total;
    this.#state();
  }

  #state() {
    const { parts, source } = this;
    const unseen = source.total - this.#seen;
    parts.newest.hidden = source.complete || this.#following || source.total === 0;
    parts.newest.textContent = unseen > 0 ? `Jump to newest (${unseen.toLocaleString("en")} lines)` : "Jump to newest";
    parts.follow.hidden = source.complete;
    press(parts.follow, this.#following);
    const lines = `${source.total.toLocaleString("en")} ${source.total === 1 ? "line" : "lines"}`;
    parts.state.textContent = source.complete ? lines : `${lines} · ${this.#following ? "following" : "live, paused"}`;
    parts.state.dataset.live = String(!source.complete);
    parts.place.textContent = this.#selection.hash.slice(1);
    parts.note.hidden = source.total > 0 && !source.failure;
    if (source.failure) parts.note.textContent = `${source.failure.message} The log is shown again as soon as it answers.`;
    else parts.note.textContent = source.complete ? "This job printed nothing." : "Waiting for the first line.";
  }

  #redraw() {
    this.#generation += 1;
    this.#changed();
    this.viewport.redraw();
  }

  #applyLook() {
    const { timestamps, wrap } = this.#look;
    this.classList.toggle("is-wrapped", wrap);
    this.viewport.wrap = wrap;
    this.viewport.lineHeight = parseFloat(getComputedStyle(this.parts.list).lineHeight) || 20;
    press(this.parts.wrap, wrap);
    const names = { off: "off", relative: "relative", utc: "UTC", local: "local" };
    this.parts.timestamps.textContent = `Time: ${names[timestamps]}`;
    this.dataset.timestamps = timestamps;
    for (const made of this.querySelectorAll("[data-link]")) {
      made.href = this.source.url("/raw", made.dataset.link === "download" ? { download: 1 } : {});
    }
    this.#redraw();
  }

  // ── going to places ──────────────────────────────────────────────────────────────────────────

  #follow(on) {
    if (this.#following === on || (on && this.source.complete)) return;
    this.#following = on;
    if (on) this.viewport.toEnd();
    else this.viewport.atEnd = false;
    this.#say(on ? "Following the newest line." : "Paused.");
    this.#state();
  }

  #goTo({ first, last }) {
    this.#follow(false);
    this.#rows.total = this.source.total;
    this.#selection.set({ first: Math.min(first, this.source.total), last: Math.min(last, this.source.total) });
    this.#rows.reveal(first);
    this.viewport.toRow(this.#rows.rowOf(this.#selection.first), 0.25);
  }

  #hashChanged() {
    const asked = readHash(location.hash);
    if (asked && location.hash !== this.#selection.hash) this.#goTo(asked);
  }

  #select(line, extend = false) {
    this.#selection.choose(line, extend);
    history.replaceState(history.state, "", this.#selection.hash);
    this.#follow(false);
    this.viewport.reveal(this.#rows.rowOf(line));
    this.viewport.refresh();
  }

  #moveCursor(by, extend = false) {
    const [from, to] = this.viewport.visible;
    const cursor = this.#selection.cursor;
    const row = cursor ? this.#rows.rowOf(cursor) : from - by;
    let goal = row < from - 1 || row > to + 1 ? (by > 0 ? from : to) : row + by;
    goal = Math.max(0, Math.min(goal, this.#rows.rows - 1));
    while (this.#rows.at(goal).step && goal + by >= 0 && goal + by < this.#rows.rows) goal += by;
    const { line } = this.#rows.at(goal);
    if (line) this.#select(line, extend);
  }

  async #fold(row) {
    const { step, line } = row;
    if (step) this.#rows.toggleStep(step);
    else if (this.#rows.isGroupFolded(line)) this.#rows.openGroup(line);
    else if (kindOf(this.source.line(line)?.[0] ?? "").kind === "group") {
      this.#rows.foldGroup(line, await groupEnd(this.source, line));
    } else {
      const around = this.#rows.stepOf(line);
      if (around) this.#rows.toggleStep(around);
    }
    this.viewport.redraw();
  }

  // ── keys and buttons ─────────────────────────────────────────────────────────────────────────

  #escape() {
    if (!this.finder.clear()) {
      this.#selection.clear();
      history.replaceState(history.state, "", location.pathname + location.search);
    }
    this.parts.scroller.focus({ preventScroll: true });
    this.viewport.refresh();
  }

  #key(event) {
    const action = actionOf(event, this);
    if (!action) return;
    event.preventDefault();
    this.act(action);
  }

  #clicked(event) {
    const number = event.target.closest(".log-number");
    if (number) {
      event.preventDefault();
      this.#select(Number(number.parentElement.dataset.line), event.shiftKey);
      return;
    }
    const made = event.target.closest("[data-action]");
    if (made?.dataset.action === "fold") this.#fold(this.#rowOf(made.closest(".log-row")));
    else if (made) this.act(made.dataset.action);
    else if (event.target.closest(".log-step")) this.#fold(this.#rowOf(event.target.closest(".log-step")));
  }

  #rowOf(element) {
    if (element.dataset.line) return { line: Number(element.dataset.line) };
    return { step: this.#rows.steps.find((step) => step.index === Number(element.dataset.step)) };
  }

  act(action) {
    const page = this.viewport.height - 40;
    const actions = {
      down: () => this.#moveCursor(1), up: () => this.#moveCursor(-1),
      extendDown: () => this.#moveCursor(1, true), extendUp: () => this.#moveCursor(-1, true),
      scrollDown: () => this.#scrollBy(40), scrollUp: () => this.#scrollBy(-40),
      pageDown: () => this.#scrollBy(page), pageUp: () => this.#scrollBy(-page),
      top: () => { this.#follow(false); this.viewport.toRow(0); },
      newest: () => (this.source.complete ? this.viewport.toEnd() : this.#follow(true)),
      search: () => this.finder.focus(),
      next: () => this.finder.next(1), previous: () => this.finder.next(-1), exact: () => this.finder.toggleExact(),
      fold: () => this.#selection.cursor && this.#fold({ line: this.#selection.cursor }),
      follow: () => this.#follow(!this.#following),
      wrap: () => this.#choose({ wrap: !this.#look.wrap }),
      timestamps: () => this.#choose({ timestamps: TIMESTAMPS[(TIMESTAMPS.indexOf(this.#look.timestamps) + 1) % 4] }),
      copy: () => this.#copyLines(), link: () => this.#copy(location.href, "Link copied."),
      keys: () => this.parts.keys.showModal(), escape: () => this.#escape(),
    };
    actions[action]?.();
  }

  #scrollBy(pixels) {
    if (pixels < 0) this.#follow(false);
    this.viewport.by(pixels);
  }

  #choose(changes) {
    Object.assign(this.#look, changes);
    remember(changes);
    this.#applyLook();
    this.#say(this.parts.timestamps.textContent);
  }

  async #copyLines() {
    const { first, last } = this.#selection;
    if (!first) return this.#say("Select lines first: click a line number, shift-click another.", true);
    const texts = await this.source.texts(first, Math.min(last, first + 99_999));
    await this.#copy(texts.join("\n"), `${texts.length.toLocaleString("en")} ${texts.length === 1 ? "line" : "lines"} copied.`);
  }

  async #copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.#say(done, true);
    } catch {
      this.#say("The browser does not let this page copy.", true);
    }
  }

  #say(text, shown = false) {
    this.parts.said.textContent = text;
    this.parts.said.classList.toggle("visually-hidden", !shown);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.parts.said.classList.add("visually-hidden"), 4000);
  }
}

customElements.define("log-view", LogView);
