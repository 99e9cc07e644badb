import { type CommandOptions, UsageError } from "../command.js";
import { parseDuration } from "../duration.js";
import { settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { type FormatName, formatNames } from "./formats.js";
import type { ListSource } from "./lists.js";

export type Values = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/** What a list command was asked for. */
export interface ListOptions {
  readonly filter: Readonly<Record<string, string>> | undefined;
  readonly sort: readonly string[] | undefined;
  readonly size: number | undefined;
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly format: FormatName;
  readonly out: string | undefined;
  readonly resume: string | undefined;
  /** How often a list that is followed is read; `undefined` where it is not followed. */
  readonly everyMs: number | undefined;
}

export function optionsOf(source: ListSource): CommandOptions {
  return {
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
    follow: {
      type: "boolean",
      help: "go on with new records as they come, until Ctrl-C, which ends it with exit code 0",
    },
    every: {
      type: "string",
      value: "TIME",
      help: `how often --follow reads the list; ${defaultEvery(source)} unless it is given`,
    },
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
  };
}

/** Other lists than payments are read from their beginning each time. */
function defaultEvery({ name }: ListSource): string {
  return name === "payments" ? "10s" : "1m";
}

/** @throws {UsageError} */
export function parseListOptions(source: ListSource, values: Values, terminal: Terminal): ListOptions {
  const { sort, after, out, resume, filter } = values as {
    readonly filter?: readonly string[];
    readonly sort?: readonly string[];
    readonly after?: string;
    readonly out?: string;
    readonly resume?: string;
  };
  const options = {
    filter: parseFilter(source, filter, values.follow === true),
    sort,
    size: parseCount("size", values.size),
    after,
    limit: parseCount("limit", values.limit),
    format: parseFormat(values, terminal),
    out,
    resume,
    everyMs: parseFollow(source, values),
  };
  assertResumable(options);
  if (options.everyMs !== undefined && sort !== undefined) {
    throw new UsageError("--follow goes by the order of creation: leave --sort out");
  }
  return options;
}

function parseFormat({ format, json, out }: Values, terminal: Terminal): FormatName {
  const usual = json || terminal.width === undefined || out !== undefined ? "ndjson" : "table";
  const found = formatNames.find((name) => name === (format ?? usual));
  if (found === undefined) throw new UsageError(`--format is one of ${formatNames.join(", ")}`);
  return found;
}

function parseFollow(source: ListSource, { follow, every }: Values): number | undefined {
  if (follow) return parseDuration("every", typeof every === "string" ? every : defaultEvery(source));
  if (every !== undefined) throw new UsageError("--every goes with --follow");
  return undefined;
}

function assertResumable({ out, resume, sort, after, limit, format, everyMs }: ListOptions): void {
  if ((out === undefined) !== (resume === undefined))
    throw new UsageError("--out and --resume go together; without them write to stdout");
  if (resume === undefined) return;
  for (const [name, given] of Object.entries({ sort, after, limit })) {
    if (given !== undefined) throw new UsageError(`--resume goes by paging tokens, to the end: leave --${name} out`);
  }
  if (format === "table") throw new UsageError("--resume writes ndjson or csv");
  // After a kill the ids of what was written are read back.
  if (everyMs !== undefined && format !== "ndjson") throw new UsageError("--resume with --follow writes ndjson");
}

function parseFilter(
  { name: list, fields }: ListSource,
  given: readonly string[] | undefined,
  isFollowed: boolean,
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
  // The client checks the names that it sends; those of payments that are followed are compared here.
  const unknown = isFollowed ? names.find((name) => !Object.hasOwn(fields, name)) : undefined;
  if (unknown !== undefined) {
    throw new UsageError(`--filter: ${list} have no field ${unknown}; they have ${Object.keys(fields).join(", ")}`);
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
