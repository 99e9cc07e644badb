import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** What is for tests, and a command that a person starts. */
const allowed = /^(?:cli|sandbox|testing)\//;

it("takes ids that nobody else may have from src/platform, and not from bytes that a startup snapshot repeats", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const codeOf = (file: string) => readFileSync(join("src", file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  const found = sources.filter((file) => /\brandom(?:UUID|Int)\b/.test(codeOf(file)));
  expect(found.some((file) => allowed.test(file))).toBe(true);
  expect(found.filter((file) => !allowed.test(file))).toEqual([]);
});
