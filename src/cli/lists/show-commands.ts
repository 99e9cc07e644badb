import { apiClientKey } from "../../api/api-client.js";
import type { Operation } from "../../api/operation.js";
import { type Command, type ExitCode, exitCodes } from "../command.js";
import { openClient } from "../open-client.js";
import { readSettings, settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import type { ListedRecord } from "./formats.js";
import { type Values, withCredentialsOption } from "./list-options.js";
import { printRecord } from "./print-record.js";
import { parentOptions, type RecordSource } from "./sources.js";

/** One for each resource of which the service reads a single record. */
export function showCommandsOf(sources: readonly RecordSource[]): readonly Command[] {
  return sources.flatMap((source): Command[] => {
    const { name, title, parents, list, get } = source;
    if (get === undefined) return [];
    return [
      {
        name: `${name} show`,
        summary: `Shows one of the ${title}.`,
        description: "A line a field on a terminal, JSON elsewhere. Credentials are left out.",
        operands: ["ID"],
        options: {
          ...parentOptions(source, "to which the record belongs"),
          json: { type: "boolean", help: "as JSON" },
          "with-credentials": withCredentialsOption,
          ...settingOptions,
        },
        examples: [`${name} show 4711${parents.map((parent) => ` --${parent} 42`).join("")} --config gateway.json`],
        ...(list === undefined && { missing: { words: ["list"], say: () => whyNoList(source) } }),
        run: ({ values, operands }, terminal) => show(source, get, values as Values, operands, terminal),
      },
    ];
  });
}

function whyNoList({ name, title }: RecordSource): string {
  return `the service has no operation that lists ${title}; try: ${name} show ID`;
}

async function show(
  { parents }: RecordSource,
  get: Operation,
  values: Values,
  operands: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const settings = await readSettings(values, terminal);
  await using client = await openClient(settings, terminal);
  const ids = [...parents.map((parent) => String(values[parent])), ...operands];
  const record: ListedRecord = await client[apiClientKey].call<readonly string[], never, ListedRecord>(get, ids);
  printRecord(terminal, record, { isJson: values.json === true, withCredentials: values["with-credentials"] === true });
  return exitCodes.done;
}
