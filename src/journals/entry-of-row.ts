import type { BacklogCount, JournalEntry, JournalState, ScopeCounts } from "../flows/journal.js";

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
    evidence: String(row.evidence),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    isExpired: Number(row.is_expired) === 1,
    owner: String(row.owner),
    leaseUntilMs: optionalNumber(row.lease_until_ms),
    leaseMs: optionalNumber(row.lease_ms),
    isOverlong: Number(row.is_overlong) === 1,
    incarnationMark: optionalText(row.incarnation_mark),
    incarnation: optionalText(row.incarnation),
    prunedAtMs: optionalNumber(row.pruned_at_ms),
  };
}

export function optionalEntry(row: Row | undefined): JournalEntry | undefined {
  return row === undefined ? undefined : toEntry(row);
}

/** The entry of a row that was just stored, and came back without the texts that the caller has. */
export function storedEntry(row: Row, { phase, settled, data, evidence }: JournalState): JournalEntry {
  return toEntry({ ...row, phase, settled, data, evidence });
}

/** Rows of `phase` and `flows`, of which several can be of the same phase. */
export function countsOf(rows: readonly Row[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { phase, flows } of rows) counts.set(String(phase), (counts.get(String(phase)) ?? 0) + Number(flows));
  return Object.fromEntries(counts);
}

/** The last of some rows' keys, by their UTF-8 bytes. */
export function lastKey(rows: readonly Row[]): string {
  const keys = rows.map(({ key }) => Buffer.from(String(key)));
  return String(keys.sort(Buffer.compare).at(-1) ?? "");
}

/** Rows of `service`, `gateway` and their counts. */
export function scopeCountsOf(rows: readonly Row[]): readonly ScopeCounts[] {
  return rows.map(({ service, gateway, open, held, paid, flows }) => ({
    service: String(service),
    gateway: String(gateway),
    open: Number(open),
    held: Number(held),
    paid: Number(paid),
    flows: Number(flows),
  }));
}

/** Rows of `service`, `gateway`, `phase` and what is counted of the flows in it. */
export function backlogOf(rows: readonly Row[]): readonly BacklogCount[] {
  return rows.map(({ service, gateway, phase, flows, unowned, oldest_ms }) => ({
    service: String(service),
    gateway: String(gateway),
    phase: String(phase),
    flows: Number(flows),
    unowned: Number(unowned),
    oldestMs: Number(oldest_ms),
  }));
}

function optionalText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function optionalNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
