import type { Journal, JournalEntry } from "cross-border-payments/flow";
import { expect } from "vitest";
import { begin, newLease, scope, state } from "./journal-fixture.js";

const atMs = 1_700_000_000_000;

/** Checks that the flows of `release-0-2.ts` are there, each as it was, and that they go on under the new rules. */
export async function expectMigrated(journal: Journal): Promise<void> {
  const claimed = await entryOf(journal, "claimed");
  expect(claimed).toMatchObject({
    ...{ scope, epoch: 3, nonce: "n", phase: "claimed", settled: false, data: "é claim", evidence: "" },
    ...{ createdAtMs: atMs, updatedAtMs: atMs + 400, owner: "old process", leaseUntilMs: atMs + 500, isExpired: false },
  });
  const running = await entryOf(journal, "running");
  expect(running.leaseUntilMs).toBe(4_000_000_000_000);
  expect(await journal.acquire("running", newLease())).toBeUndefined();
  expect(await journal.renew("running", running, 60_000)).toBe(true);
  expect(running).toMatchObject({ revision: 1, isOverlong: false });
  expect(running.leaseMs).toBeUndefined();
  expect(await journal.write("running", running, { ...state, phase: "claimed" }, 60_000)).toBe(true);
  expect(await journal.write("running", { epoch: 1, nonce: "another", revision: 1 }, state)).toBe(false);

  const keys = ["claimed", "held", "left", "paid", "running"];
  expect((await journal.list({ scope, limit: 10 })).map(({ key }) => key)).toEqual(keys);
  expect(await journal.counts(scope)).toEqual({ claimed: 2, unknown: 1, held: 1, paid: 1 });
  expect((await journal.list({ scope, phase: "held", limit: 10 })).map(({ data }) => data)).toEqual(["held"]);

  const lease = newLease();
  const taken = await journal.acquireAbandoned(scope, lease, undefined);
  expect(taken).toMatchObject({ key: "claimed", epoch: 4, nonce: lease.nonce, data: "é claim" });
  expect(await journal.write("claimed", claimed, state)).toBe(false);
  expect((await journal.acquireAbandoned(scope, newLease(), undefined))?.key).toBe("left");
  expect(await journal.acquireAbandoned(scope, newLease(), undefined)).toBeUndefined();

  expect(await journal.prune({ settledBeforeMs: atMs + 1000 })).toEqual({ settled: 1, quoted: 0 });
  expect(await entryOf(journal, "paid")).toMatchObject({ phase: "paid", data: "", prunedAtMs: expect.any(Number) });
  expect((await entryOf(journal, "held")).data).toBe("held");
  expect((await begin(journal, "new")).scope).toEqual(scope);
}

async function entryOf(journal: Journal, key: string): Promise<JournalEntry> {
  const entry = await journal.read(key);
  if (entry === undefined) throw new Error(`the flow ${key} is lost`);
  return entry;
}
