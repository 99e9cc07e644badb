import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { mutations, patchesOf } from "./mutations.js";
import { patched, root } from "./patch-sources.js";

it.each(mutations)("can take out: $name", (mutation) => {
  for (const patch of patchesOf(mutation)) {
    const text = readFileSync(join(root, patch.file), "utf8");
    expect(patched(text, patch)).not.toBe(text);
  }
});

it("names each of them once", () => {
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
});
