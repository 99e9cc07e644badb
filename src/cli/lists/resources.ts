import type { Command } from "commander";
import { apiClientKey } from "../../api/api-client.js";
import type { Operation } from "../../api/operation.js";
import { action, examples } from "../options.js";
import { type ConnectionOptions, openClient, readSettings } from "../settings.js";
import { isShown, print, printable, rows, type Terminal, toJson } from "../terminal.js";
import { addListOptions, type ListOptions, list, type RecordSource, sources } from "./list.js";
import { type ListedRecord, shown } from "./output.js";

/** `list` and `show` of each resource. */
export function addResources(program: Command, terminal: Terminal): void {
  // Payments first.
  for (const source of [...sources].reverse()) addResource(program, source, terminal);
}

export function addResource(program: Command, source: RecordSource, terminal: Terminal): void {
  const { name, title, list: listed, get } = source;
  const group = program
    .command(name)
    .helpCommand(false)
    .helpGroup(name === "payments" ? "Payments:" : "Records:")
    .summary(`${[listed && "list", get && "show"].filter(Boolean).join(" or ")} ${title}`);
  if (listed !== undefined) addList(group, source, listed, terminal);
  if (get !== undefined) addShow(group, source, get, terminal);
}

function addList(group: Command, source: RecordSource, operation: Operation, terminal: Terminal): void {
  const { name, title, parents } = source;
  const command = group
    .command("list")
    .summary(`list ${title}`)
    .description(
      `Lists ${title}, to the last one. If the list can't be read completely, that is an error, and never a shorter list. An interrupted list says how to continue it.`,
    )
    .action(
      action<ListOptions>(terminal, (options) =>
        list(source, operation, parentIds(source, options), options, terminal),
      ),
    );
  addParents(command, source);
  addListOptions(command, source);
  const line = `${name} list --config gateway.json${parents.map((parent) => ` --${parent} 42`).join("")}`;
  examples(command, line, `${line} --format csv --out ${name}.csv`, `${line} --follow`);
}

function addParents(command: Command, { parents }: RecordSource): void {
  for (const parent of parents) command.requiredOption(`--${parent} <id>`, "the record's owner");
}

function parentIds({ parents }: RecordSource, options: object): readonly string[] {
  return parents.map((name) =>
    String(
      Reflect.get(
        options,
        name.replace(/-\w/g, ([, letter = ""]) => letter.toUpperCase()),
      ),
    ),
  );
}

interface ShowOptions extends ConnectionOptions {
  readonly json?: true;
  readonly withCredentials?: true;
}

function addShow(group: Command, source: RecordSource, operation: Operation, terminal: Terminal): void {
  const { name, title, parents } = source;
  const command = group
    .command("show <id>")
    .summary(`show one of the ${title}`)
    .description(`Shows one of the ${title}: one line per field at a terminal, JSON elsewhere.`)
    .option("--json", "print JSON")
    .option("--with-credentials", "show credentials, too")
    .action(
      action<ShowOptions>(terminal, (options, _, id = "") =>
        show(operation, [...parentIds(source, options), id], options, terminal),
      ),
    );
  addParents(command, source);
  examples(command, `${name} show 4711${parents.map((parent) => ` --${parent} 42`).join("")} --config gateway.json`);
}

async function show(
  operation: Operation,
  ids: readonly string[],
  options: ShowOptions,
  terminal: Terminal,
): Promise<void> {
  const { withCredentials = false, json } = options;
  await using client = await openClient(await readSettings(options, terminal), terminal);
  const record: ListedRecord = await client[apiClientKey].call<readonly string[], never, ListedRecord>(operation, ids);
  if (json || terminal.width === undefined) return print(terminal, toJson(record, { indent: 2, withCredentials }));
  const pairs = Object.entries(record)
    .filter(([name]) => isShown(name, withCredentials))
    .map(([name, value]): [string, string] => [printable(name), printable(shown(value, withCredentials))]);
  print(terminal, rows(pairs, terminal.width));
}
