import type { Journal } from "cross-border-payments/flow";
import { expect } from "vitest";
import { begin, newLease, state } from "./journal-fixture.js";

const atMs = 1_700_000_000_000;
const scope = { service: "service.example", gateway: "gateway-1" };

/** Checks that the flows of `release-0-3.ts` are there, under the service's host, and that held ones can be decided. */
export async function expectMigrated(journal: Journal): Promise<void> {
  const { entries, counts } = await journal.list({ scope, limit: 10, counts: true });
  const times = { createdAtMs: atMs, leaseUntilMs: undefined };
  const held = { key: "held", scope, epoch: 2, revision: 4, phase: "held", data: "é held", updatedAtMs: atMs + 100 };
  expect(entries).toMatchObject([
    { ...held, ...times },
    { key: "paid", scope, epoch: 1, revision: 3, phase: "paid", data: "paid", updatedAtMs: atMs + 200, ...times },
  ]);
  expect(counts.map(({ phase, flows }) => `${phase} ${flows}`).sort()).toEqual(["held 1", "paid 1"]);
  expect(await journal.read("pruned")).toMatchObject({ phase: "declined", data: "", prunedAtMs: atMs + 300 });
  expect(await journal.read("quote")).toBeUndefined();
  expect(await journal.acquireAbandoned(scope, newLease(), undefined)).toBeUndefined();
  const lease = newLease();
  const taken = await journal.acquire("held", lease);
  expect(taken).toMatchObject({ epoch: 3, revision: 4, nonce: lease.nonce });
  if (taken) expect(await journal.write("held", taken, { ...state, phase: "refused" })).toBe(true);
  expect(await journal.prune({ settledBeforeMs: atMs + 1000 })).toEqual({ settled: 1, quoted: 0 });
  expect((await begin(journal, "new")).revision).toBe(1);
}
