import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { FieldTable } from "../../api/fields.js";
import { CrossBorderClient } from "../../client.js";
import { PagingError } from "../../errors/errors.js";
import { type Command, type ExitCode, exitCodes, UsageError } from "../command.js";
import { readSettings, type Settings, settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { type FormatName, formatNames, formatOf } from "./formats.js";
import { type ListedRecord, type ListSource, listSources } from "./lists.js";
import { showProgress } from "./progress.js";
import { ResumableFile } from "./resumable-file.js";

/** One for each list of the service. */
export const listCommands: readonly Command[] = listSources.map(
  (source): Command => ({
    name: `${source.name} list`,
    summary: `Lists ${source.title}.`,
    description:
      "A table on a terminal, one JSON text a line elsewhere. Pages are read until there are no more; what can't be read completely is an error. Credentials that the service stores of gateways are left out.",
    operands: [],
    options: {
      ...(source.parent === undefined
        ? undefined
        : { [source.parent]: { type: "string", value: "ID", help: "to which the list belongs", isRequired: true } }),
      filter: {
        type: "string",
        multiple: true,
        value: "FIELD=VALUE",
        help: "only records with this value; can be repeated",
      },
      sort: { type: "string", multiple: true, value: "FIELD.asc|desc", help: "order; can be repeated" },
      size: { type: "string", value: "COUNT", help: "records a page" },
      after: { type: "string", value: "CURSOR", help: "only records behind this paging token" },
      limit: { type: "string", value: "COUNT", help: "stop after so many records" },
      format: { type: "string", value: formatNames.join("|"), help: "how records are written" },
      json: { type: "boolean", help: "the same as --format ndjson" },
      out: { type: "string", value: "FILE", help: "write to this file; goes with --resume" },
      resume: {
        type: "string",
        value: "FILE",
        help: "where it says how far --out is good: after a kill, call it again",
      },
      "with-credentials": { type: "boolean", help: "show credentials too" },
      ...settingOptions,
    },
    examples: [
      `${source.name} list --config gateway.json${source.parent === undefined ? "" : ` --${source.parent} 42`}`,
      `${source.name} list --config gateway.json${source.parent === undefined ? "" : ` --${source.parent} 42`} --out ${source.name}.ndjson --resume ${source.name}.progress`,
    ],
    run: ({ values }, terminal) => list(source, values as Values, terminal),
  }),
);

type Values = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

async function list(source: ListSource, values: Values, terminal: Terminal): Promise<ExitCode> {
  const { filter, sort, size, after, limit = Number.POSITIVE_INFINITY, format, out, resume } = parse(values, terminal);
  const query = { filter, sort, size };
  const settings = await readSettings(values, terminal);
  await using client = await openClient(settings);
  const credentials = values["with-credentials"] === true;
  const parent = source.parent === undefined ? "" : String(values[source.parent]);
  await using file =
    out === undefined || resume === undefined
      ? undefined
      : await ResumableFile.open(
          out,
          resume,
          JSON.stringify({ service: settings.baseUrl, list: source.name, parent, ...query, format, credentials }),
        );
  const { head, write, leftOut } = formatOf(format, source.fields, source.columns, terminal.width ?? 120);
  const from = file?.after ?? after;
  const listing = source.open(client, parent, { ...query, ...(from === undefined ? {} : { after: from }) } as never);

  const progress = showProgress(terminal);
  let count = 0;
  let isFirst = file === undefined || file.records === 0;
  try {
    for await (const page of listing.pages()) {
      const records = page.items
        .slice(0, limit - count)
        .map((record) => (credentials ? record : withoutCredentials(record, source.fields)));
      const text = (isFirst ? head : "") + (records.length === 0 && !isFirst ? "" : write(records));
      if (file === undefined) await writeOut(text, terminal);
      else if (records.length > 0) await file.append(text, records.length, cursorOf(page, source));
      isFirst = false;
      count += records.length;
      progress.show(count);
      if (count >= limit) break;
    }
  } finally {
    progress.end();
  }
  if (leftOut !== undefined && leftOut.size > 0) {
    terminal.stderr.write(
      `cross-border: the CSV has no columns for ${[...leftOut].join(", ")}, which the description does not name; ndjson has them\n`,
    );
  }
  return exitCodes.done;
}

interface ListOptions {
  readonly filter: Readonly<Record<string, string>> | undefined;
  readonly sort: readonly string[] | undefined;
  readonly size: number | undefined;
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly format: FormatName;
  readonly out: string | undefined;
  readonly resume: string | undefined;
}

/** @throws {UsageError} */
function parse(values: Values, terminal: Terminal): ListOptions {
  const {
    filter = [],
    sort,
    after,
    json,
    out,
    resume,
  } = values as {
    readonly filter?: readonly string[];
    readonly sort?: readonly string[];
    readonly after?: string;
    readonly json?: boolean;
    readonly out?: string;
    readonly resume?: string;
  };
  const format =
    values.format ?? (json ? "ndjson" : terminal.width !== undefined && out === undefined ? "table" : "ndjson");
  if (!formatNames.includes(format as FormatName)) throw new UsageError(`--format is one of ${formatNames.join(", ")}`);
  if ((out === undefined) !== (resume === undefined))
    throw new UsageError("--out and --resume go together; without them write to stdout");
  for (const [name, given] of Object.entries({ sort, after, limit: values.limit })) {
    if (resume !== undefined && given !== undefined)
      throw new UsageError(`--resume goes by paging tokens, to the end: leave --${name} out`);
  }
  if (resume !== undefined && format === "table") throw new UsageError("--resume writes ndjson or csv");
  const pairs = filter.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--filter ${pair} is not FIELD=VALUE`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const [again] = pairs.map(([name]) => name).filter((name, index, all) => all.indexOf(name) < index);
  if (again !== undefined)
    throw new UsageError(`--filter ${again}=… is there twice: the service knows one value a field`);
  return {
    filter: pairs.length === 0 ? undefined : Object.fromEntries(pairs),
    sort,
    size: countOf("size", values.size),
    after,
    limit: countOf("limit", values.limit),
    format: format as FormatName,
    out,
    resume,
  };
}

function countOf(name: string, given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const count = Number(given);
  if (/^\d+$/.test(String(given)) && count >= 1) return count;
  throw new UsageError(`--${name} is a number from 1 on`);
}

async function openClient({ baseUrl, authUrl, realm, clientId, clientSecret, username, password, ca }: Settings) {
  const auth = { authUrl, realm, clientId, clientSecret, username, password, endSessionOnClose: true };
  return new CrossBorderClient({ baseUrl, auth, ...(ca === undefined ? {} : { tls: { ca: await readFile(ca) } }) });
}

function cursorOf(page: { readonly next: string | undefined }, { name }: ListSource): string {
  const { next } = page;
  if (next !== undefined) return next;
  throw new PagingError(
    `${name}: the records have no paging tokens, so the list can't be continued: leave --resume out`,
  );
}

function withoutCredentials(record: ListedRecord, fields: FieldTable): ListedRecord {
  return Object.fromEntries(Object.entries(record).filter(([name]) => fields[name] !== "secret"));
}

async function writeOut(text: string, { stdout }: Terminal): Promise<void> {
  if (text !== "" && !stdout.write(text)) await once(stdout, "drain");
}
