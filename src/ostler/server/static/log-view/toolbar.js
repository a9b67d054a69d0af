// The parts of the log view that do not scroll: search field, buttons, the line of status.
// Only builds and shows; what a button does is decided in element.js.

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function button(action, label, key, text = label) {
  const made = element("button", { type: "button", class: "log-button", title: key ? `${label} (${key})` : label }, text);
  made.dataset.action = action;
  if (text !== label) made.setAttribute("aria-label", label);
  if (key) made.setAttribute("aria-keyshortcuts", key);
  return made;
}

function link(action, label) {
  const made = element("a", { class: "log-button", href: "#" }, label);
  made.dataset.link = action;
  return made;
}

const KEYS = [
  ["j k", "next, previous line (with Shift: extend the selection)"], ["g G", "first line, newest line"],
  ["Space  Page Up  Page Down", "a window further or back"], ["/", "search"], ["n N", "next, previous hit"],
  ["o", "fold or open the step or group"], ["f", "follow the newest line"], ["w", "wrap long lines"],
  ["t", "timestamps: off, relative, UTC, local"], ["c", "copy the selected lines"],
  ["y", "copy a link to the selected lines"], ["Escape", "clear the search, then the selection"], ["?", "this list"],
];

function keyDialog() {
  const list = element("dl", { class: "key-list" });
  for (const [keys, meaning] of KEYS) {
    const term = element("dt");
    for (const key of keys.split(/ +(?=\S$)|  +/)) term.append(element("kbd", {}, key), " ");
    list.append(term, element("dd", {}, meaning));
  }
  const close = element("form", { method: "dialog" }, element("button", { class: "button" }, "Close"));
  return element("dialog", { class: "log-keys", "aria-label": "Keys of the log" }, element("h2", {}, "Keys"), list, close);
}

/** Builds everything inside `<log-view>`; returns its parts by name. */
export function buildParts(label) {
  const input = element("input", {
    type: "search", class: "log-query", placeholder: "Search the log", "aria-label": "Search the log",
    "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false",
  });
  const exact = button("exact", "Match case", "", "Aa");
  const count = element("span", { class: "log-count", role: "status" });
  const search = element("div", { class: "log-search", role: "search" }, input, exact,
    button("previous", "Previous hit", "N", "↑"), button("next", "Next hit", "n", "↓"), count);
  const timestamps = button("timestamps", "Time: off", "t");
  const wrap = button("wrap", "Wrap", "w");
  const follow = button("follow", "Follow", "f");
  const tools = element("div", { class: "log-tools", role: "toolbar", "aria-label": "Log" },
    follow, timestamps, wrap, button("copy", "Copy", "c"), link("raw", "Raw"), link("download", "Download"),
    button("keys", "Keys", "?", "?"));
  const list = element("div", { class: "log-lines", role: "list", "aria-label": label });
  const pane = element("div", { class: "log-pane" }, list);
  const spacer = element("div", { class: "log-spacer" });
  const scroller = element("div", { class: "log-scroller", tabindex: "0", role: "region", "aria-label": label },
    element("div", { class: "log-track" }, pane, spacer));
  const newest = button("newest", "Jump to newest", "G");
  newest.classList.add("log-newest");
  newest.hidden = true;
  const note = element("p", { class: "log-note" });
  note.hidden = true;
  const state = element("span", { class: "log-state" });
  const place = element("span", { class: "log-place" });
  const said = element("span", { class: "visually-hidden", role: "status" });
  const keys = keyDialog();
  return {
    input, exact, count, tools, timestamps, wrap, follow, list, pane, spacer, scroller, newest, note, state, place,
    said, keys,
    all: [
      element("div", { class: "log-bar" }, search, tools),
      element("div", { class: "log-window" }, scroller, note, newest),
      element("div", { class: "log-foot" }, state, place, said), keys,
    ],
  };
}

export function press(made, pressed) {
  made.setAttribute("aria-pressed", String(pressed));
}
