// Draws one row of the log: a line (number, time, text) or the heading of a step.

import { fillText, kindOf, SHOWN_CHARACTERS } from "./line.js";
import { wholeTime, writeTime } from "./timestamps.js";

const STATE_SIGNS = { ok: "✓", failed: "✕", running: "●", waiting: "○", cancelled: "⊘", skipped: "–" };

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function foldButton(open, what) {
  const made = document.createElement("button");
  made.type = "button";
  made.tabIndex = -1;
  made.className = "log-fold";
  made.dataset.action = "fold";
  made.setAttribute("aria-expanded", String(open));
  made.setAttribute("aria-label", `${open ? "Fold" : "Open"} ${what}`);
  return made;
}

function row(name) {
  const made = document.createElement("div");
  made.className = `log-row ${name}`;
  made.setAttribute("role", "listitem");
  return made;
}

export function drawStep(step, open) {
  const made = row("log-step");
  made.dataset.tone = step.tone;
  made.dataset.step = step.index;
  made.append(
    foldButton(open, `step ${step.name}`),
    span("log-step-sign", STATE_SIGNS[step.tone] ?? "○"),
    span("log-step-name", step.name),
    span("log-step-time", step.duration),
  );
  return made;
}

/** `look`: `{dark, query, timestamps, start, groupOpen, rawAddress, size}`. */
export function drawLine(number, line, look) {
  const made = row("");
  made.dataset.line = number;
  made.setAttribute("aria-posinset", number);
  made.setAttribute("aria-setsize", look.size);
  const anchor = document.createElement("a");
  anchor.className = "log-number";
  anchor.href = `#L${number}`;
  anchor.tabIndex = -1;
  anchor.textContent = number;
  anchor.setAttribute("aria-label", `Line ${number}`);
  made.append(anchor);
  if (!line) {
    made.classList.add("log-loading");
    return made;
  }
  const [text, micros] = line;
  if (look.timestamps !== "off") {
    const time = document.createElement("time");
    time.className = "log-time";
    time.dateTime = time.title = wholeTime(micros);
    time.textContent = writeTime(micros, look.timestamps, look.start);
    made.append(time);
  }
  made.append(body(made, text, look, line[3]));
  return made;
}

function body(made, text, look, whole) {
  const { kind, skip } = kindOf(text);
  const holder = span("log-text");
  if (kind !== "text") made.classList.add(`log-${kind}`);
  if (kind === "group") holder.append(foldButton(look.groupOpen, "group"));
  const labels = { error: "Error: ", warning: "Warning: ", notice: "Notice: " };
  if (labels[kind]) holder.append(span("log-label", labels[kind]));
  const shown = skip ? text.slice(skip) : text;
  fillText(holder, kind === "endgroup" && shown === "" ? "end of group" : shown, look);
  const length = whole ?? text.length;
  if (length > SHOWN_CHARACTERS) {
    const more = document.createElement("a");
    more.className = "log-more";
    more.href = look.rawAddress;
    more.tabIndex = -1;
    more.textContent = ` … ${(length - SHOWN_CHARACTERS).toLocaleString("en")} more characters in the raw log`;
    holder.append(more);
  }
  return holder;
}
