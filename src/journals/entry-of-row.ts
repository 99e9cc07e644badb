import type { JournalEntry } from "../flows/journal.js";

/** A row of a journal's table, as either database returns it: numbers may be strings or BigInts. */
export type Row = Readonly<Record<string, unknown>>;

export function toEntry(row: Row): JournalEntry {
  return {
    key: String(row.key),
    epoch: Number(row.epoch),
    phase: String(row.phase),
    settled: Number(row.settled) === 1,
    data: String(row.data),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
  };
}

export function optionalEntry(row: Row | undefined): JournalEntry | undefined {
  return row === undefined ? undefined : toEntry(row);
}
