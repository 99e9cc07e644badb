import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { FlowScope, Journal, JournalEntry, JournalState, LeaseRequest } from "../flows/journal.js";

/** What a law is checked with. */
export interface LawFixture {
  readonly journal: Journal;
  /** Another handle of the same store, or the same one if there is no other. */
  readonly second: Journal;
  /** Every key of this law begins with it, and follows all keys of the laws before. */
  readonly prefix: string;
  /** A lease whose end is waited for. */
  readonly shortMs: number;
  /** Waits until a lease of `shortMs` that was granted before has ended. */
  readonly outliveShortLease: () => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  /** A journal with a clock of its own can be checked for what happens after a day. */
  readonly canWaitForDays: boolean;
  readonly workers: number;
  readonly flows: number;
}

export type JournalLaw = readonly [name: string, check: (fixture: LawFixture) => Promise<void>];

export const longMs = 600_000;
export const dayMs = 86_400_000;
export const service = "service.example";
/** Each law has a gateway of its own. */
export const scopeOf = (prefix: string): FlowScope => ({ service, gateway: prefix });
export const open = (data = "{}", phase = "open"): JournalState => ({ phase, settled: false, data });
export const done = (data = "{}", phase = "done"): JournalState => ({ phase, settled: true, data });
export const quote = (quoteTtlMs: number, data = "{}"): JournalState => ({ ...done(data, "quoted"), quoteTtlMs });
export const lease = (leaseMs = longMs, owner = "a worker"): LeaseRequest => ({ owner, leaseMs, nonce: randomUUID() });

export async function begin(
  journal: Journal,
  key: string,
  state: JournalState,
  request = lease(),
  scope = scopeOf(key),
): Promise<JournalEntry> {
  const { entry, created } = await journal.begin(key, scope, state, request);
  assert.equal(created, true, `${JSON.stringify(key)} is a new flow`);
  return entry;
}

/** A flow that is open, and that nobody has. */
export async function abandon(journal: Journal, key: string, scope: FlowScope, data?: string): Promise<void> {
  await journal.release(key, await begin(journal, key, open(data), lease(), scope));
}

export async function settleAll(journal: Journal, keys: readonly string[]): Promise<void> {
  for (const key of keys) assert.equal(await journal.write(key, await present(journal, key), done()), true);
}

export async function present(journal: Journal, key: string): Promise<JournalEntry> {
  return defined(await journal.read(key));
}

/** A property that is `undefined` may as well be absent. When something was read differs. */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(comparable(actual), comparable(expected), message);
}

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name, part]) => part !== undefined && name !== "readAtMs");
  return Object.fromEntries(entries.map(([name, part]) => [name, comparable(part)]));
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
