import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { deadLinksOf } from "../../tools/site/anchors.js";
import { pages } from "../../tools/site/pages.js";
import { stage } from "../../tools/site/staging.js";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it("has every document as a page, and in llms.txt", () => {
  const folder = newFolder();
  stage(".", folder);
  const staged = readdirSync(folder).filter((file) => file.endsWith(".md"));
  expect(staged.sort()).toEqual([...pages.map(({ name }) => `${name}.md`), "index.md"].sort());
  const llms = readFileSync(join(folder, "public/llms.txt"), "utf8");
  expect([...llms.matchAll(/\]\(\/(.*?)\)/g)].map(([, name]) => name)).toEqual(pages.map(({ name }) => `${name}.md`));
});

it("leads to pages where there are pages, and to the repository otherwise", () => {
  const folder = newFolder();
  stage(".", folder);
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  expect(read("overview.md")).toContain("[durable flow](./durable-flow.md)");
  expect(read("overview.md")).toMatch(/\(https:\/\/github\.com\/.*\/blob\/main\/examples\//);
  expect(read("overview.md")).toContain("(./errors.md#what-to-do)");
  expect(read("open-questions.md")).toMatch(/\(https:.*\/docs\/decisions\/0001-/);
  expect(read("index.md")).toContain("(./runtimes.md)");
});

it("has tabs for blocks of code that are alternatives", () => {
  const folder = newFolder();
  stage(".", folder);
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  for (const page of ["install.md", "index.md"]) {
    expect(read(page)).toMatch(/^::: code-group\n```sh \[npm\]\n(?:.*\n)*```\n\n:::$/m);
    expect(read(page).match(/^```sh \[/gm)).toHaveLength(5);
  }
});

it("refuses a document that no chapter names", () => {
  const root = newFolder();
  mkdirSync(join(root, "docs/images"), { recursive: true });
  writeFileSync(join(root, "docs/new-page.md"), "# New\n");
  expect(() => stage(root, newFolder())).toThrow("tools/site/pages.ts does not name new-page");
});

it("finds links to pages, and to parts of pages, that are not there", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "reference"));
  writeFileSync(
    join(folder, "one.html"),
    '<h2 id="here"></h2><a href="#here"></a><a href="#gone"></a><a href="/lost"></a><a href="/reference/"></a><a href="/reference/#kept"></a><a href="https://x.example/#y"></a>',
  );
  writeFileSync(join(folder, "reference/index.html"), '<h2 id="kept"></h2><a class="a" href="/one#lost"></a>');
  expect(deadLinksOf(folder).sort()).toEqual(["/one → /lost", "/one → /one#gone", "/reference/ → /one#lost"]);
});
