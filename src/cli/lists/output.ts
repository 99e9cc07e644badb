import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type Options, stringify } from "csv-stringify/sync";
import type { FieldTable } from "../../api/fields.js";
import { asWord, clipped, isShown, printable, type Terminal, toJson, UsageError } from "../terminal.js";

export type ListedRecord = Readonly<Record<string, unknown>>;

/** How records become text, page by page. */
export interface Format {
  write(records: readonly ListedRecord[]): string;
  /** Text after the last record. */
  end?(): string;
}

export const formatNames = ["table", "csv", "json", "ndjson"] as const;
export type FormatName = (typeof formatNames)[number];

export interface Column {
  readonly title: string;
  /** The most characters if a window cuts the table. By default as many as an id has. */
  readonly maxWidth?: number;
  cell(record: ListedRecord): unknown;
}

/** Columns by the names of their fields: `id amount=amount+currency` has a column of two fields. */
export function columnsOf(specification: string): readonly Column[] {
  return specification.split(" ").map((text) => {
    const [title = "", fields = title] = text.split("=");
    const names = fields.split("+");
    return { title, cell: (record) => names.map((name) => shown(record[name])).join(" ") };
  });
}

export interface FormatOptions {
  /** The description's fields. */
  readonly fields: FieldTable;
  /** Columns of a table, unless `chosen` says otherwise. */
  readonly columns: readonly Column[];
  /** The only fields to write, in this order. */
  readonly chosen?: readonly string[] | undefined;
  /** The terminal's width, if records go to one. */
  readonly width?: number | undefined;
  readonly withCredentials?: boolean;
}

export function formatOf(name: FormatName, options: FormatOptions): Format {
  const { chosen, columns, width, withCredentials = false } = options;
  if (name === "csv") return csv(options);
  if (name === "table") {
    const fields = chosen?.filter((field) => isShown(field, withCredentials));
    return table(fields === undefined ? columns : columnsOf(fields.join(" ")), width);
  }
  const line = (record: ListedRecord) =>
    toJson(chosen === undefined ? record : Object.fromEntries(chosen.map((field) => [field, record[field]])), {
      withCredentials,
    });
  if (name === "ndjson") return { write: (records) => records.map((record) => `${line(record)}\n`).join("") };
  let separator = "[\n";
  const next = (record: ListedRecord): string => {
    const text = separator + line(record);
    separator = ",\n";
    return text;
  };
  return {
    write: (records) => records.map(next).join(""),
    end: () => (separator === "[\n" ? "[]\n" : "\n]\n"),
  };
}

/** CSV for spreadsheets. Strangers write memos and names, so values that look like formulas get an apostrophe. */
function csv({ fields, chosen, width, withCredentials = false }: FormatOptions): Format {
  const names = chosen ?? Object.keys(fields);
  const cellOf = (record: ListedRecord, name: string): string => {
    const text = isShown(name, withCredentials) ? shown(record[name]) : "";
    return width === undefined ? text : printable(text);
  };
  let head: readonly string[][] = [[...names]];
  return {
    write(records) {
      const lines = records.map((record) => names.map((name) => cellOf(record, name)));
      const text = stringify([...head, ...lines], csvStyle);
      head = [];
      return text;
    },
  };
}

const csvStyle: Options = { escape_formulas: true, quoted_match: /[\r\n]/, record_delimiter: "windows" };

/** Columns become as wide as their values so far. A window cuts the end of a line. */
export function table(columns: readonly Column[], width?: number): Format {
  const titles = columns.map(({ title }) => title);
  const widths = titles.map(({ length }) => length);
  const maxWidth = ({ maxWidth = widestColumn }: Column) => (width === undefined ? Number.POSITIVE_INFINITY : maxWidth);
  let head = [titles];
  return {
    write(records) {
      const cells = records.map((record) =>
        columns.map((each) => clipped(printable(shown(each.cell(record))), maxWidth(each))),
      );
      for (const [index] of columns.entries()) {
        for (const row of cells) widths[index] = Math.max(widths[index] ?? 0, row[index]?.length ?? 0);
      }
      const lines = [...head, ...cells].map((row) =>
        row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  "),
      );
      head = [];
      return lines.map((line) => `${clipped(line.trimEnd(), width ?? Number.POSITIVE_INFINITY)}\n`).join("");
    },
  };
}

/** Wide enough for a whole id. */
const widestColumn = 36;

/** The text of a value, or JSON if it has parts. */
export function shown(value: unknown, withCredentials = false): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : toJson(value, { withCredentials });
}

/** Puts items into pages. Before an error, it yields the items before it. */
export async function* inPages<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[]> {
  let page: Item[] = [];
  try {
    for await (const item of items) {
      page.push(item);
      if (page.length < size) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    yield page;
    throw error;
  }
  yield page;
}

/** Writes the records of a list to stdout, or to a file that gets its name when the list is complete. */
export class ListOutput {
  readonly #format: Format;
  readonly #terminal: Terminal;
  readonly #file: { readonly path: string; readonly partPath: string; readonly handle: number } | undefined;
  #left: number;
  #after: string | undefined;

  /** @throws {UsageError} if `out` isn't a file. A rename would replace a device, too. */
  constructor(
    format: Format,
    terminal: Terminal,
    {
      out,
      limit = Number.POSITIVE_INFINITY,
    }: { readonly out?: string | undefined; readonly limit?: number | undefined },
  ) {
    this.#format = format;
    this.#terminal = terminal;
    this.#left = limit;
    if (out === undefined) return;
    if (statSync(out, { throwIfNoEntry: false })?.isFile() === false) throw new UsageError(`--out ${out}: not a file`);
    const partPath = `${out}.${randomBytes(4).toString("hex")}.part`;
    this.#file = { path: out, partPath, handle: openSync(partPath, "wx", 0o600) };
  }

  /**
   * @param after the token that continues after these records, if there is one.
   * @returns whether it needs more.
   */
  async write(records: readonly ListedRecord[], after?: string): Promise<boolean> {
    const kept = records.slice(0, this.#left);
    // If the disk is full, half a record may have been written.
    this.#after = undefined;
    if (kept.length > 0) await this.#writeText(this.#format.write(kept));
    this.#left -= kept.length;
    this.#after = after;
    return this.#left > 0;
  }

  async #writeText(text: string): Promise<void> {
    const { stdout } = this.#terminal;
    if (this.#file !== undefined) writeFileSync(this.#file.handle, text);
    // As fast as it is read.
    else if (!stdout.write(text)) await once(stdout, "drain");
  }

  async finish(): Promise<void> {
    await this.#writeText(this.#format.end?.() ?? "");
    if (this.#file !== undefined) {
      fsyncSync(this.#file.handle);
      closeSync(this.#file.handle);
      renameSync(this.#file.partPath, this.#file.path);
    }
  }

  /** Says how to continue a list that was interrupted or failed, if that is possible. */
  abandon(): void {
    if (this.#file !== undefined) closeSync(this.#file.handle);
    if (this.#after === undefined) {
      if (this.#file !== undefined) rmSync(this.#file.partPath);
      return;
    }
    const part = this.#file === undefined ? "" : `${this.#file.partPath} has the records so far; `;
    this.#terminal.stderr.write(`cross-border: ${part}continue with --after ${asWord(this.#after)}\n`);
  }
}
