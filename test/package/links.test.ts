import { join } from "node:path";
import { expect, it } from "vitest";
import { deadLinks, filesIn } from "../support/dead-links.js";
import { project } from "./installed-package.js";

it("leads from the README to whole addresses, or to what the package has", () => {
  const installed = filesIn(join(project, "node_modules/cross-border-payments"));
  const text = installed("README.md") ?? "";
  expect(text).toMatch(/\]\(/);
  expect(deadLinks(text, installed, filesIn("."))).toEqual([]);
});
