import type { JournalEntry, JournalState, PhaseCount } from "../flows/journal.js";

/** A row of a journal's table, as either database returns it: numbers may be strings or BigInts, and booleans 0 and 1. */
export type Row = Readonly<Record<string, unknown>>;

export function toEntry(row: Row): JournalEntry {
  return {
    key: String(row.key),
    scope: { service: String(row.service), gateway: String(row.gateway) },
    epoch: Number(row.epoch),
    nonce: String(row.nonce),
    revision: Number(row.revision),
    phase: String(row.phase),
    settled: Number(row.settled) === 1,
    data: String(row.data),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
    readAtMs: Number(row.read_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    owner: String(row.owner),
    leaseUntilMs: optionalNumber(row.lease_until_ms),
    prunedAtMs: optionalNumber(row.pruned_at_ms),
  };
}

export function optionalEntry(row: Row | undefined): JournalEntry | undefined {
  return row === undefined ? undefined : toEntry(row);
}

/** The entry of a row that was just stored, and came back without the texts that the caller has. */
export function storedEntry(row: Row, { phase, settled, data }: JournalState): JournalEntry {
  return toEntry({ ...row, phase, settled, data });
}

/** The last of some rows' keys, by their UTF-8 bytes. */
export function lastKey(rows: readonly Row[]): string {
  const keys = rows.map(({ key }) => Buffer.from(String(key)));
  return String(keys.sort(Buffer.compare).at(-1) ?? "");
}

export function toCount({ service, gateway, phase, settled, flows, unowned, oldest_ms }: Row): PhaseCount {
  return {
    service: String(service),
    gateway: String(gateway),
    phase: String(phase),
    settled: Number(settled) === 1,
    flows: Number(flows),
    unowned: Number(unowned),
    oldestMs: Number(oldest_ms),
  };
}

function optionalNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
