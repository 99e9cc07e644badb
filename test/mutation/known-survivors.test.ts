import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { knownSurvivors } from "../../tools/mutation/known-survivors.js";
import { parts } from "../../tools/mutation/parts.js";

it("explains changes of lines that are still there", () => {
  for (const { file, line } of knownSurvivors) {
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .map((text) => text.trim());
    expect(lines, file).toContain(line);
  }
});

it("explains each change once", () => {
  const names = knownSurvivors.map(({ file, line, replacement }) => `${file}: ${line} → ${replacement}`);
  expect(names).toEqual([...new Set(names)]);
});

it("has parts of different names", () => {
  const names = parts.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
