import { MemoryJournal } from "cross-border-payments/flow";
import { verifyJournal } from "cross-border-payments/testing";
import { expect, it, vi } from "vitest";
import { CheckedJournal } from "../../src/flows/checked-journal.js";
import { begin, newLease, scope, state } from "../journals/journal-fixture.js";
import { boundJournal } from "./bound-journal.js";

const quote = (quoteTtlMs: number) => ({ ...state, phase: "quoted", settled: true, quoteTtlMs });

it("keeps the laws of a journal, by a clock of the test's", async () => {
  let nowMs = 1_700_000_000_000;
  const journal = new MemoryJournal({ nowMs: () => nowMs });
  const same = async () => journal;
  const wait = async (ms: number) => {
    nowMs += ms;
  };
  const report = await verifyJournal(same, { openSecond: same, reopen: same, wait });
  expect(report.held.length).toBeGreaterThan(20);
});

it("keeps what it holds when it is closed, for the next flow of the test", async () => {
  const journal = new MemoryJournal();
  const entry = await begin(journal, "order-1");
  await journal.close();
  expect(entry).toMatchObject((await journal.read("order-1")) ?? {});
});

it("hands on what it has checked to what stores it, to the end", async () => {
  const close = vi.fn(async () => {});
  const store = boundJournal(new MemoryJournal(), { close });
  await new (class extends CheckedJournal {})(store).close();
  expect(close).toHaveBeenCalledOnce();
});

it("has a promise fail where what stores it throws at once", async () => {
  const store = boundJournal(new MemoryJournal(), {
    read: () => {
      throw new Error("no disk");
    },
  });
  const reading = new (class extends CheckedJournal {})(store).read("k");
  await expect(reading).rejects.toThrow("no disk");
});

it("gives entries that change nothing when they are changed", async () => {
  const journal = new MemoryJournal();
  const entry = await begin(journal, "k");
  Object.assign(entry, { data: "changed" });
  expect((await journal.read("k"))?.data).toBe("{}");
});

it("takes a quote's time for over from its last millisecond on", async () => {
  let nowMs = 1000;
  const journal = new MemoryJournal({ nowMs: () => nowMs });
  await journal.begin("k", scope, quote(500), newLease());
  const isExpired = async () => (await journal.read("k"))?.isExpired;
  nowMs = 1499;
  expect(await isExpired()).toBe(false);
  nowMs = 1500;
  expect(await isExpired()).toBe(true);
});

it("refuses to replace a quote under a lease that is none", async () => {
  const journal = new MemoryJournal();
  const { entry } = await journal.begin("k", scope, quote(500), newLease());
  const work = journal.replaceQuote("k", entry, quote(500), { ...newLease(), nonce: "" }, undefined);
  await expect(work).rejects.toThrow("nonce must not be empty");
  expect(entry).toMatchObject((await journal.read("k")) ?? {});
});

it("deletes only quotes whose time was over before the given one", async () => {
  const journal = new MemoryJournal({ nowMs: () => 1000 });
  for (const quoteTtlMs of [499, 500]) {
    await journal.begin(`for ${quoteTtlMs} ms`, scope, quote(quoteTtlMs), newLease());
  }
  expect(await journal.prune({ quotedBeforeMs: 1500 })).toEqual({ settled: 0, quoted: 1 });
  expect((await journal.list({ scope, limit: 9 })).map(({ key }) => key)).toEqual(["for 500 ms"]);
});
