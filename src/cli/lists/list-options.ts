import type { FieldTable } from "../../api/fields.js";
import type { SortTerm } from "../../api/list-query.js";
import { clock } from "../../core/clock.js";
import { didYouMean, nearest } from "../../core/describe.js";
import { type CommandOption, type CommandOptions, UsageError } from "../command.js";
import { parseDuration } from "../duration.js";
import { parseInstant } from "../instant.js";
import { settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { type FormatName, formatNames, type ListedRecord } from "./formats.js";
import { type ListSource, parentOptions } from "./sources.js";

export type Values = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/** When payments were created: from here on, and before its end if it has one. */
export interface Period {
  readonly from: Date;
  readonly to: Date | undefined;
}

export interface ListOptions {
  readonly filter: Readonly<Record<string, string>> | undefined;
  readonly sort: readonly SortTerm<ListedRecord>[] | undefined;
  readonly size: number | undefined;
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly period: Period | undefined;
  readonly format: FormatName;
  readonly fields: readonly string[] | undefined;
  /** Whether CSV has each value exactly as it is. */
  readonly isRaw: boolean;
  readonly out: string | undefined;
  /** How often a list that is followed is read; `undefined` for another. */
  readonly everyMs: number | undefined;
}

export function optionsOf(source: ListSource): CommandOptions {
  return {
    ...parentOptions(source, "to which the list belongs"),
    filter: {
      type: "string",
      multiple: true,
      value: "FIELD=VALUE",
      help: "only records with this value; can be repeated",
    },
    sort: { type: "string", multiple: true, value: "FIELD.asc|desc", help: "order; can be repeated" },
    size: { type: "string", value: "COUNT", help: "page size" },
    after: { type: "string", value: "TOKEN", help: "only records after this paging token" },
    ...(source.name === "payments" ? periodOptions : undefined),
    limit: { type: "string", value: "COUNT", help: "stop after so many records" },
    follow: { type: "boolean", help: "keep running and print new records as they come (Ctrl-C to stop)" },
    every: {
      type: "string",
      value: "TIME",
      help: `how often --follow reads the list; ${usualEvery} unless it is given`,
    },
    format: { type: "string", value: formatNames.join("|"), help: "how records are written" },
    fields: { type: "string", value: "A,B,…", help: "only these fields, in this order" },
    raw: {
      type: "boolean",
      help: "CSV for programs: exactly what is there, also what a spreadsheet would take for a formula",
    },
    json: { type: "boolean", help: "the same as --format ndjson" },
    out: { type: "string", value: "FILE", help: "write to this file, which is there once the list is whole" },
    "with-credentials": withCredentialsOption,
    ...settingOptions,
  };
}

const periodOptions: CommandOptions = {
  from: {
    type: "string",
    value: "TIME",
    help: "only payments created then or later: 2026-01-31 (its beginning in UTC), yesterday, today, or 2026-01-31T00:00:00+03:00",
  },
  to: { type: "string", value: "TIME", help: "only payments created before then; goes with --from" },
};

export const withCredentialsOption: CommandOption = { type: "boolean", help: "show credentials too" };

const usualEvery = "10s";

/** @throws {UsageError} */
export function parseListOptions(source: ListSource, values: Values, terminal: Terminal): ListOptions {
  const { after, out, filter } = values as {
    readonly filter?: readonly string[];
    readonly after?: string;
    readonly out?: string;
  };
  const sort = parseSort(source, values.sort);
  if (after === "") throw new UsageError("--after is a paging token, and not empty");
  const period = parsePeriod(values);
  const options = {
    filter: parseFilter(source, filter, period !== undefined),
    sort,
    size: parseCount("size", values.size),
    after,
    limit: parseCount("limit", values.limit),
    period,
    format: parseFormat(values, terminal),
    fields: parseFields(source, values.fields),
    isRaw: values.raw === true,
    out,
    everyMs: parseFollow(values),
  };
  if (options.isRaw && options.format !== "csv")
    throw new UsageError("--raw is for --format csv: the others are exact");
  return options;
}

/** The list is read newest first, and its paging tokens are not the caller's. */
function parsePeriod({ from, to, sort, after, follow }: Values): ListOptions["period"] {
  if (from === undefined) {
    if (to === undefined) return undefined;
    throw new UsageError("--to goes with --from");
  }
  for (const [name, given] of Object.entries({ sort, after, follow })) {
    if (given !== undefined) throw new UsageError(`--from reads the newest payments first: leave --${name} out`);
  }
  const now = new Date(clock.wallMs());
  const fromMs = parseInstant("from", String(from), now);
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : parseInstant("to", String(to), now);
  if (fromMs < toMs) return { from: new Date(fromMs), to: to === undefined ? undefined : new Date(toMs) };
  throw new UsageError("--from lies before --to: what was created at --to itself is not part of the list");
}

function parseFormat({ format, json, out }: Values, terminal: Terminal): FormatName {
  const usual = json || terminal.width === undefined || out !== undefined ? "ndjson" : "table";
  const found = formatNames.find((name) => name === (format ?? usual));
  if (found === undefined) throw new UsageError(`--format is one of ${formatNames.join(", ")}`);
  return found;
}

function parseSort({ name: list, fields }: ListSource, given: Values[string]): ListOptions["sort"] {
  if (!Array.isArray(given)) return undefined;
  return given.flatMap((terms: string) =>
    terms.split(",").map((term): SortTerm<ListedRecord> => {
      const [, name = "", direction = ""] = /^([^.\s]+)(?:\.(\w+))?$/.exec(term) ?? [];
      if (name !== "" && !isField(fields, name)) throw new UsageError(noField("--sort", list, fields, name));
      if (direction === "asc" || direction === "desc") return `${name}.${direction}`;
      const example = `${name || "createdAt"}.asc or ${name || "createdAt"}.desc`;
      throw new UsageError(`--sort ${JSON.stringify(term)} does not say in which direction: ${example}`);
    }),
  );
}

function parseFields({ name: list, fields }: ListSource, given: unknown): ListOptions["fields"] {
  if (typeof given !== "string") return undefined;
  const names = given.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !isField(fields, name));
  if (unknown !== undefined) throw new UsageError(noField("--fields", list, fields, unknown));
  return [...new Set(names)];
}

/** The description shows a paging token on payments alone; other lists may have one. */
function isField(fields: FieldTable, name: string): boolean {
  return name === "pagingToken" || Object.hasOwn(fields, name);
}

function noField(option: string, list: string, fields: FieldTable, name: string): string {
  const names = Object.keys(fields);
  return `${option}: ${list} have no field ${name}${didYouMean(name, names) || `; they have ${names.join(", ")}`}`;
}

function parseFollow({ follow, every, sort, out }: Values): number | undefined {
  if (!follow) {
    if (every === undefined) return undefined;
    throw new UsageError("--every goes with --follow");
  }
  if (sort !== undefined) throw new UsageError("--follow goes by paging tokens: leave --sort out");
  if (out !== undefined) throw new UsageError("--follow has no end, at which --out would be whole: write to stdout");
  return parseDuration("every", typeof every === "string" ? every : usualEvery);
}

function parseFilter(
  { name: list, fields }: ListSource,
  given: readonly string[] | undefined,
  isComparedHere: boolean,
): ListOptions["filter"] {
  if (given === undefined) return undefined;
  const pairs = given.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--filter ${pair} is not FIELD=VALUE`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const names = pairs.map(([name]) => name);
  const again = names.find((name, index) => names.indexOf(name) < index);
  if (again !== undefined)
    throw new UsageError(`--filter ${again}=… is there twice: the service knows one value a field`);
  // A service may know other fields than the description; others than its own can't be compared here.
  const isWrong = (name: string) =>
    !Object.hasOwn(fields, name) && (isComparedHere || nearest(name, Object.keys(fields)) !== undefined);
  const unknown = names.find(isWrong);
  if (unknown !== undefined) {
    throw new UsageError(noField("--filter", list, fields, unknown));
  }
  return Object.fromEntries(pairs);
}

/** @throws {UsageError} */
export function parseCount(name: string, given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const count = Number(given);
  if (/^\d+$/.test(String(given)) && count >= 1) return count;
  throw new UsageError(`--${name} is a number from 1 on`);
}
