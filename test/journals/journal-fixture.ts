import { randomUUID } from "node:crypto";
import type { Journal, JournalEntry } from "cross-border-payments/flow";
import { expect } from "vitest";

export const scope = { service: "https://service.example", gateway: "gateway-1" };
export const state = { phase: "funds-requested", settled: false, data: "{}", evidence: "{}" };
export const newLease = () => ({ owner: "one", leaseMs: 60_000, nonce: randomUUID() });

export async function begin(journal: Journal, key: string, data = "{}"): Promise<JournalEntry> {
  const { entry, created } = await journal.begin(key, scope, { ...state, data }, newLease());
  expect(created).toBe(true);
  return entry;
}

/** The reason why a promise is rejected. */
export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable("it was fulfilled"),
    (error: unknown) => error,
  );
