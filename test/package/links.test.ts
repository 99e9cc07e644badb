import { join } from "node:path";
import { expect, it } from "vitest";
import { deadLinks, filesIn } from "../support/dead-links.js";
import { project } from "./installed-package.js";

const installed = filesIn(join(project, "node_modules/cross-border-payments"));

it.each(["README.md", "CHANGELOG.md"])("leads from %s to what the package has, or to whole addresses", (document) => {
  const text = installed(document) ?? "";
  expect(text).toMatch(/\]\(/);
  expect(deadLinks(text, installed, filesIn("."))).toEqual([]);
});
