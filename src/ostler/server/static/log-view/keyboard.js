// Which key does what in a log. Keys count where the log has the focus, or where nothing has it,
// so that a reader who just opened the page can type `/` at once.

const ACTIONS = new Map([
  ["j", "down"], ["ArrowDown", "scrollDown"], ["k", "up"], ["ArrowUp", "scrollUp"], ["J", "extendDown"],
  ["K", "extendUp"], ["g", "top"], ["Home", "top"], ["G", "newest"], ["End", "newest"], ["PageDown", "pageDown"],
  [" ", "pageDown"], ["PageUp", "pageUp"], ["/", "search"], ["n", "next"], ["N", "previous"], ["o", "fold"],
  ["f", "follow"], ["w", "wrap"], ["t", "timestamps"], ["c", "copy"], ["y", "link"], ["Escape", "escape"],
  ["?", "keys"],
]);

// Keys that scroll a page belong to the page unless the log has the focus.
const SCROLLING = new Set(["ArrowDown", "ArrowUp", "Home", "End", "PageDown", "PageUp", " "]);

function isTyping(target) {
  return target.closest?.("input, textarea, select, dialog, [contenteditable]") !== null;
}

/** The action of a key event, or null if the key is not the log's. */
export function actionOf(event, view) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  const { target } = event;
  if (target instanceof Element && isTyping(target)) return null;
  const inside = view.contains(target);
  const nowhere = target === document.body || target === document.documentElement;
  if (inside && event.key === " " && target.closest("button, a")) return null;
  if (!inside && (!nowhere || SCROLLING.has(event.key))) return null;
  return ACTIONS.get(event.key) ?? null;
}
