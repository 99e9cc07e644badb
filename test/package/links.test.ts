import { dirname, join, posix } from "node:path";
import { expect, it } from "vitest";
import { picturesAddress } from "../../tools/site/manifest.js";
import { pages } from "../../tools/site/pages.js";
import { deadLinks, filesIn } from "../support/dead-links.js";
import { project } from "./installed-package.js";

const installed = filesIn(join(project, "node_modules/cross-border-payments"));

it.each(["README.md", "dist/docs/errors.md", "dist/docs/error-codes.md", "dist/docs/llms.txt"])(
  "leads from %s to what the package has, or to whole addresses",
  (file) => {
    const text = installed(file) ?? "";
    expect(text).toMatch(/\]\(/);
    const beside = (path: string) => installed(posix.join(dirname(file), path));
    expect(deadLinks(text, beside, filesIn("."))).toEqual([]);
  },
);

it("names every page of the documentation", () => {
  const list = installed("dist/docs/llms.txt") ?? "";
  for (const { name, source = `docs/${name}.md` } of pages) {
    expect(list).toMatch(new RegExp(`\\]\\((?:${picturesAddress}/${source}|${name}\\.md)\\)`));
  }
});
