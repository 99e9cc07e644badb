import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { FlowScope, Journal, JournalEntry, JournalState, LeaseRequest } from "../flows/journal.js";

/** What a law is checked with. */
export interface LawFixture {
  readonly journal: Journal;
  /** Another handle of the same store, or the same one where there is no other. */
  readonly second: Journal;
  /** Every key of this law begins with it, and follows all keys of the laws before. */
  readonly prefix: string;
  /** A lease whose end is waited for. */
  readonly shortMs: number;
  /** Waits until a lease of `shortMs` that was granted before has expired. */
  readonly outliveShortLease: () => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  readonly workers: number;
  readonly flows: number;
  /** Says what could not be checked. */
  readonly leaveOpen: (what: string) => void;
}

export type JournalLaw = readonly [name: string, check: (fixture: LawFixture) => Promise<void>];

export const longMs = 600_000;
export const service = "https://service.example";
/** Each law has a gateway of its own. */
export const scopeOf = (prefix: string): FlowScope => ({ service, gateway: prefix });
export const open = (data = "{}", phase = "open"): JournalState => ({ phase, settled: false, data, evidence: "{}" });
export const done = (data = "{}", phase = "done"): JournalState => ({ phase, settled: true, data, evidence: "{}" });
export const quote = (quoteTtlMs: number, data = "{}"): JournalState => ({ ...done(data, "quoted"), quoteTtlMs });
export const lease = (leaseMs: number, owner = "a worker"): LeaseRequest => ({ owner, leaseMs, nonce: randomUUID() });

export async function begin(
  journal: Journal,
  key: string,
  state: JournalState,
  request: LeaseRequest,
  scope: FlowScope = scopeOf(key),
): Promise<JournalEntry> {
  const { entry, created } = await journal.begin(key, scope, state, request);
  assert.equal(created, true, `${JSON.stringify(key)} is a new flow`);
  return entry;
}

/** All of an entry that is not about its lease. */
export function stateOf(entry: JournalEntry | undefined): object | undefined {
  if (entry === undefined) return undefined;
  const { epoch, nonce, owner, leaseUntilMs, leaseMs, isOverlong, ...state } = entry;
  return state;
}

export async function abandon(journal: Journal, key: string, scope: FlowScope, data?: string): Promise<void> {
  const entry = await begin(journal, key, open(data), lease(longMs), scope);
  await journal.release(key, entry);
}

export async function settleAll(journal: Journal, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const entry = defined(await journal.read(key));
    assert.equal(await journal.write(key, entry, done()), true);
  }
}

/** An entry's property that is `undefined` may as well be absent. */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(withoutUndefined(actual), withoutUndefined(expected), message);
}

export function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  // What a journal said of its history when it leased a flow, no read repeats.
  const repeated = entries.filter(([name]) => name !== "incarnation");
  return Object.fromEntries(repeated.map(([name, part]) => [name, withoutUndefined(part)]));
}

export function defined(entry: JournalEntry | undefined): JournalEntry {
  assert.ok(entry, "there is such a flow");
  return entry;
}

export function byBytes(keys: readonly string[]): string[] {
  return [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function pick<T>(index: number, one: T, other: T): T {
  return index % 2 === 0 ? one : other;
}

export function isEntry(entry: JournalEntry | undefined): entry is JournalEntry {
  return entry !== undefined;
}
