import { afterEach, expect, it, vi } from "vitest";
import { MemoryJournal } from "../../src/flows/memory-journal.js";

const checker = "../../src/testing/history/check-history.js";

afterEach(() => {
  vi.doUnmock(checker);
  vi.resetModules();
});

it("says of a history with too many orders that it was not checked", async () => {
  const undecided = { key: "a flow", operations: [], origins: [] };
  vi.doMock(checker, () => ({ checkHistory: () => ({ unexplained: [undecided] }), describeUnexplained: () => "" }));
  vi.resetModules();
  const { verifyJournal } = await import("../../src/testing/verify-journal.js");
  let nowMs = Date.now();
  const journal = new MemoryJournal({ nowMs: () => nowMs });
  const wait = async (ms: number) => {
    nowMs += ms;
  };
  const { notChecked } = await verifyJournal(async () => journal, { wait });
  expect(notChecked[0]).toBe("1 histories have too many orders: needs fewer workers");
});
