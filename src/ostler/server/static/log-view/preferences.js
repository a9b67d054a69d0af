// Remembers how a person likes to read logs. A browser that refuses storage only forgets.

const KEY = "ostler.log";
export const TIMESTAMPS = ["off", "relative", "utc", "local"];

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export function preferences() {
  const { timestamps, wrap } = stored();
  return { timestamps: TIMESTAMPS.includes(timestamps) ? timestamps : "off", wrap: wrap === true };
}

export function remember(changes) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...stored(), ...changes }));
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
