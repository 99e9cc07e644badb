import { columns } from "../layout.js";
import { printable, toJson } from "../printable.js";
import { isShown } from "../secrets.js";
import { print, type Terminal } from "../terminal.js";
import { type ListedRecord, shown } from "./formats.js";

export interface RecordStyle {
  /** Prints JSON at a terminal too. */
  readonly isJson: boolean;
  /** Fields of kind `secret` are left out otherwise. */
  readonly withCredentials: boolean;
}

/** Prints one record: a line a field on a terminal, JSON elsewhere. */
export function printRecord(terminal: Terminal, record: ListedRecord, { isJson, withCredentials }: RecordStyle): void {
  const { width } = terminal;
  if (isJson || width === undefined) print(terminal, toJson(record, { indent: 2, withCredentials }));
  else print(terminal, ...columns(rowsOf(record, withCredentials), width));
}

function rowsOf(record: ListedRecord, withCredentials: boolean): [string, string][] {
  return Object.entries(record)
    .filter(([name]) => isShown(name, withCredentials))
    .map(([name, value]) => [printable(name), printable(shown(value, withCredentials))]);
}
