import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/**
 * The sentences of the README's prose in order, without the targets of their links, then its tables, each by its section and its
 * first column. `docs.test.ts` holds the code blocks and the links.
 */
function promisesOf(markdown: string): string[] {
  const text = markdown.replace(/^```[\s\S]*?^```$/gm, "\n").replace(/(?<!!)\[([^\]]+)\]\([^)]+\)/g, "$1");
  return [...sentencesOf(text), ...tablesOf(text)];
}

function sentencesOf(text: string): string[] {
  return text
    .replace(/^(?:#|\||!\[).*$/gm, "\n")
    .replace(/^- /gm, "\n\n")
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "")
    .flatMap((paragraph) => paragraph.split(/(?<=[.?]\)?) (?=[A-Z`[*])/));
}

function tablesOf(text: string): string[] {
  return text.split(/^## /m).flatMap((section) => {
    const heading = section.split("\n")[0] ?? "";
    const tables = [...section.matchAll(/^\|([^|]*)\|.*\n\|-/gm)];
    return tables.map(([, column = ""]) => `Table: ${heading}${column.trim() === "" ? "" : ` (${column.trim()})`}`);
  });
}

interface Row {
  readonly promise: string;
  readonly holders: string;
}

function rowsOf(markdown: string): Row[] {
  return markdown
    .split("\n")
    .filter((line) => /^\| (?!promise |--)/.test(line))
    .map((line) => {
      const [, promise = "", holders = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
      return { promise, holders };
    });
}

const readme = readFileSync("README.md", "utf8");
const promises = promisesOf(readme);
const rows = rowsOf(readFileSync("docs/promises.md", "utf8"));

it("reads all of the README", () => {
  expect(promises.length).toBeGreaterThan(60);
  expect(promises.filter((promise) => promise.startsWith("Table: "))).toHaveLength(
    readme.match(/^\|--/gm)?.length ?? 0,
  );
});

it("has a row for every sentence and table of the README, word for word and in order, and no others", () => {
  const known = new Set(rows.map(({ promise }) => promise));
  const missing = promises.filter((promise) => !known.has(promise));
  const toPaste = missing.map((promise) => `| ${promise.replaceAll("|", "\\|")} | |`).join("\n");
  expect(missing, `rows to paste into docs/promises.md, each with its test:\n${toPaste}\n`).toEqual([]);
  expect(rows.map(({ promise }) => promise)).toEqual(promises);
});

it.each(rows.map(({ promise, holders }) => [promise, holders] as const))("names what holds: %s", (_, holders) => {
  if (holders === "no promise") return;
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  const named = [...holders.matchAll(/`([^`]+)`((?: "[^"]+",?)*)/g)];
  expect(named.length, "wanted: tests, a command that shows it, or `no promise` without quotes").toBeGreaterThan(0);
  for (const [, place = "", names = ""] of named) {
    if (place.startsWith("npm run ")) {
      expect(Object.keys(scripts)).toContain(place.split(" ")[2]);
      continue;
    }
    expect(existsSync(place), place).toBe(true);
    const wanted = [...names.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title);
    if (place.endsWith(".test.ts")) expect(wanted.length, `${place}: name its test`).toBeGreaterThan(0);
    const titles = titlesIn(place);
    expect(
      wanted.filter((title) => !titles.has(title)),
      `${place} has no such test`,
    ).toEqual([]);
  }
});

/** Every text that a call begins with, the titles of tests and of their groups among them. */
function titlesIn(path: string): ReadonlySet<string> {
  const texts = readFileSync(path, "utf8").matchAll(/\(\s*(["`])(.+?)\1/g);
  return new Set([...texts].map(([, , title = ""]) => title));
}
