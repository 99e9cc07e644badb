import type { Command } from "./command.js";
import { columns, wrapped, wrappedCommand } from "./layout.js";
import { program } from "./program.js";

/**
 * What `cross-border --help` shows.
 *
 * @param width of the window; none where it goes elsewhere.
 */
export function overview(commands: readonly Command[], width?: number): string {
  return [
    ...wrapped(`Usage: ${program} <command> [options]`, width, 2),
    "",
    "Commands:",
    ...columns(
      commands.map(({ name, summary }): [string, string] => [name, summary]),
      width,
    ),
    "",
    ...wrapped(more, width, 2),
    "",
    ...wrapped(exits, width, 2),
  ].join("\n");
}

export function helpOf({ name, summary, description, operands, options, examples }: Command, width?: number): string {
  const rows = Object.entries(options).map(([option, { value, help, isRequired }]): [string, string] => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    help + (isRequired ? " (required)" : ""),
  ]);
  return [
    ...wrapped(`Usage: ${program} ${[name, ...operands, "[options]"].join(" ")}`, width, 2),
    "",
    ...wrapped(`${summary} ${description}`, Math.min(width ?? widestText, widestText)),
    "",
    "Options:",
    ...columns([...rows, ["--help", "this text"]], width),
    "",
    "Examples:",
    ...examples.flatMap((example) => wrappedCommand(`  ${program} ${example}`, width)),
    "",
    ...wrapped(exits, width, 2),
  ].join("\n");
}

const widestText = 78;
const more = "help <command> shows options and examples of a command; --version shows the version.";
const exits = "Exit codes: 0 done, 1 a check failed, 2 usage error, 3 failed, 130 interrupted.";
