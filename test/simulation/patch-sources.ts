import { fileURLToPath } from "node:url";
import type { Patch } from "./mutations.js";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** @throws {Error} unless the text occurs exactly once. */
export function patched(text: string, { file, find, replace }: Patch): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} must have this exactly once: ${find}`);
  }
  return `${before}${replace}${after}`;
}
