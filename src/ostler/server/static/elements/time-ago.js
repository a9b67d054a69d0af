// <time-ago datetime="…">: how long ago that was, kept current; the whole time is in its title.
// <time-ago datetime="…" elapsed>: how long something that still runs has taken.
// Without scripts the server's text stays: the time in UTC.

const PARTS = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
const live = new Set();
let timer = 0;

function ago(seconds) {
  if (seconds < 10) return "just now";
  const [unit, size] = PARTS.find(([, length]) => seconds >= length) ?? ["second", 1];
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}

function elapsed(seconds) {
  const [days, hours, minutes] = [86_400, 3_600, 60].map((size) => Math.floor(seconds / size));
  if (days) return `${days}d ${hours % 24}h`;
  if (hours) return `${hours}h ${minutes % 60}m`;
  return minutes ? `${minutes}m ${Math.floor(seconds % 60)}s` : `${Math.floor(seconds)}s`;
}

function tick() {
  for (const element of live) element.show();
}

class TimeAgo extends HTMLElement {
  static observedAttributes = ["datetime"];

  connectedCallback() {
    live.add(this);
    timer ||= setInterval(tick, 1000);
    this.show();
  }

  disconnectedCallback() {
    live.delete(this);
    if (live.size > 0) return;
    clearInterval(timer);
    timer = 0;
  }

  attributeChangedCallback() {
    if (this.isConnected) this.show();
  }

  show() {
    const time = new Date(this.getAttribute("datetime"));
    if (Number.isNaN(time.getTime())) return;
    const seconds = Math.max(0, (Date.now() - time.getTime()) / 1000);
    const text = this.hasAttribute("elapsed") ? elapsed(seconds) : ago(seconds);
    if (this.textContent !== text) this.textContent = text;
    this.title ||= time.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
}

customElements.define("time-ago", TimeAgo);
