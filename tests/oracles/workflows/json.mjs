// Lets Node load JSON as a module, which the package writes in a way that only bundlers take.
import { readFile } from "node:fs/promises";

export async function load(url, context, next) {
  if (!url.endsWith(".json")) return next(url, context);
  return { format: "module", shortCircuit: true, source: `export default ${await readFile(new URL(url), "utf8")}` };
}
