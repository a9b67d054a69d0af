// Reads ANSI escapes out of one line, so that colour survives and nothing else of a terminal does.
// A line is read on its own: any line of a log can be the first that a reader sees, so no colour
// carries over from the line above. What colours look like is left to colour.js and the stylesheet.

const ESCAPE = new RegExp(
  [
    "\\x1b\\[([0-?]*)([ -/]*)([@-~])", // CSI, colours among them
    "\\x1b\\][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)", // OSC: titles, hyperlinks; never acted upon
    "\\x1b[PX^_][^\\x1b]*\\x1b\\\\", // DCS, SOS, PM, APC
    "\\x1b[ -/]+[0-~]", // character sets
    "\\x1b[0-Z\\\\-~]", // the two-byte ones
  ].join("|"),
  "g",
);

const PLAIN = Object.freeze({});

/** The visible text of a line and the runs of style over it: `{text, runs: [{from, to, style}]}`. */
export function readAnsi(raw) {
  if (!raw.includes("\x1b")) return { text: raw, runs: [] };
  const runs = [];
  let text = "";
  let style = PLAIN;
  let position = 0;
  const take = (end) => {
    if (end <= position) return;
    const from = text.length;
    text += raw.slice(position, end);
    if (style !== PLAIN) runs.push({ from, to: text.length, style });
  };
  for (const match of raw.matchAll(ESCAPE)) {
    take(match.index);
    position = match.index + match[0].length;
    if (match[3] === "m" && match[2] === "") style = restyle(style, match[1]);
  }
  take(raw.length);
  return { text, runs };
}

function restyle(before, parameters) {
  const style = { ...before };
  // 38:2::r:g:b is the standard's form of 38;2;r;g;b; its empty colour space is dropped here.
  const codes = parameters.replace(/([34]8:2):\d*:(?=\d*:\d*:\d)/g, "$1:").split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 38 || code === 48) {
      const [colour, used] = extendedColour(codes, at + 1);
      if (colour !== null) style[code === 38 ? "fore" : "back"] = colour;
      at += used;
    } else apply(style, code);
  }
  return Object.keys(style).length === 0 ? PLAIN : style;
}

function extendedColour(codes, at) {
  const byte = (value) => Math.min(255, Math.max(0, value | 0));
  if (codes[at] === 5 && at + 1 < codes.length) return [paletteColour(byte(codes[at + 1])), 2];
  if (codes[at] === 2 && at + 3 < codes.length) {
    return [[byte(codes[at + 1]), byte(codes[at + 2]), byte(codes[at + 3])], 4];
  }
  return [null, codes.length];
}

/** A number is one of the theme's 16 colours; an array is red, green and blue. */
function paletteColour(index) {
  if (index < 16) return index;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return [grey, grey, grey];
  }
  const level = (value) => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
}

const SWITCHES = new Map([
  [1, "bold"], [2, "dim"], [3, "italic"], [4, "underline"], [7, "inverse"], [9, "strike"],
  [21, "underline"],
]);
const OFF = new Map([
  [22, ["bold", "dim"]], [23, ["italic"]], [24, ["underline"]], [27, ["inverse"]], [29, ["strike"]],
  [39, ["fore"]], [49, ["back"]],
]);

function apply(style, code) {
  if (code === 0) for (const key of Object.keys(style)) delete style[key];
  else if (SWITCHES.has(code)) style[SWITCHES.get(code)] = true;
  else if (OFF.has(code)) for (const key of OFF.get(code)) delete style[key];
  else if (code >= 30 && code <= 37) style.fore = code - 30;
  else if (code >= 90 && code <= 97) style.fore = code - 82;
  else if (code >= 40 && code <= 47) style.back = code - 40;
  else if (code >= 100 && code <= 107) style.back = code - 92;
}
