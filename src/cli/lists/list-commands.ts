import { apiClientKey } from "../../api/api-client.js";
import type { CrossBorderClient } from "../../client.js";
import type { Period } from "../../reconcile/compare-group.js";
import { pagesOfPeriod } from "../../reconcile/list-payments.js";
import { type Command, type ExitCode, exitCodes } from "../command.js";
import { interruption } from "../interruption.js";
import { openClient } from "../open-client.js";
import { readSettings } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { fits, followList, followPayments, type News, outageReports, writtenIds } from "./follow.js";
import { formatOf, type ListedRecord } from "./formats.js";
import { type ListOptions, optionsOf, parseListOptions, type Values } from "./list-options.js";
import { type ProgressLine, showProgress } from "./progress.js";
import { ResumableFile } from "./resumable-file.js";
import { hasList, type ListSource, openList, type RecordSource } from "./sources.js";
import { writeOut } from "./write-out.js";

/** One for each list of the service. */
export function listCommandsOf(sources: readonly RecordSource[]): readonly Command[] {
  return sources.filter(hasList).map(listCommand);
}

function listCommand(source: ListSource): Command {
  const line = `${source.name} list --config gateway.json${source.parents.map((parent) => ` --${parent} 42`).join("")}`;
  const files = `--out ${source.name}.ndjson --resume ${source.name}.progress`;
  return {
    name: `${source.name} list`,
    summary: `Lists ${source.title}.`,
    description: `A table on a terminal, one JSON text a line elsewhere. Pages are read until there are no more; what can't be read completely is an error. Credentials that the service stores of gateways are left out. ${aboutFollow(source)}`,
    operands: [],
    options: optionsOf(source),
    examples: [line, `${line} ${files}`, `${line} --follow`],
    run: ({ values }, terminal) => list(source, values as Values, terminal),
  };
}

function aboutFollow({ name }: ListSource): string {
  const always = "With --follow, each record comes once, as it is listed then, and changes don't show.";
  const seen =
    name === "payments"
      ? "Payments that are listed late are seen for a day after later ones were created, and not after that; filters are compared here."
      : "The whole list is read each time, so that late records are seen too.";
  return `${always} ${seen} While the service is away, it waits.`;
}

interface ListCall {
  readonly source: ListSource;
  readonly options: ListOptions;
  readonly client: CrossBorderClient;
  /** Ids of the records to which the list belongs. */
  readonly parents: readonly string[];
  readonly file: ResumableFile | undefined;
  /** Writes records, and of a file how far it is good then. */
  readonly write: (records: readonly ListedRecord[], mark: () => string) => Promise<void>;
  readonly progress: ProgressLine;
  readonly terminal: Terminal;
}

async function list(source: ListSource, values: Values, terminal: Terminal): Promise<ExitCode> {
  const options = parseListOptions(source, values, terminal);
  const { filter, sort, size, out, resume, everyMs, fields: chosen, isRaw } = options;
  const settings = await readSettings(values, terminal);
  await using client = await openClient(
    settings,
    terminal,
    everyMs === undefined ? undefined : outageReports(terminal),
  );
  const withCredentials = values["with-credentials"] === true;
  const parents = source.parents.map((parent) => String(values[parent]));
  const follow = everyMs === undefined ? undefined : true;
  // Names that an earlier release has written too.
  const shape = {
    format: options.format,
    credentials: withCredentials,
    follow,
    fields: chosen,
    ...(isRaw && { isRaw }),
  };
  const query = { filter, sort, size, ...shape };
  await using file =
    out === undefined || resume === undefined
      ? undefined
      : await ResumableFile.open(
          out,
          resume,
          JSON.stringify({ service: settings.baseUrl, list: source.name, parent: parents.join("/"), ...query }),
        );
  const width = out === undefined ? terminal.width : undefined;
  const format = formatOf(options.format, { ...source, chosen, width, withCredentials, isRaw });
  let isFirst = file === undefined || file.records === 0;
  const write: ListCall["write"] = async (records, mark) => {
    if (file === undefined && records.length === 0) return;
    const text = (isFirst ? format.head : "") + format.write(records);
    isFirst = false;
    if (file === undefined) await writeOut(text, terminal);
    else await file.append(text, records.length, mark());
  };
  const progress = showProgress(terminal);
  try {
    const call = { source, options, client, parents, file, write, progress, terminal };
    if (everyMs !== undefined) await followNews(call, everyMs);
    else if (options.period !== undefined) await readPeriod(call, options.period);
    else await readList(call);
  } finally {
    progress.end();
  }
  warnOfLeftOut(format.leftOut?.() ?? "", terminal);
  return exitCodes.done;
}

async function readList({ source, options, client, parents, file, write, progress }: ListCall): Promise<void> {
  const { filter, sort, size, after, limit = Number.POSITIVE_INFINITY } = options;
  const query = { filter, sort, size, after: file?.after ?? after };
  let count = 0;
  for await (const page of openList(source, client, parents, query).pages()) {
    const records = page.items.slice(0, limit - count);
    // Where there are no paging tokens, the first cursor that is asked for throws: none is missing here.
    await write(records, () => page.next ?? "");
    count += records.length;
    progress.show(count);
    if (count >= limit) return;
  }
}

/** The service filters by no time, so the filter is compared here too: the proof that nothing was passed over needs every payment. */
async function readPeriod({ options, client, write, progress }: ListCall, period: Period): Promise<void> {
  const { filter = {}, size = 100, limit = Number.POSITIVE_INFINITY } = options;
  let count = 0;
  for await (const page of pagesOfPeriod(client[apiClientKey], { period, size })) {
    const fitting = page.map((payment): ListedRecord => ({ ...payment })).filter((record) => fits(record, filter));
    const records = fitting.slice(0, limit - count);
    await write(records, () => "");
    count += records.length;
    progress.show(count);
    if (count >= limit) return;
  }
}

/** Ends without an error at Ctrl-C, and where there are as many records as were asked for. */
async function followNews(call: ListCall, everyMs: number): Promise<void> {
  const { limit = Number.POSITIVE_INFINITY } = call.options;
  const { write, progress } = call;
  using stop = interruption();
  let count = 0;
  for await (const { records, mark } of await newsOf(call, everyMs, stop.signal)) {
    const wanted = records.slice(0, limit - count);
    await write(wanted, () => mark);
    count += wanted.length;
    progress.show(count);
    if (count >= limit) return;
  }
}

async function newsOf(
  { source, options, client, parents, file, terminal }: ListCall,
  everyMs: number,
  signal: AbortSignal,
): Promise<AsyncGenerator<News, void, undefined>> {
  const { filter, size, after, out } = options;
  const isOfPayments = source.name === "payments";
  const mark = isOfPayments ? file?.after : undefined;
  const written = out === undefined ? new Set<string>() : await writtenIds(out, terminal, client, mark);
  const follow = { everyMs, signal, mark, written };
  if (isOfPayments) return followPayments(client, { ...follow, startAfter: after, size, filter });
  const query = { filter, size, after };
  return followList((requests) => openList(source, client, parents, query, { signal: requests }), follow);
}

function warnOfLeftOut(names: string, { stderr }: Terminal): void {
  if (names === "") return;
  stderr.write(
    `cross-border: the CSV has no columns for ${names}, which the description does not name; ndjson has them\n`,
  );
}
