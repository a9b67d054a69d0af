// Builds the row of one line out of text nodes and elements, never out of markup: whatever a job
// prints stays text. Only http and https addresses become links; control characters and those that
// turn the reading direction are shown as signs, so that a line cannot pretend to be another.

import { readAnsi } from "./ansi.js";
import { paint } from "./colour.js";

/** Longer lines are cut on screen; the raw log has them whole. */
export const SHOWN_CHARACTERS = 8100;

const HIDDEN =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;
const ADDRESS = /https?:\/\/[^\s"'<>`\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069]+/gi;
const MARKER = /^(?:::|##\[)(group|endgroup|error|warning|notice|debug|command)(?: [^:\]]*)?(?:::|\])/;

/** What a line is for: `group`, `endgroup`, `error` … or `text`; and how long its marker is. */
export function kindOf(text) {
  const first = text.charCodeAt(0);
  if (first !== 58 && first !== 35) return { kind: "text", skip: 0 };
  const match = MARKER.exec(text);
  return match ? { kind: match[1], skip: match[0].length } : { kind: "text", skip: 0 };
}

function linksIn(text) {
  if (!text.includes("://")) return [];
  const found = [];
  for (const match of text.matchAll(ADDRESS)) {
    const address = match[0].replace(/[.,;:!?)\]}]+$/, "");
    if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) {
      found.push({ from: match.index, to: match.index + address.length, address });
    }
  }
  return found;
}

function marksIn(text, query) {
  if (!query?.text) return [];
  const where = query.exact ? text : text.toLowerCase();
  const what = query.exact ? query.text : query.text.toLowerCase();
  const found = [];
  for (let at = where.indexOf(what); at >= 0 && found.length < 200; at = where.indexOf(what, at + what.length)) {
    found.push({ from: at, to: at + what.length });
  }
  return found;
}

function sign(character) {
  const code = character.codePointAt(0);
  const element = document.createElement("span");
  element.className = "log-sign";
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  element.title = name;
  element.textContent = code < 0x20 || code === 0x7f ? `^${String.fromCharCode(code ^ 0x40)}` : name;
  return element;
}

function appendVisible(parent, text) {
  let position = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > position) parent.append(text.slice(position, match.index));
    parent.append(sign(match[0]));
    position = match.index + match[0].length;
  }
  if (position < text.length) parent.append(position ? text.slice(position) : text);
}

function link(address) {
  const element = document.createElement("a");
  element.href = address;
  element.rel = "noopener noreferrer nofollow";
  element.target = "_blank";
  return element;
}

const covering = (ranges, at) => ranges.find((range) => range.from <= at && at < range.to);

function piece(parent, text, { style, marked, dark }) {
  let into = parent;
  if (marked) {
    into = document.createElement("mark");
    parent.append(into);
  }
  if (style && !marked) {
    const styled = document.createElement("span");
    paint(styled, style, dark);
    into.append(styled);
    into = styled;
  }
  appendVisible(into, text);
}

/** Fills `parent` with the text of a line; `query` is what to mark. */
export function fillText(parent, raw, { dark, query }) {
  const cut = raw.length > SHOWN_CHARACTERS ? raw.slice(0, SHOWN_CHARACTERS) : raw;
  const { text, runs } = readAnsi(cut.endsWith("\r") ? cut.slice(0, -1) : cut);
  const links = linksIn(text);
  const marks = marksIn(text, query);
  if (runs.length + links.length + marks.length === 0) {
    appendVisible(parent, text);
    return;
  }
  const edges = new Set([0, text.length]);
  for (const range of [...runs, ...links, ...marks]) edges.add(range.from).add(range.to);
  const cuts = [...edges].sort((a, b) => a - b);
  let anchor = null;
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const from = cuts[at];
    const linked = covering(links, from);
    if (linked && (anchor === null || linked.from === from)) parent.append((anchor = link(linked.address)));
    if (!linked) anchor = null;
    piece(anchor ?? parent, text.slice(from, cuts[at + 1]), {
      style: covering(runs, from)?.style,
      marked: covering(marks, from) !== undefined,
      dark,
    });
  }
}
