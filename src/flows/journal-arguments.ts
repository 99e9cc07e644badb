import { InvalidArgumentError } from "../errors/errors.js";
import type {
  FlowScope,
  JournalEntry,
  JournalQuery,
  JournalState,
  LeaseId,
  LeaseRequest,
  ObservedLease,
  PruneOptions,
  ScopeFilter,
  StateId,
} from "./journal.js";

const longestLeaseMs = 2 ** 31 - 1;
const latestMs = 8.64e15;

/** The longest key of a flow, in bytes of UTF-8. */
export const longestKey = 1024;

/** @throws {InvalidArgumentError} for a key that not every journal can store exactly. The message does not show the key. */
export function assertKey(key: string): void {
  assertText("key", key, 1, longestKey);
}

/** @throws {InvalidArgumentError} for a scope that not every journal can store exactly. */
export function assertScope({ service, gateway }: FlowScope): void {
  assertText("service", service, 1, 2048);
  assertText("gateway", gateway, 1, 512);
}

export function assertScopeFilter({ service, gateway }: ScopeFilter): void {
  assertText("service", service, 1, 2048);
  if (gateway !== undefined) assertText("gateway", gateway, 1, 512);
}

/** @throws {InvalidArgumentError} for a state that not every journal can store exactly. */
export function assertState(state: JournalState): void {
  assertText("phase", state.phase, 1, 128);
  assertStorable("data", state.data);
  assertStorable("evidence", state.evidence);
  if (typeof state.settled !== "boolean") throw new InvalidArgumentError("journal: settled must be a boolean");
  if (state.quoteTtlMs !== undefined) assertWhole("quoteTtlMs", state.quoteTtlMs, Number.MAX_SAFE_INTEGER / 4);
  if (state.incarnationMark !== undefined) assertText("incarnationMark", state.incarnationMark, 1, 128);
  if (state.scope !== undefined) assertScope(state.scope);
  if (state.phase === "quoted" && (state.quoteTtlMs === undefined || !state.settled)) {
    throw new InvalidArgumentError("journal: a quote is settled, and has a quoteTtlMs");
  }
}

export function assertLease(lease: LeaseRequest): void {
  assertText("owner", lease.owner, 0, 1024);
  assertNonce(lease.nonce);
  assertLeaseMs(lease.leaseMs);
}

export function assertLeaseMs(leaseMs: number): void {
  assertWhole("leaseMs", leaseMs, longestLeaseMs);
}

export function assertNonce(nonce: string): void {
  assertText("nonce", nonce, 1, 64);
}

export function assertStateId(id: StateId): void {
  assertLeaseId(id);
  assertWhole("revision", id.revision, Number.MAX_SAFE_INTEGER);
}

export function assertObserved(observed: ObservedLease | undefined): void {
  if (observed === undefined) return;
  assertStateId(observed);
  assertWhole("leaseUntilMs", observed.leaseUntilMs, latestMs);
}

export function assertLeaseId({ epoch, nonce }: LeaseId): void {
  assertWhole("epoch", epoch, Number.MAX_SAFE_INTEGER);
  assertNonce(nonce);
}

type StoredState = StateId &
  Pick<JournalEntry, "phase" | "settled" | "data" | "evidence"> & { readonly prunedAtMs?: unknown };

/**
 * Whether a write that did not apply is the repetition of one that did.
 *
 * @param present the entry as it was read afterwards.
 */
export function isRepetition(present: StoredState | undefined, id: StateId, state: JournalState): boolean {
  return (
    present?.epoch === id.epoch &&
    present.nonce === id.nonce &&
    present.revision === id.revision + 1 &&
    present.prunedAtMs === undefined &&
    present.phase === state.phase &&
    present.settled === state.settled &&
    present.data === state.data &&
    present.evidence === state.evidence
  );
}

export function assertQuery(query: JournalQuery): void {
  assertScopeFilter(query.scope);
  if (query.phase !== undefined) assertText("phase", query.phase, 1, 128);
  assertAfter(query.after);
  assertWhole("limit", query.limit, longestLeaseMs);
}

export function assertExpired(expired: boolean | undefined): void {
  if (expired === undefined || typeof expired === "boolean") return;
  throw new InvalidArgumentError("journal: expired must be a boolean, or be left out");
}

export function assertAfter(after: string | undefined): void {
  if (after !== undefined) assertText("after", after, 0, 1024);
}

/** @throws {InvalidArgumentError} when it is not certain what to prune. */
export function assertPrune({ settledBeforeMs, quotedBeforeMs, keep }: PruneOptions): void {
  if (settledBeforeMs === undefined && quotedBeforeMs === undefined) {
    throw new InvalidArgumentError("journal: prune needs settledBeforeMs, quotedBeforeMs, or both");
  }
  if (settledBeforeMs !== undefined) assertWhole("settledBeforeMs", settledBeforeMs, latestMs);
  if (quotedBeforeMs !== undefined) assertWhole("quotedBeforeMs", quotedBeforeMs, latestMs);
  if (keep !== undefined && keep !== "evidence" && keep !== "nothing") {
    throw new InvalidArgumentError('journal: keep must be "evidence" or "nothing"');
  }
}

const utf8 = new TextEncoder();
const ascii = /^\p{ASCII}*$/u;

function assertText(name: string, value: string, minLength: 0 | 1, maxBytes: number): void {
  assertStorable(name, value);
  if (value.length < minLength) throw new InvalidArgumentError(`journal: ${name} must not be empty`);
  // To encode a text takes ten times as long as to see that it is ASCII.
  const bytes = ascii.test(value) ? value.length : utf8.encode(value).length;
  if (bytes > maxBytes) {
    throw new InvalidArgumentError(`journal: ${name} has ${bytes} bytes, and at most ${maxBytes} can be stored`);
  }
}

function assertStorable(name: string, value: string): void {
  if (typeof value !== "string") throw new InvalidArgumentError(`journal: ${name} must be a string`);
  // Databases cut text off at U+0000 or refuse it, and store all lone surrogates as one character: two keys would become one.
  if (value.includes("\0") || !value.isWellFormed()) {
    throw new InvalidArgumentError(
      `journal: ${name} contains U+0000 or a lone surrogate, which can't be stored exactly`,
    );
  }
}

function assertWhole(name: string, value: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return;
  throw new InvalidArgumentError(`journal: ${name} must be a whole number from 1 to ${max}`);
}
