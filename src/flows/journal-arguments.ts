import { InvalidArgumentError } from "../errors/errors.js";
import type { JournalState, LeaseRequest } from "./journal.js";

const longestLeaseMs = 2 ** 31 - 1;

/** @throws {InvalidArgumentError} for a key that not every journal can store exactly. The message does not show the key. */
export function assertKey(key: string): void {
  assertText("key", key, 1, 1024);
}

/** @throws {InvalidArgumentError} for a state that not every journal can store exactly. */
export function assertState(state: JournalState): void {
  assertText("phase", state.phase, 1, 128);
  assertStorable("data", state.data);
  if (typeof state.settled !== "boolean") throw new InvalidArgumentError("journal: settled must be a boolean");
}

export function assertLease(lease: LeaseRequest): void {
  assertText("owner", lease.owner, 0, 1024);
  assertLeaseMs(lease.leaseMs);
}

export function assertLeaseMs(leaseMs: number): void {
  assertWhole("leaseMs", leaseMs, longestLeaseMs);
}

export function assertEpoch(epoch: number): void {
  assertWhole("epoch", epoch, Number.MAX_SAFE_INTEGER);
}

export function assertQuery(query: {
  readonly phase: string;
  readonly after?: string | undefined;
  readonly limit: number;
}): void {
  assertText("phase", query.phase, 1, 128);
  assertAfter(query.after);
  assertWhole("limit", query.limit, longestLeaseMs);
}

export function assertAfter(after: string | undefined): void {
  if (after !== undefined) assertText("after", after, 0, 1024);
}

const utf8 = new TextEncoder();

function assertText(name: string, value: string, minBytes: number, maxBytes: number): void {
  assertStorable(name, value);
  const bytes = utf8.encode(value).length;
  if (bytes < minBytes) throw new InvalidArgumentError(`journal: ${name} must not be empty`);
  if (bytes > maxBytes) {
    throw new InvalidArgumentError(`journal: ${name} has ${bytes} bytes, and at most ${maxBytes} can be stored`);
  }
}

function assertStorable(name: string, value: string): void {
  if (typeof value !== "string") throw new InvalidArgumentError(`journal: ${name} must be a string`);
  // Databases cut text off at U+0000 or refuse it, and store all lone surrogates as one character: two keys would become one.
  if (value.includes("\0") || /\p{Surrogate}/u.test(value)) {
    throw new InvalidArgumentError(
      `journal: ${name} contains U+0000 or a lone surrogate, which can't be stored exactly`,
    );
  }
}

function assertWhole(name: string, value: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return;
  throw new InvalidArgumentError(`journal: ${name} must be a whole number from 1 to ${max}`);
}
