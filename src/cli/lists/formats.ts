import type { FieldTable } from "../../api/fields.js";
import { printable, toJson } from "../printable.js";
import { clipped, padded, widthOf } from "../text-width.js";
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

/** @param width of the terminal; `undefined` where records go elsewhere. */
export function formatOf(
  name: FormatName,
  fields: FieldTable,
  columns: readonly string[],
  width: number | undefined,
): Format {
  const names = Object.keys(fields);
  if (name === "ndjson") return ndjson;
  if (name === "csv") return csv(names, width !== undefined);
  return table(columns.length === 0 ? names.slice(0, 7) : columns, width);
}

export const ndjson: Format = {
  head: "",
  write: (records) => records.map((record) => `${toJson(record)}\n`).join(""),
};

/** RFC 4180, with the fields of the description: which others there are is not known before the last record. */
function csv(names: readonly string[], isForTerminal: boolean): Format {
  const line = (values: readonly string[]) => `${values.map(quoted).join(",")}\r\n`;
  const cell = (value: unknown) => (isForTerminal ? printable(shown(value)) : shown(value));
  const known = new Set(names);
  const leftOut = new Set<string>();
  return {
    head: line(names),
    leftOut,
    write(records) {
      for (const name of records.flatMap(Object.keys)) if (!known.has(name)) leftOut.add(name);
      return records.map((record) => line(names.map((name) => cell(record[name])))).join("");
    },
  };
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * Each column but the last is as wide as its title and its longest value so far, within bounds. What does not fit into the window is cut.
 *
 * @param width of the terminal; where there is none, nothing is cut.
 */
export function table(columns: readonly string[], width = Number.POSITIVE_INFINITY): Format {
  const widths = columns.map(widthOf);
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
      const rows = records.map((record) => columns.map((name) => printable(shown(record[name]))));
      for (const index of columns.keys()) {
        const longest = Math.max(...rows.map((cells) => widthOf(cells[index] ?? "")));
        widths[index] = Math.max(widths[index] ?? 0, Math.min(longest, widestColumn));
      }
      const lines = isFirst ? [columns, ...rows] : rows;
      isFirst = false;
      return lines.map(line).join("");
    },
  };
}

const widestColumn = 36;

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
