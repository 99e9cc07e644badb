import { JournalError, MemoryJournal } from "cross-border-payments/flow";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Lease, LeaseLost } from "../../../src/flows/ownership/lease.js";
import { clock } from "../../../src/timing/clock.js";
import { now } from "../../../src/timing/timestamp.js";

const leaseMs = 30_000;
const scope = { service: "https://service.test", gateway: "alpha-bank" };
const state = { phase: "claimed", settled: false, data: "{}", evidence: "" };
const request = { path: "/payments", body: "{}", signature: "c2ln" };

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

async function leaseFixture() {
  let aheadMs = 0;
  const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const askedAt = now();
  const { entry } = await journal.begin("k", scope, state, { owner: "a process", leaseMs, nonce: "n" });
  const lease = new Lease(journal, entry, leaseMs, askedAt);
  onTestFinished(() => lease.end());
  return {
    journal,
    entry,
    lease,
    /** Another process gets the flow, for which the lease has ended before it does here. */
    takeOver: async () => {
      aheadMs = leaseMs;
      expect(await journal.acquire("k", { owner: "another process", leaseMs, nonce: "m" })).toBeDefined();
    },
  };
}

/** Lets time pass while a process stands still: no timer goes off. */
function standStill(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
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

describe("a flow that another owner has by now", () => {
  it.each<[string, (lease: Lease) => Promise<unknown>]>([
    ["is renewed", (lease) => lease.renew()],
    ["is written", (lease) => lease.write(state)],
    ["is claimed", (lease) => lease.writeClaim(state)],
  ])("is lost when it %s, whatever its owner's clock says, and nobody renews it any more", async (_, work) => {
    const { journal, lease, takeOver } = await leaseFixture();
    await takeOver();
    const lost = vi.fn();
    lease.lost.listen(lost);
    expect(lease.isAlive).toBe(true);
    await expect(work(lease)).rejects.toBeInstanceOf(LeaseLost);
    expect([lost.mock.calls.length, lease.isAlive]).toEqual([1, false]);
    const renew = vi.spyOn(journal, "renew");
    await vi.advanceTimersByTimeAsync(3 * leaseMs);
    expect(renew).not.toHaveBeenCalled();
  });

  it("is not renewed any more once its heartbeat found it lost, nor once it ended while one was under way", async () => {
    for (const isLost of [true, false]) {
      const { journal, lease, takeOver } = await leaseFixture();
      if (isLost) await takeOver();
      const renew = vi.spyOn(journal, "renew");
      vi.advanceTimersByTime(leaseMs / 3);
      if (!isLost) await lease.end();
      await vi.advanceTimersByTimeAsync(3 * leaseMs);
      expect(renew).toHaveBeenCalledTimes(1);
    }
  });
});

describe("a lease whose time is over to the millisecond", () => {
  it("is not alive, and makes no claim", async () => {
    const { lease } = await leaseFixture();
    standStill(leaseMs - 1);
    expect(lease.isAlive).toBe(true);
    standStill(1);
    expect(lease.isAlive).toBe(false);
    await expect(lease.writeClaim(state)).rejects.toBeInstanceOf(LeaseLost);
  });

  it("is retaken once, and is whole again", async () => {
    const { lease } = await leaseFixture();
    standStill(leaseMs - 1);
    expect(await lease.retake()).toBe(false);
    standStill(1);
    expect([await lease.retake(), await lease.retake(), lease.isAlive]).toEqual([true, false, true]);
    const claim = { ...request, ...lease.beginClaim() };
    await lease.writeClaim(state);
    expect(lease.sendBy(claim)).toMatchObject({ wallMs: claim.sendByMs });
  });

  it("has lapsed, although it was renewed since: what may have happened meanwhile is looked for", async () => {
    const { lease } = await leaseFixture();
    const claim = { ...request, ...lease.beginClaim() };
    await lease.writeClaim(state);
    standStill(leaseMs);
    await lease.renew();
    await lease.renew();
    expect(lease.isAlive).toBe(true);
    expect(lease.sendBy(claim)?.wallMs).toBeLessThan(Date.now());
    await expect(lease.writeClaim(state)).rejects.toBeInstanceOf(LeaseLost);
    expect(await lease.retake()).toBe(true);
  });

  it("has lapsed, although the clock that said so was set back since", async () => {
    const { lease } = await leaseFixture();
    const claim = { ...request, ...lease.beginClaim() };
    await lease.writeClaim(state);
    standStill(leaseMs);
    await lease.renew();
    standStill(-leaseMs);
    expect(lease.sendBy(claim)?.wallMs).toBeLessThan(Date.now());
  });

  it("is this owner's anew from its renewal on, and no later one", async () => {
    const { lease } = await leaseFixture();
    vi.advanceTimersByTime(1000);
    standStill(leaseMs);
    await lease.renew();
    const { monotonicMs } = now();
    expect(lease.ownedSinceMs).toBe(monotonicMs);
    vi.advanceTimersByTime(1000);
    await lease.renew();
    expect(lease.ownedSinceMs).toBe(monotonicMs);
  });
});

describe("a write that was not answered", () => {
  const [next, another] = ["1", "2"].map((data) => ({ ...state, data })) as [typeof state, typeof state];
  const failure = (stored: "unknown" | "nothing") => new JournalError("the connection broke", { stored });

  it("is the only one until it is: nothing else is handed to the journal", async () => {
    const { journal, lease } = await leaseFixture();
    const write = vi.spyOn(journal, "write").mockRejectedValueOnce(failure("unknown"));
    await expect(lease.write(next)).rejects.toMatchObject({ stored: "unknown" });
    await expect(lease.write(another)).rejects.toMatchObject({ code: "journal_failed", stored: "unknown" });
    expect(write).toHaveBeenCalledTimes(1);
    await lease.write(next);
    await lease.write(another);
    expect(await journal.read("k")).toMatchObject({ data: "2", revision: 3 });
  });

  it("stays so where its repetition is refused, and is none where it was refused itself", async () => {
    const { journal, lease } = await leaseFixture();
    vi.spyOn(journal, "write")
      .mockRejectedValueOnce(failure("nothing"))
      .mockRejectedValueOnce(failure("unknown"))
      .mockRejectedValueOnce(failure("nothing"));
    await expect(lease.write(next)).rejects.toMatchObject({ stored: "nothing" });
    await expect(lease.write(another)).rejects.toMatchObject({ stored: "unknown" });
    await expect(lease.write(another)).rejects.toMatchObject({ stored: "nothing" });
    await expect(lease.write(next)).rejects.toMatchObject({ stored: "unknown" });
  });

  it("is repeated as it was handed over, whatever its owner has learned since", async () => {
    const { journal, lease } = await leaseFixture();
    const write = vi.spyOn(journal, "write").mockRejectedValueOnce(failure("unknown"));
    await expect(lease.write(next)).rejects.toBeInstanceOf(JournalError);
    lease.noteKnowsAllClaims();
    await lease.write(next);
    await lease.write(another);
    const [first, second, third] = write.mock.calls;
    expect(second).toEqual(first);
    expect([first, third].map((args) => args?.[2].incarnationMark !== undefined)).toEqual([false, true]);
  });

  it("renews the lease of a claim from when its first copy was handed over", async () => {
    const { journal, lease } = await leaseFixture();
    const startMs = Date.now();
    vi.spyOn(journal, "write").mockRejectedValueOnce(failure("unknown"));
    lease.beginClaim();
    await expect(lease.writeClaim(next)).rejects.toBeInstanceOf(JournalError);
    standStill(9_000);
    await lease.writeClaim(next);
    expect(lease.isAlive).toBe(true);
    standStill(startMs + leaseMs - Date.now());
    expect(lease.isAlive).toBe(false);
  });
});

describe("the journal's time", () => {
  it("is that of the journal's clock, however far it is from this process's", async () => {
    const { journal, entry } = await leaseFixture();
    const lease = new Lease(journal, { ...entry, leaseUntilMs: 1_000_000 + leaseMs }, leaseMs, now());
    onTestFinished(() => lease.end());
    expect(lease.journalNowMs()).toBe(1_000_000);
    vi.advanceTimersByTime(500);
    expect(lease.journalNowMs()).toBe(1_000_500);
  });

  it("is this process's where the journal does not tell its own", async () => {
    const { journal, entry } = await leaseFixture();
    const { leaseUntilMs: _, ...untold } = entry;
    const lease = new Lease(journal, untold, leaseMs, now());
    onTestFinished(() => lease.end());
    expect(lease.journalNowMs()).toBe(Date.now());
  });
});

it("keeps no process from ending", async () => {
  const setTimer = vi.spyOn(clock, "setTimer");
  onTestFinished(() => setTimer.mockRestore());
  const { lease } = await leaseFixture();
  await vi.advanceTimersByTimeAsync(leaseMs / 3);
  const timers = setTimer.mock.results.map(({ value }) => value as NodeJS.Timeout);
  expect(timers.map((timer) => timer.hasRef())).toEqual([false, false]);
  await lease.end();
});
