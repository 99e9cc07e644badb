import { readFileSync } from "node:fs";

/** The rows of the table of docs/runtimes.md that stands under a heading, without the two rows of its head. */
export function tableUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = readFileSync("docs/runtimes.md", "utf8").split(`${heading}\n`);
  const lines = section.split(/^## /m)[0]?.split("\n") ?? [];
  const rows = lines.filter((line) => line.startsWith("|")).slice(2);
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync("test/matrix/package.json", "utf8"),
);

/** The version of a tool. */
export function versionOf(name: string): string {
  return dependencies[name] ?? "missing";
}
