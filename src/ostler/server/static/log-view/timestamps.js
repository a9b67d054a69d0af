// Writes a line's time the way the reader chose.

const pad = (value, width = 2) => String(value).padStart(width, "0");

export function writeTime(micros, mode, start) {
  if (mode === "off" || !micros) return "";
  if (mode === "relative") {
    const seconds = Math.max(0, micros - start) / 1e6;
    const hours = Math.floor(seconds / 3600);
    const rest = `${pad(Math.floor(seconds / 60) % 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`;
    return hours ? `${hours}:${rest}` : rest;
  }
  const time = new Date(micros / 1000);
  if (mode === "utc") return time.toISOString().slice(11, 23);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}.${pad(time.getMilliseconds(), 3)}`;
}

export function wholeTime(micros) {
  return micros ? new Date(micros / 1000).toISOString() : "";
}
