import type { Command } from "./command.js";

/** What `cross-border --help` shows. */
export function overview(commands: readonly Command[]): string {
  return [
    "Usage: cross-border <command> [options]",
    "",
    "Commands:",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    "cross-border <command> --help shows options and examples; cross-border --version shows the version.",
    ...exits,
  ].join("\n");
}

/** What a command's `--help` shows. */
export function helpOf({ name, summary, description, operands, options, examples }: Command): string {
  const rows = Object.entries(options).map(([option, { value, help, isRequired }]): [string, string] => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    help + (isRequired ? " (required)" : ""),
  ]);
  return [
    `Usage: cross-border ${[name, ...operands, "[options]"].join(" ")}`,
    "",
    ...wrapped(`${summary} ${description}`),
    "",
    "Options:",
    ...columns([...rows, ["--help", "this text"]]),
    "",
    "Examples:",
    ...examples.map((example) => `  cross-border ${example}`),
    ...exits,
  ].join("\n");
}

const exits = ["", "Exit codes: 0 done, 1 what was checked is not right, 2 called wrongly, 3 failed."];

/** Where there is no space, a line is as long as it has to be. */
function wrapped(text: string): string[] {
  return text.match(/.{1,78}(?:\s|$)|\S+/g)?.map((line) => line.trimEnd()) ?? [];
}

function columns(rows: readonly [left: string, right: string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
