import type { FieldTable } from "../../api/fields.js";
import { printable, toJson } from "../printable.js";
import { isShown } from "../secrets.js";
import { clipped, padded, widthOf } from "../text-width.js";
import { spreadsheetText } from "./spreadsheet-text.js";

export type ListedRecord = Readonly<Record<string, unknown>>;

export interface Format {
  /** Text before the first record. */
  readonly head: string;
  write(records: readonly ListedRecord[]): string;
  /** Names of fields that were not written, for a message; empty where there are none. */
  leftOut?(): string;
}

export const formatNames = ["table", "ndjson", "csv"] as const;
export type FormatName = (typeof formatNames)[number];

export interface Column {
  readonly title: string;
  cell(record: ListedRecord): unknown;
}

/** A column of one field, or of several beside one another. */
export function column(title: string, ...fields: readonly string[]): Column {
  const [field = title, ...others] = fields;
  if (others.length === 0) return { title, cell: (record) => record[field] };
  return { title, cell: (record) => fields.map((name) => shown(record[name])).join(" ") };
}

export interface FormatOptions {
  /** The description's fields. */
  readonly fields: FieldTable;
  /** Columns of a table, unless `chosen` says otherwise. */
  readonly columns: readonly Column[];
  /** The only fields to write, in this order. */
  readonly chosen: readonly string[] | undefined;
  /** The terminal's width; `undefined` where records go elsewhere. */
  readonly width: number | undefined;
  /** Whether fields of kind `secret` are written. */
  readonly withCredentials: boolean;
  /** Whether CSV has each value exactly as it is, for programs. */
  readonly isRaw: boolean;
}

export function formatOf(name: FormatName, options: FormatOptions): Format {
  const { chosen, columns, width, withCredentials } = options;
  const visible = (field: string) => isShown(field, withCredentials);
  if (name === "ndjson") return ndjsonOf(chosen, withCredentials);
  if (name === "csv") return csv(options, visible);
  return table(chosen === undefined ? columns : chosen.filter(visible).map((field) => column(field)), width);
}

/** Writes every field but credentials. */
export const ndjson: Format = ndjsonOf(undefined, false);

function ndjsonOf(chosen: readonly string[] | undefined, withCredentials: boolean): Format {
  const line = (record: ListedRecord) => `${toJson(record, { withCredentials })}\n`;
  return {
    head: "",
    write: (records) =>
      records.map((record) => line(chosen === undefined ? record : onlyFields(record, chosen))).join(""),
  };
}

function onlyFields(record: ListedRecord, names: readonly string[]): ListedRecord {
  // What is not there, JSON leaves out.
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

/** RFC 4180, with the fields of the description: which others there are is not known before the last record. */
function csv({ fields, chosen, width, isRaw }: FormatOptions, visible: (field: string) => boolean): Format {
  const names = chosen ?? Object.keys(fields);
  const line = (values: readonly string[]) => `${values.map(quoted).join(",")}\r\n`;
  const toCell = (text: string, index: number) => (isRaw ? text : spreadsheetText(text, index === 0));
  const cell = (value: unknown, index: number) =>
    toCell(width === undefined ? shown(value) : printable(shown(value)), index);
  const leftOut = new LeftOutNames();
  const isKnown = new Set(Object.keys(fields));
  return {
    head: line(names),
    leftOut: () => (chosen === undefined ? String(leftOut) : ""),
    write(records) {
      for (const record of records) {
        for (const name of Object.keys(record)) if (!isKnown.has(name)) leftOut.add(name);
      }
      return records
        .map((record) => line(names.map((name, index) => cell(visible(name) ? record[name] : "", index))))
        .join("");
    },
  };
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** The first few names that a service has made up, of which there may be any number, of any length. */
class LeftOutNames {
  readonly #shown = new Set<string>();
  #hasMore = false;

  add(name: string): void {
    const shownName = /^\w{1,40}$/.test(name) ? name : toJson(clipped(name, 40));
    if (this.#shown.has(shownName)) return;
    if (this.#shown.size < mostNamed) this.#shown.add(shownName);
    else this.#hasMore = true;
  }

  toString(): string {
    return [...this.#shown].join(", ") + (this.#hasMore ? " and others" : "");
  }
}

const mostNamed = 10;

/**
 * Each column but the last is as wide as its title and its longest value so far, within bounds. What does not fit into the window is cut.
 *
 * @param width of the terminal; where there is none, nothing is cut.
 */
export function table(columns: readonly Column[], width = Number.POSITIVE_INFINITY): Format {
  const titles = columns.map(({ title }) => title);
  const widths = titles.map(widthOf);
  const last = columns.length - 1;
  const line = (cells: readonly string[]) => {
    const isCut = width !== Number.POSITIVE_INFINITY;
    const room = (cell: string, index: number) => Math.max(widths[index] ?? 0, isCut ? 0 : widthOf(cell));
    const shownCells = cells.map((cell, index) => (index === last ? cell : padded(cell, room(cell, index))));
    return `${clipped(shownCells.join("  "), width).trimEnd()}\n`;
  };
  let isFirst = true;
  return {
    head: "",
    write(records) {
      const rows = records.map((record) => columns.map(({ cell }) => printable(shown(cell(record)))));
      for (const cells of rows) {
        for (const [index, cell] of cells.entries()) {
          widths[index] = Math.max(widths[index] ?? 0, Math.min(widthOf(cell), widestColumn));
        }
      }
      const lines = isFirst ? [titles, ...rows] : rows;
      isFirst = false;
      return lines.map(line).join("");
    },
  };
}

/** Wide enough for a whole id. */
const widestColumn = 36;

/** The text of a value; of one with parts, JSON. */
export function shown(value: unknown, withCredentials = false): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : toJson(value, { withCredentials });
}
