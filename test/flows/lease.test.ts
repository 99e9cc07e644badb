import { MemoryJournal } from "cross-border-payments/flow";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { Lease, LeaseLost } from "../../src/flows/lease.js";
import { now } from "../../src/timing/timestamp.js";

const leaseMs = 30_000;
const scope = { service: "https://service.test", gateway: "alpha-bank" };
const state = { phase: "claimed", settled: false, data: "{}", evidence: "" };
const request = { path: "/payments", body: "{}", signature: "c2ln" };

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

async function leaseFixture() {
  const journal = new MemoryJournal();
  const askedAt = now();
  const { entry } = await journal.begin("k", scope, state, { owner: "a process", leaseMs, nonce: "n" });
  const lease = new Lease(journal, entry, leaseMs, askedAt);
  onTestFinished(() => lease.end());
  return { journal, entry, lease };
}

it("gives a claim a whole lease, less a margin, however long the flow has been owned", async () => {
  const { lease } = await leaseFixture();
  vi.advanceTimersByTime(9_000);
  const { wallMs, monotonicMs } = now();
  const claim = { ...request, ...lease.beginClaim() };
  await lease.writeClaim(state);
  expect(claim).toMatchObject({ epoch: 1, claimedAtMs: wallMs, sendByMs: wallMs + 29_000 });
  expect(lease.sendBy(claim)).toEqual({ wallMs: wallMs + 29_000, monotonicMs: monotonicMs + 29_000 });
});

it("does not give a claim more time when the lease is renewed", async () => {
  const { lease } = await leaseFixture();
  const claim = { ...request, ...lease.beginClaim() };
  await lease.writeClaim(state);
  const first = lease.sendBy(claim);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(lease.sendBy(claim)).toEqual(first);
});

it("lets nobody send a claim that was not made under this very lease", async () => {
  const { journal, entry, lease } = await leaseFixture();
  const claim = { ...request, ...lease.beginClaim() };
  const other = new Lease(journal, entry, leaseMs, now());
  onTestFinished(() => other.end());
  expect(lease.sendBy({ ...claim, epoch: 2 })).toBeUndefined();
  expect(other.sendBy(claim)).toBeUndefined();
});

it("is lost once a renewal finds another owner", async () => {
  const { journal, lease } = await leaseFixture();
  await journal.release("k", lease.id);
  await journal.acquire("k", { owner: "another process", leaseMs, nonce: "m" });
  let isLost = false;
  lease.lost.listen(() => {
    isLost = true;
  });
  expect(isLost).toBe(false);
  await vi.advanceTimersByTimeAsync(leaseMs / 3);
  expect(isLost).toBe(true);
  await expect(lease.renew()).rejects.toBeInstanceOf(LeaseLost);
});

it.each([
  ["throws at once", () => expect.fail("the journal is closed")],
  ["rejects", async () => expect.fail("the journal is closed")],
  ["returns no promise", () => undefined],
])("ends by itself where the journal's release %s", async (_, release) => {
  const { journal, entry } = await leaseFixture();
  const broken = Object.assign(Object.create(journal) as MemoryJournal, { release });
  await expect(new Lease(broken, entry, leaseMs, now()).end()).resolves.toBeUndefined();
});
