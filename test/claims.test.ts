import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";

/** The titles of tests, by their files. */
type Tests = Readonly<Record<string, readonly string[]>>;

/** Ids and files that come twice are no YAML. */
const claims = Object.entries<Tests>(parse(readFileSync("test/claims.yml", "utf8")));

/** Ids from `<!-- claim: one, another -->` comments. */
const claimed = ["README.md", ...readdirSync("docs").map((file) => `docs/${file}`)]
  .filter((file) => file.endsWith(".md"))
  .flatMap((file) => idsIn(readFileSync(file, "utf8")));

function idsIn(page: string): string[] {
  const comments = [...page.matchAll(/<!-- claim: ([\s\S]*?) -->/g)];
  return comments.flatMap(([, ids = ""]) => ids.split(/,\s+/));
}

/** Every text that a call begins with, including the titles of tests and groups, and every `name` or method in a table. */
function titlesIn(path: string): ReadonlySet<string> {
  const texts = readFileSync(path, "utf8").matchAll(/(?:\(\s*|\bname: |\basync )(["`])(.+?)\1/g);
  return new Set([...texts].map(([, , title = ""]) => title));
}

it("makes each claim in a page", () => {
  const ids = claims.map(([id]) => id);
  expect(ids.filter((id) => !claimed.includes(id))).toEqual([]);
});

it("knows each claim that a page makes", () => {
  const ids = new Set(claims.map(([id]) => id));
  expect(claimed.filter((id) => !ids.has(id))).toEqual([]);
});

it.each(claims)("names tests of %s that exist", (id, tests) => {
  expect(id).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
  expect(Object.keys(tests)).not.toEqual([]);
  for (const [file, titles] of Object.entries(tests)) {
    expect(existsSync(file), file).toBe(true);
    const known = titlesIn(file);
    expect(titles.length, file).toBeGreaterThan(0);
    expect(
      titles.filter((title) => !known.has(title)),
      `${file} has no such test`,
    ).toEqual([]);
  }
});
