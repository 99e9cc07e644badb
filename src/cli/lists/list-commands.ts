import type { CrossBorderClient } from "../../client.js";
import { equalAmounts } from "../../money.js";
import type { Page } from "../../paging/page.js";
import { listPayments } from "../../reconcile/index.js";
import { type Payment, payments } from "../../resources/payments.js";
import { type Command, type ExitCode, exitCodes } from "../command.js";
import { beforeInterruption, interruption } from "../interruption.js";
import { openClient } from "../open-client.js";
import { asWord } from "../printable.js";
import { readSettings } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { follow, outageReports } from "./follow.js";
import { formatOf, type ListedRecord } from "./formats.js";
import { type ListOptions, optionsOf, type Period, parseListOptions, type Values } from "./list-options.js";
import { ListOutput } from "./list-output.js";
import { hasList, type ListSource, openList, type RecordSource } from "./sources.js";

/** One for each list of the service. */
export function listCommandsOf(sources: readonly RecordSource[]): readonly Command[] {
  return sources.filter(hasList).map(listCommand);
}

function listCommand(source: ListSource): Command {
  const { name, title, parents, get } = source;
  const line = `${name} list --config gateway.json${parents.map((parent) => ` --${parent} 42`).join("")}`;
  return {
    name: `${name} list`,
    summary: `Lists ${title}.`,
    description:
      "A table on a terminal, one JSON text a line elsewhere. Pages are read until there are no more; if the list can't be read completely, that is an error. Credentials that the service stores of gateways are left out. With --follow, each record comes once, as it is listed then; later changes don't show. If the service is unavailable, it waits.",
    operands: [],
    options: optionsOf(source),
    examples: [line, `${line} --out ${name}.ndjson`, `${line} --follow`],
    ...(get === undefined && { missing: { words: ["show", "get"], say: (id) => whyNoShow(source, id) } }),
    run: ({ values }, terminal) => list(source, values as Values, terminal),
  };
}

function whyNoShow({ name, title }: ListSource, id: string): string {
  const list = `${name} list --filter id=${asWord(id)}`;
  return `the service has no operation that reads a single ${title.replace(/s\b/, "")}; try: ${list}`;
}

interface ListCall {
  readonly source: ListSource;
  readonly options: ListOptions;
  readonly client: CrossBorderClient;
  /** Ids of the records to which the list belongs. */
  readonly parents: readonly string[];
  readonly output: ListOutput;
}

async function list(source: ListSource, values: Values, terminal: Terminal): Promise<ExitCode> {
  const options = parseListOptions(source, values, terminal);
  const { out, everyMs, period, fields: chosen, isRaw } = options;
  const on = everyMs === undefined ? undefined : outageReports(terminal);
  await using client = await openClient(await readSettings(values, terminal), terminal, on);
  const parents = source.parents.map((parent) => String(values[parent]));
  const withCredentials = values["with-credentials"] === true;
  const width = out === undefined ? terminal.width : undefined;
  const format = formatOf(options.format, { ...source, chosen, width, withCredentials, isRaw });
  const output = new ListOutput(options, format, terminal);
  const call = { source, options, client, parents, output };
  try {
    if (everyMs !== undefined) await followList(call, everyMs);
    else if (period !== undefined) await readPeriod(call, period);
    else await readList(call);
  } catch (error) {
    output.abandon();
    throw error;
  }
  output.finish();
  return exitCodes.done;
}

async function readList({ source, options, client, parents, output }: ListCall): Promise<void> {
  using _ = beforeInterruption(() => output.abandon());
  const { filter, sort, size, after } = options;
  for await (const page of openList(source, client, parents, { filter, sort, size, after }).pages()) {
    if (!(await output.write(page.items, tokenAfter(page)))) return;
  }
}

/** The token with which `--after` continues behind a page; `undefined` if none does, as in a list that goes downward. */
function tokenAfter(page: Page<ListedRecord>): string | undefined {
  try {
    const next = page.nextQuery;
    return next !== undefined && "after" in next ? next.after : undefined;
  } catch {
    return undefined;
  }
}

/** The service filters by no time. The proof that nothing was passed over needs every payment, so filters are compared here, too. */
async function readPeriod({ options, client, output }: ListCall, { from, to }: Period): Promise<void> {
  using _ = beforeInterruption(() => output.abandon());
  const { filter = {}, size = 100, limit = size } = options;
  let records: ListedRecord[] = [];
  for await (const payment of listPayments(client, { from, to, size })) {
    const record: ListedRecord = { ...payment };
    if (fits(record, filter)) records.push(record);
    if (records.length < Math.min(size, limit)) continue;
    if (!(await output.write(records))) return;
    records = [];
  }
  await output.write(records);
}

/** Whether a record passes filters that are compared here, and not by the service. */
export function fits(record: ListedRecord, filter: Readonly<Record<string, string>>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const value = record[name];
    return payments.list.record[name as keyof Payment] === "decimal"
      ? equalAmounts(value, wanted)
      : String(value) === wanted;
  });
}

/** Ends without an error at Ctrl-C, and once there are as many records as were asked for. */
async function followList({ source, options, client, parents, output }: ListCall, everyMs: number): Promise<void> {
  const { filter, size, after } = options;
  using stop = interruption();
  const news = follow((query, signal) => openList(source, client, parents, { filter, size, ...query }, { signal }), {
    name: source.title,
    everyMs,
    signal: stop.signal,
    after,
  });
  for await (const { records, after: next } of news) {
    if (!(await output.write(records, next))) return;
  }
  output.abandon();
}
