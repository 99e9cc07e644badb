import { type Journal, JournalError } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { boundJournal } from "./bound-journal.js";
import { afterPayment, flowFixture, isPayment, onPayment, refusal, request } from "./flow-fixture.js";
import { LateJournal, unanswered } from "./late-journal.js";
import { all, errorOf } from "./results.js";

/** Long enough for a busy machine: a lease that has lapsed leads elsewhere. */
const leaseMs = 30_000;

const services = {
  "is accepted": {},
  "is accepted, and its response lost": afterPayment(() => Response.error()),
  "is refused": onPayment(refusal),
} as const;

describe.each([
  ["is accepted", "paid", ["claimed", "paid"]],
  ["is accepted, and its response lost", "paid", ["claimed", "unknown", "paid"]],
  ["is refused", "rejected", ["claimed", "unknown", "refused", "rejected"]],
] as const)("where the payment %s, a flow that was told %s", (service, status, phases) => {
  it.each([...phases.map((phase) => [phase] as const), ["every phase"]] as const)(
    "stays so when the first copy of each write of %s arrives afterwards",
    async (phase) => {
      const { flow, sandbox, bank, journal: store } = await flowFixture(services[service]);
      const late = new LateJournal(store, (written) => phase === "every phase" || written === phase);
      expect(await flow({ journal: late.journal, leaseMs }).run("k", request)).toMatchObject({ status });
      const before = await store.read("k");
      const outcome = await flow().outcome("k");
      expect(await late.arrive()).toBeGreaterThan(0);
      expect(await store.read("k")).toEqual(before);
      expect(await flow().outcome("k")).toEqual(outcome);
      expect(await all(flow().recover())).toEqual([]);
      expect(await flow().run("k", request)).toEqual(outcome);
      expect([sandbox.payments.length, bank.released]).toEqual(status === "paid" ? [1, []] : [0, ["k"]]);
    },
  );
});

it("repeats a write with the very same state, and the revision that it replaces", async () => {
  const { flow, journal: store } = await flowFixture(services["is accepted, and its response lost"]);
  const { journal, writes } = new LateJournal(store, () => true);
  await flow({ journal, leaseMs }).run("k", request);
  const revisions = writes.map(([, { revision }]) => revision);
  expect(revisions).toEqual([1, 1, 2, 2, 3, 3]);
  for (const index of [0, 2, 4]) expect(writes[index + 1]).toEqual(writes[index]);
});

describe.each(["claimed", "unknown", "paid"])("an owner whose write of %s is never answered", (phase) => {
  it("hands over nothing else, pauses, and frees the flow for another, whom a late copy does not hurt", async () => {
    const service = phase === "unknown" ? services["is accepted, and its response lost"] : {};
    const { flow, sandbox, bank, journal: store } = await flowFixture(service);
    const handed: Parameters<Journal["write"]>[] = [];
    const journal = boundJournal(store, {
      write: async (...args) => {
        if (args[2].phase !== phase && handed.length === 0) return store.write(...args);
        handed.push(args);
        throw unanswered();
      },
    });
    const error = await errorOf(flow({ journal, leaseMs: 3000 }).run("k", request));
    expect(error).toMatchObject({ code: "flow_paused", effect: "possible" });
    expect(handed.length).toBeGreaterThan(1);
    for (const args of handed) expect(args).toEqual(handed[0]);
    expect(sandbox.payments).toHaveLength(phase === "claimed" ? 0 : 1);
    expect((await store.read("k"))?.leaseUntilMs).toBeUndefined();
    // Where the claim was never stored, whoever is next waits for as long as one might be on its way.
    expect(await flow({ leaseMs: 1000 }).run("k", request)).toMatchObject({ status: "paid" });
    const before = await store.read("k");
    for (const args of handed) expect(await store.write(...args)).toBe(false);
    expect(await store.read("k")).toEqual(before);
    expect([sandbox.payments.length, bank.released]).toEqual([1, []]);
  });
});

it("writes nothing about a failure after a write that was not answered, even where the journal is back", async () => {
  const { flow, sandbox, journal: store } = await flowFixture();
  const phases: string[] = [];
  let isAway = true;
  const journal = boundJournal(store, {
    write: async (...args) => {
      phases.push(args[2].phase);
      if (phases.length > 2) isAway = false;
      if (isAway) throw unanswered();
      // The first copies are on their way, and the third one is refused: it never was stored.
      throw new JournalError("the disk is full", { stored: "nothing" });
    },
  });
  const error = await errorOf(flow({ journal, leaseMs }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", effect: "possible", cause: { stored: "unknown" } });
  expect([phases, sandbox.payments]).toEqual([["claimed", "claimed", "claimed"], []]);
});

it("sends a claim within the lease of the copy that was handed over first, or not at all", async () => {
  const shortMs = 600;
  const { flow, sandbox, journal: store } = await flowFixture();
  let isFirst = true;
  const journal = boundJournal(store, {
    write: async (...args) => {
      const isStored = await store.write(...args);
      if (!isFirst) return isStored;
      isFirst = false;
      // The heartbeat renews the lease meanwhile, which does not prolong the claim.
      await new Promise((resolve) => setTimeout(resolve, shortMs));
      throw unanswered();
    },
  });
  const error = await errorOf(flow({ journal, leaseMs: shortMs }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused" });
  expect(sandbox.requests.filter(isPayment)).toEqual([]);
  expect(await flow({ leaseMs }).run("k", request)).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
});

it("sends a claim whose first copy was stored, and the answer lost, once its repetition was answered", async () => {
  const { flow, sandbox, journal: store } = await flowFixture();
  let isFirst = true;
  const journal = boundJournal(store, {
    write: async (...args) => {
      const isStored = await store.write(...args);
      if (!isFirst) return isStored;
      isFirst = false;
      throw unanswered();
    },
  });
  expect(await flow({ journal, leaseMs }).run("k", request)).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
});
