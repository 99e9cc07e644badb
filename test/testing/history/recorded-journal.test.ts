import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import type { HistoryEvent } from "../../../src/testing/history/history.js";
import { recordedJournal } from "../../../src/testing/history/recorded-journal.js";
import { begin, failure, newLease, scope, state } from "../../journals/journal-fixture.js";

function record(journal: Journal) {
  const events: HistoryEvent[] = [];
  let time = 0;
  const nowMs = () => {
    time += 1;
    return time;
  };
  const recorded = recordedJournal(journal, { client: "one", record: (event) => events.push(event), nowMs });
  return { recorded, events, calls: () => events.flatMap((event) => ("call" in event ? [event.call.name] : [])) };
}

it("returns what the journal returns, and records what a history is made of", async () => {
  const { recorded, events, calls } = record(new MemoryJournal());
  const entry = await begin(recorded, "k");
  expect(await recorded.read("k")).toMatchObject({ key: "k", revision: 1 });
  expect(await recorded.renew("k", entry, 60_000)).toBe(true);
  expect(await recorded.write("k", entry, { ...state, phase: "quoted", settled: true, quoteTtlMs: 60_000 })).toBe(true);
  const fenced = await recorded.fenceQuote("k", { ...entry, revision: 2 }, "fence");
  expect(fenced).toMatchObject({ revision: 3, nonce: "fence" });
  const seen = fenced ?? entry;
  const next = await recorded.replaceQuote("k", seen, state, newLease(), false);
  expect(next).toMatchObject({ phase: state.phase, epoch: 3 });
  await recorded.release("k", next ?? seen);
  expect(await recorded.acquireAbandoned(scope, newLease(), undefined)).toMatchObject({ key: "k", epoch: 4 });
  expect(await recorded.acquire("k", newLease())).toBeUndefined();
  expect(await recorded.list({ scope, limit: 10 })).toHaveLength(1);
  expect(await recorded.overlong({ scope, limit: 10 })).toEqual([]);
  expect(await recorded.counts(scope)).toEqual({ [state.phase]: 1 });
  expect(await recorded.scopes()).toEqual([expect.objectContaining(scope)]);
  expect(await recorded.prune({ settledBeforeMs: 1 })).toEqual({ settled: 0, quoted: 0 });
  await recorded.close();
  // What a list shows of a flow is a read of it. Counts say nothing of a single flow.
  expect(calls()).toEqual([
    ...["begin", "read", "renew", "write", "fenceQuote", "replaceQuote", "release", "acquireAbandoned", "acquire"],
    ...["read", "prune"],
  ]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(calls().length);
});

it("records whether an operation that failed may have been carried out", async () => {
  const failing = new MemoryJournal();
  const { recorded, events } = record(failing);
  const entry = await begin(recorded, "k");
  failing.write = () => Promise.reject(Object.assign(new Error("refused"), { stored: "nothing" }));
  failing.renew = () => Promise.reject(new Error("no response"));
  events.length = 0;
  expect(await failure(recorded.write("k", entry, state))).toMatchObject({ message: "refused" });
  expect(await failure(recorded.renew("k", entry, 1))).toMatchObject({ message: "no response" });
  expect(events.filter((event) => "failed" in event)).toMatchObject([{ failed: "nothing" }, { failed: "unknown" }]);
});
