import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { expect, it } from "vitest";
import { docUrlOf } from "../../src/core/describe.js";
import { PagingError } from "../../src/core/errors.js";
import { anchorOf } from "../../tools/site/anchors.js";
import { filesAddress } from "../../tools/site/manifest.js";
import { run } from "../cli/run.js";
import { errorCodes } from "../support/error-codes.js";

/** The file of this repository and the anchor that an address leads to. */
function placeOf(address: string): { readonly file: string; readonly anchor: string } {
  const { origin, pathname, hash, search } = new URL(address);
  expect(`${origin}${pathname}${search}`).toMatch(new RegExp(`^${filesAddress}/docs/[\\w-]+\\.md$`));
  return { file: pathname.slice(new URL(filesAddress).pathname.length + 1), anchor: hash.slice(1) };
}

it("leads each code to a section of its own, and no section is of no code", () => {
  const places = errorCodes().map((code) => placeOf(docUrlOf(code)));
  expect(new Set(places.map(({ file }) => file))).toEqual(new Set(["docs/error-codes.md"]));
  const sections = [...readFileSync("docs/error-codes.md", "utf8").matchAll(/^### (.*)$/gm)];
  expect(sections.map(([, heading = ""]) => anchorOf(heading)).sort()).toEqual(
    places.map(({ anchor }) => anchor).sort(),
  );
});

it("is seen where an error is printed, logged as JSON, or ends a command", async () => {
  const error = new PagingError("x");
  expect(error.docUrl).toBe(docUrlOf("paging"));
  expect(inspect(error)).toContain(`docUrl: '${error.docUrl}'`);
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ message: "x", docUrl: error.docUrl });
  const { stderr, code } = await run(["keys", "show", "package.json"]);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^cross-border: .*\n/);
  expect(stderr.split("\n").slice(1)).toEqual([`See ${docUrlOf("invalid_argument")}`, ""]);
});

it("is the same for every status", () => {
  expect(docUrlOf("http_503")).toBe(docUrlOf("http_"));
});
