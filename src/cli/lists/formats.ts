import type { FieldTable } from "../../api/fields.js";
import type { ListedRecord } from "./lists.js";

/** How records are written. */
export interface Format {
  /** Before the first record. */
  readonly head: string;
  write(records: readonly ListedRecord[]): string;
  /** Fields of records that were not written. */
  readonly leftOut?: ReadonlySet<string>;
}

export const formatNames = ["table", "ndjson", "csv"] as const;
export type FormatName = (typeof formatNames)[number];

/** @param width of the terminal. */
export function formatOf(name: FormatName, fields: FieldTable, columns: readonly string[], width: number): Format {
  const names = Object.keys(fields);
  if (name === "ndjson")
    return { head: "", write: (records) => records.map((record) => `${JSON.stringify(record)}\n`).join("") };
  if (name === "csv") return csv(names);
  return table(columns.length === 0 ? names.slice(0, 7) : columns, width);
}

/** RFC 4180, with the fields of the description: which others there are is not known before the last record. */
function csv(names: readonly string[]): Format {
  const line = (values: readonly string[]) => `${values.map(quoted).join(",")}\r\n`;
  const known = new Set(names);
  const leftOut = new Set<string>();
  return {
    head: line(names),
    leftOut,
    write(records) {
      for (const name of records.flatMap(Object.keys)) if (!known.has(name)) leftOut.add(name);
      return records.map((record) => line(names.map((name) => shown(record[name])))).join("");
    },
  };
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Each column has the width of its title, or of a value that is usual there; what is longer is cut. */
function table(columns: readonly string[], width: number): Format {
  const widths = new Map<string, number>();
  const line = (cells: readonly string[]) =>
    `${clipped(
      cells
        .map((cell, index) => padded(cell, widths.get(columns[index] ?? "") ?? 0))
        .join("  ")
        .trimEnd(),
      width,
    )}\n`;
  let isFirst = true;
  return {
    head: "",
    write(records) {
      const rows = records.map((record) => columns.map((name) => printable(shown(record[name]))));
      if (!isFirst) return rows.map(line).join("");
      isFirst = false;
      columns.forEach((name, index) => {
        const longest = Math.max(name.length, ...rows.map((cells) => cells[index]?.length ?? 0));
        widths.set(name, Math.min(longest, widestColumn));
      });
      return [columns, ...rows].map(line).join("");
    },
  };
}

const widestColumn = 36;

function padded(cell: string, width: number): string {
  return clipped(cell, width).padEnd(width);
}

function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** What a record holds must not steer the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, " ");
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
