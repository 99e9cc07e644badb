import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Patch } from "./mutations.js";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A copy of the sources in a folder of its own, with some rules taken out. */
export function patchedSources(patches: readonly Patch[]): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "simulation-"));
  for (const name of ["src", "test/simulation", "package.json", "tsconfig.json"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const { file, find, replace } of patches) {
    const path = join(folder, file);
    writeFileSync(path, patched(readFileSync(path, "utf8"), { file, find, replace }));
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** @throws {Error} unless the text occurs exactly once. */
export function patched(text: string, { file, find, replace }: Patch): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} must have this exactly once: ${find}`);
  }
  return `${before}${replace}${after}`;
}
