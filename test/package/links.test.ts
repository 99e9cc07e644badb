import { join } from "node:path";
import { expect, it } from "vitest";
import { deadLinks, filesIn } from "../support/dead-links.js";
import { project } from "./installed-package.js";

const installed = filesIn(join(project, "node_modules/cross-border-payments"));

it("leads from README.md to what the package has, or to whole addresses", () => {
  const text = installed("README.md") ?? "";
  expect(text).toMatch(/\]\(/);
  expect(deadLinks(text, installed, filesIn("."))).toEqual([]);
});
