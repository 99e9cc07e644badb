import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { anchorOf } from "../tools/site/anchors.js";

/** A document, or a section of one, of which `docs/promises.md` holds every sentence and table. */
interface HeldText {
  /** As the heading links it. */
  readonly address: string;
  readonly markdown: string;
  readonly rows: readonly Row[];
}

interface Row {
  readonly promise: string;
  readonly holders: string;
}

/** Each heading of the page that is a link names such a text; the table below it has the text's rows. */
function heldTextsOf(page: string): HeldText[] {
  return sectionsOf(page).flatMap((section) => {
    const address = /^\[[^\]]+\]\(([^)]+)\)/.exec(section)?.[1];
    return address === undefined ? [] : [{ address, markdown: markdownAt(address), rows: rowsOf(section) }];
  });
}

function markdownAt(address: string): string {
  const [path = "", anchor] = address.split("#");
  const text = readFileSync(join("docs", path), "utf8");
  if (anchor === undefined) return text;
  const section = sectionsOf(text).find((candidate) => anchorOf(headingOf(candidate)) === anchor);
  if (section === undefined) throw new Error(`docs/promises.md leads to ${address}, which is not there`);
  return `## ${section}`;
}

/** Without what stands before the first of them. */
const sectionsOf = (markdown: string): string[] => markdown.split(/^## /m).slice(1);

const headingOf = (section: string): string => section.split("\n")[0] ?? "";

function rowsOf(section: string): Row[] {
  return section
    .split("\n")
    .filter((line) => /^\| (?!promise |--)/.test(line))
    .map((line) => {
      const [, promise = "", holders = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
      return { promise, holders };
    });
}

/**
 * The sentences of a text's prose in order, without the targets of their links, then its tables, each by its section and its first
 * column. `docs.test.ts` holds the code blocks and the links.
 */
function promisesOf(markdown: string): string[] {
  const text = markdown.replace(/^```[\s\S]*?^```$/gm, "\n").replace(/(?<!!)\[([^\]]+)\]\([^)]+\)/g, "$1");
  return [...sentencesOf(text), ...tablesOf(text)];
}

function sentencesOf(text: string): string[] {
  return text
    .replace(/^(?:#|\||!\[).*$/gm, "\n")
    .replace(/^(?:-|\d+\.) /gm, "\n\n")
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "")
    .flatMap((paragraph) => paragraph.split(/(?<=[.?]\)?) (?=[A-Z`[*])/));
}

function tablesOf(text: string): string[] {
  return text.split(/^## /m).flatMap((section) => {
    const tables = [...section.matchAll(/^\|([^|]*)\|.*\n\|-/gm)];
    return tables.map(
      ([, column = ""]) => `Table: ${headingOf(section)}${column.trim() === "" ? "" : ` (${column.trim()})`}`,
    );
  });
}

const heldTexts = heldTextsOf(readFileSync("docs/promises.md", "utf8"));
const rows = heldTexts.flatMap((text) => text.rows);

it("holds the README and the pages that its promises moved to", () => {
  expect(heldTexts[0]?.address).toBe("../README.md");
  expect(heldTexts.map(({ address }) => address.split("#")[0])).toEqual(
    expect.arrayContaining(["client.md", "errors.md", "lists.md", "signing.md", "tokens.md"]),
  );
  expect(rows.length).toBeGreaterThan(120);
});

it.each(heldTexts)("reads all of $address", ({ markdown }) => {
  const promises = promisesOf(markdown);
  expect(promises.length).toBeGreaterThan(0);
  expect(promises.filter((promise) => promise.startsWith("Table: "))).toHaveLength(
    markdown.match(/^\|--/gm)?.length ?? 0,
  );
});

it.each(heldTexts)(
  "has a row for every sentence and table of $address, word for word and in order, and no others",
  ({ markdown, rows }) => {
    const promises = promisesOf(markdown);
    const known = new Set(rows.map(({ promise }) => promise));
    const missing = promises.filter((promise) => !known.has(promise));
    const toPaste = missing.map((promise) => `| ${promise.replaceAll("|", "\\|")} | |`).join("\n");
    expect(missing, `rows to paste into docs/promises.md, each with its test:\n${toPaste}\n`).toEqual([]);
    expect(rows.map(({ promise }) => promise)).toEqual(promises);
  },
);

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

/** Every text that a call begins with, the titles of tests and of their groups among them, and every name in a table. */
function titlesIn(path: string): ReadonlySet<string> {
  const texts = readFileSync(path, "utf8").matchAll(/(?:\(\s*|\bname: )(["`])(.+?)\1/g);
  return new Set([...texts].map(([, , title = ""]) => title));
}
