import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const readme = readFileSync("README.md", "utf8");

it("is a page long", () => {
  const shown = readme.replaceAll(/<!--[\s\S]*?-->\n+/g, "");
  expect(shown.split("\n").length).toBeLessThanOrEqual(150);
});

it("gives the two commands that try it out", () => {
  expect(readme).toContain("npm ci && npm run demo");
  expect(readme).toContain("npm ci && npm test");
});
