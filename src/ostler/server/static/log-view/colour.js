// Puts a style on an element so that it can be read in the light and in the dark theme.
// The 16 named colours are classes, which the stylesheet tunes by theme; any other colour is moved
// toward black or white until it stands out from what is behind it (WCAG AA, 4.5 to 1).

const NEEDED = 4.5;
const BASE_16 = [
  [0, 0, 0], [205, 49, 49], [13, 128, 80], [180, 130, 0], [36, 114, 200], [188, 63, 188],
  [17, 150, 180], [200, 200, 200], [102, 102, 102], [241, 76, 76], [35, 209, 139], [230, 220, 67],
  [59, 142, 234], [214, 112, 214], [41, 184, 219], [255, 255, 255],
];
const LIGHT_PAPER = [255, 255, 255];
const DARK_PAPER = [16, 18, 24];

function luminance([red, green, blue]) {
  const linear = (value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The nearest colour to `fore` that can be read on `back`. */
export function readable(fore, back) {
  if (contrast(fore, back) >= NEEDED) return fore;
  const goal = luminance(back) > 0.18 ? [0, 0, 0] : [255, 255, 255];
  for (let share = 0.1; share < 1; share += 0.1) {
    const mixed = fore.map((value, at) => Math.round(value + (goal[at] - value) * share));
    if (contrast(mixed, back) >= NEEDED) return mixed;
  }
  return goal;
}

const css = (colour) => `rgb(${colour.join(" ")})`;
const solid = (colour) => (typeof colour === "number" ? BASE_16[colour] : colour);

export function paint(element, style, dark) {
  for (const name of ["bold", "dim", "italic", "underline", "strike"]) {
    if (style[name]) element.classList.add(`ansi-${name}`);
  }
  const paper = dark ? DARK_PAPER : LIGHT_PAPER;
  const ink = dark ? [226, 229, 236] : [24, 27, 34];
  let { fore, back } = style;
  if (style.inverse) [fore, back] = [back ?? paper, fore ?? ink];
  if (back === undefined) {
    if (typeof fore === "number") element.classList.add(`ansi-${fore}`);
    else if (fore !== undefined) element.style.color = css(readable(fore, paper));
    return;
  }
  const behind = solid(back);
  element.style.backgroundColor = css(behind);
  element.style.color = css(readable(fore === undefined ? ink : solid(fore), behind));
}
