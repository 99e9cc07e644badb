import { MemoryJournal } from "cross-border-payments/flow";
import { verifyJournal } from "cross-border-payments/testing";
import { expect, it } from "vitest";

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
  await journal.begin("order-1", { phase: "created", settled: false, data: "{}" }, { owner: "one", leaseMs: 1000 });
  await journal.close();
  expect((await journal.read("order-1"))?.phase).toBe("created");
});

it("gives entries that change nothing when they are changed", async () => {
  const journal = new MemoryJournal();
  const { entry } = await journal.begin(
    "k",
    { phase: "p", settled: false, data: "{}" },
    { owner: "one", leaseMs: 1000 },
  );
  Object.assign(entry, { data: "changed" });
  expect((await journal.read("k"))?.data).toBe("{}");
});
