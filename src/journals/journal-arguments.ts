import { InvalidArgumentError } from "../core/errors.js";
import { assertFlowKey } from "../flows/flow-key.js";
import type { FlowScope, JournalEntry, JournalState, LeaseRequest, StateId } from "../flows/journal.js";

/** @throws {InvalidArgumentError} for what can't be stored exactly. */
export function assertNew(
  key: string,
  { service, gateway }: FlowScope,
  state: JournalState,
  lease: LeaseRequest,
): void {
  assertFlowKey(key);
  assertText("service", service);
  assertText("gateway", gateway);
  assertState(state);
  assertLease(lease);
}

export function assertState({ phase, settled, data, quoteTtlMs }: JournalState): void {
  assertText("phase", phase);
  if (typeof data !== "string" || typeof settled !== "boolean") {
    throw new InvalidArgumentError("journal: data must be a string, and settled a boolean");
  }
  assertExact("data", data);
  if (quoteTtlMs !== undefined) assertDuration("quoteTtlMs", quoteTtlMs);
  if (phase === "quoted" && (quoteTtlMs === undefined || !settled)) {
    throw new InvalidArgumentError("journal: a quote is settled, and has a quoteTtlMs");
  }
}

export function assertLease({ owner, nonce, leaseMs }: LeaseRequest): void {
  assertExact("owner", owner);
  assertText("nonce", nonce);
  assertDuration("leaseMs", leaseMs);
}

export function assertDuration(name: string, ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms < 2 ** 50) return;
  throw new InvalidArgumentError(`journal: ${name} must be a whole number of milliseconds above 0`);
}

/** Whether an entry is what a write has stored. */
export function isWritten(present: JournalEntry | undefined, next: StateId, state: JournalState): boolean {
  return (
    present?.prunedAtMs === undefined &&
    present?.epoch === next.epoch &&
    present.nonce === next.nonce &&
    present.revision === next.revision &&
    present.phase === state.phase &&
    present.settled === state.settled &&
    present.data === state.data
  );
}

/** Whether an entry is the one that `begin` stored with this nonce. */
export function isBegun(present: JournalEntry, nonce: string): boolean {
  return present.revision === 1 && present.epoch === 1 && present.nonce === nonce && present.prunedAtMs === undefined;
}

/** Whether a lease was granted to this nonce, and is valid. A quote and a tombstone have none. */
export function isLeasedTo(present: JournalEntry | undefined, nonce: string): present is JournalEntry {
  if (present?.nonce !== nonce || present.prunedAtMs !== undefined) return false;
  return present.phase !== "quoted" && (present.leaseUntilMs ?? 0) > present.readAtMs;
}

function assertText(name: string, text: string): void {
  if (typeof text !== "string" || text === "")
    throw new InvalidArgumentError(`journal: ${name} must be a string, not empty`);
  assertExact(name, text);
}

/** Databases cut text off at U+0000 or refuse it, and store all lone surrogates as one character. */
function assertExact(name: string, text: string): void {
  if (!text.includes("\0") && text.isWellFormed()) return;
  throw new InvalidArgumentError(`journal: ${name} contains U+0000 or a lone surrogate, which can't be stored exactly`);
}
