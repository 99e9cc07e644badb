import type { Command } from "./command.js";
import { columns, wrapped, wrappedCommand } from "./layout.js";

/**
 * What `cross-border --help` shows.
 *
 * @param width of the window; none where it goes elsewhere.
 */
export function overview(commands: readonly Command[], width?: number): string {
  return [
    ...wrapped("Usage: cross-border <command> [options]", width, 2),
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

/** What a command's `--help` shows. */
export function helpOf({ name, summary, description, operands, options, examples }: Command, width?: number): string {
  const rows = Object.entries(options).map(([option, { value, help, isRequired }]): [string, string] => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    help + (isRequired ? " (required)" : ""),
  ]);
  return [
    ...wrapped(`Usage: cross-border ${[name, ...operands, "[options]"].join(" ")}`, width, 2),
    "",
    ...wrapped(`${summary} ${description}`, Math.min(width ?? widestText, widestText)),
    "",
    "Options:",
    ...columns([...rows, ["--help", "this text"]], width),
    "",
    "Examples:",
    ...examples.flatMap((example) => wrappedCommand(`  cross-border ${example}`, width, 6)),
    "",
    ...wrapped(exits, width, 2),
  ].join("\n");
}

const widestText = 78;
const more = "cross-border <command> --help shows options and examples; cross-border --version shows the version.";
const exits = "Exit codes: 0 done, 1 what was checked is not right, 2 called wrongly, 3 failed, 130 ended by Ctrl-C.";
