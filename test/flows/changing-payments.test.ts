import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PaymentPages } from "../../src/payments/payment-pages.js";
import { type Ending, type PaymentGoal, PaymentReading } from "../../src/payments/read-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { runs } from "../support/thorough.js";
import { ChangingPayments, type ChangingTraits, type PaymentChange } from "./changing-payments.js";

const made = (count: number, from = 1): PaymentChange[] =>
  Array.from({ length: count }, (_, index) => ({ make: from + index }));

/** Whether a look says that a payment is absent that every replica lists. */
async function isLost(traits: ChangingTraits, since: ReturnType<ChangingPayments["markOf"]>) {
  const service = new ChangingPayments(traits);
  const { look, found } = await service.look(since);
  return { isLost: service.isListed && found === undefined && look.complete, look, requests: service.requested.length };
}

/** Does something once for each way in which two replicas can share the requests. */
async function behindTwoReplicas(work: (replicaOf: ChangingTraits["replicaOf"]) => Promise<void>): Promise<void> {
  for (let choices: number[] | undefined = []; choices !== undefined; ) {
    const chosen: number[] = [];
    const prefix: readonly number[] = choices;
    await work((request) => {
      chosen[request] = prefix[request] ?? 0;
      return chosen[request];
    });
    const next = chosen.lastIndexOf(0);
    choices = next < 0 ? undefined : [...chosen.slice(0, next), 1];
  }
}

async function looksBehindTwoReplicas(traits: Omit<ChangingTraits, "replicaOf">, mark: number | undefined) {
  const since = mark === undefined ? null : new ChangingPayments({ ...traits, replicaOf: () => 0 }).markOf(mark, mark);
  const ends = { found: 0, complete: 0, incomplete: 0, lost: 0 };
  await behindTwoReplicas(async (replicaOf) => {
    const { isLost: lost, look } = await isLost({ ...traits, replicaOf }, since);
    ends[lost ? "lost" : look.found ? "found" : look.complete ? "complete" : "incomplete"] += 1;
  });
  return ends;
}

/** Wants the payment with the number 0, and nothing that was made before so many changes. */
function goalFrom(change: number) {
  const fromMs = Date.UTC(2026, 0, 1) + 1000 * change;
  let oldestMs = Number.POSITIVE_INFINITY;
  const isOwn = ({ id }: Payment) => id === "p-0";
  const goal = {
    ending: undefined as Ending | undefined,
    begin: () => {
      oldestMs = Number.POSITIVE_INFINITY;
    },
    take: (page: readonly Payment[]) => {
      oldestMs = Math.min(oldestMs, ...page.map(({ createdAt }) => Date.parse(createdAt)));
      return page.some(isOwn);
    },
    notice: (page: readonly Payment[]) => page.some(isOwn),
    isEnough: () => oldestMs < fromMs,
    decidesFromMs: () => fromMs,
    end: (ending: Ending) => {
      goal.ending = ending;
    },
  };
  return goal satisfies PaymentGoal;
}

describe("a payment whose paging token grows while it is looked for", () => {
  // The flow's payment has newer ones behind it, changes, and one of the replicas does not know that yet.
  const worldOf = (before: number, behind: number, cap: number): Omit<ChangingTraits, "replicaOf"> => {
    const changes = [...made(before), { make: 0 }, ...made(behind, before + 1), { change: 0 }];
    return { changes, replicas: [changes.length - 1, changes.length], cap, tokensGrow: true };
  };

  it.each([
    ["to the end", 10, 25, 20, undefined],
    ["to the end, the oldest of all", 0, 25, 25, undefined],
    ["to the end, the oldest of all, of many pages", 0, 60, 25, undefined],
    ["to its mark", 30, 25, 20, 5],
    ["to its mark, of many pages", 30, 45, 20, 5],
    ["to the end, in one response", 10, 40, 1000, undefined],
  ])("is never absent, whichever replica responds to which request: %s", async (_, before, behind, cap, mark) => {
    const ends = await looksBehindTwoReplicas(worldOf(before, behind, cap), mark);
    if (process.env.CBP_LOOKS !== undefined) console.log(_, ends);
    expect(ends.lost).toBe(0);
    expect(ends.found).toBeGreaterThan(0);
  });

  const wholeSeconds = (updatedMs: number) =>
    new Date(Date.UTC(2026, 0, 1) + Math.floor(updatedMs / 1000) * 1000).toISOString();
  it.each<[string, Partial<ChangingTraits>]>([
    [
      "of a payment that never changed says that it did in the year 1",
      {
        updatedAt: (ms, hasChanged) =>
          hasChanged ? new Date(Date.UTC(2026, 0, 1) + ms).toISOString() : "0001-01-01T00:00:00Z",
      },
    ],
    ["is in whole seconds", { updatedAt: wholeSeconds, stepMs: 300 }],
    ["is in whole seconds without a fraction", { updatedAt: (ms) => `${wholeSeconds(ms).slice(0, 19)}Z`, stepMs: 300 }],
  ])("is never absent where updatedAt %s", async (_, more) => {
    // Two of those before it change now and then, so that not even the newest tokens go one way.
    const changes = [...made(10), { make: 0 }, ...made(14, 11), { change: 3 }, ...made(15, 25), { change: 20 }];
    changes.push({ change: 0 });
    const traits = { changes, replicas: [changes.length - 1, changes.length], cap: 20, tokensGrow: true, ...more };
    const ends = await looksBehindTwoReplicas(traits, undefined);
    expect(ends.lost).toBe(0);
    expect(ends.found).toBeGreaterThan(0);
  });

  it("is never absent where the newest ones show more than the list in the order of tokens, which an older replica ends", async () => {
    const changes = [...made(7), { make: 0 }, ...made(32, 8), { change: 0 }, { make: 1000 }];
    const replicas = [20, changes.length];
    // The older one knows one payment more than the page before, its last one.
    const service = new ChangingPayments({
      changes,
      replicas,
      cap: 19,
      tokensGrow: true,
      replicaOf: (request) => (request < 2 ? 1 : 0),
    });
    expect((await service.look(null)).look).toMatchObject({
      complete: false,
      problem: expect.stringContaining("a payment that is among the newest is not among all"),
    });
  });

  it("is never absent where the service refuses to sort by creation, and its page is full", async () => {
    for (const behind of [19, 20, 24, 25, 26]) {
      const ends = await looksBehindTwoReplicas({ ...worldOf(0, behind, 25), refusesCreation: true }, undefined);
      expect(ends.lost).toBe(0);
    }
  });

  it.each([
    ["the other one asks later", 28, 33],
    ["the other one asks first", 33, 28],
  ])("is never absent for who reads along with one that wants less: %s", async (_, one, other) => {
    const ends: Record<string, number> = {};
    const traits = worldOf(30, 45, 20);
    await behindTwoReplicas(async (replicaOf) => {
      const pages = new PaymentPages({ client: new ChangingPayments({ ...traits, replicaOf }).client });
      const goals = [one, other].map(goalFrom);
      await new PaymentReading(pages, { newestFirst: "createdAt.desc" }, goals).run();
      // It was made after thirty changes.
      const { at = "unproved" } = goals[one < other ? 0 : 1]?.ending ?? {};
      ends[at] = (ends[at] ?? 0) + 1;
    });
    expect(Object.keys(ends)).toContain("found");
    expect(ends).not.toHaveProperty("enough");
    expect(ends).not.toHaveProperty("end");
  });

  const worlds = fc
    .record({
      before: fc.integer({ min: 0, max: 60 }),
      behind: fc.integer({ min: 0, max: 60 }),
      // Later ones are made while others change.
      after: fc.array(
        fc.oneof(
          fc.record({ change: fc.nat(120) }),
          fc.constant({ change: 0 }),
          fc.record({ make: fc.integer({ min: 1000, max: 1100 }) }),
        ),
        { maxLength: 60 },
      ),
      lags: fc.array(fc.nat(60), { minLength: 2, maxLength: 3 }),
      schedule: fc.array(fc.nat(2), { minLength: 4, maxLength: 30 }),
      cap: fc.integer({ min: 2, max: 30 }),
      tokensGrow: fc.boolean(),
      mark: fc.option(fc.nat(1), { nil: undefined }),
    })
    // One page of fewer than twenty is taken for the whole list.
    .filter(({ before, behind, cap }) => cap >= 20 || before + behind > cap);

  it("is never absent, whatever else is made and changes, and whoever responds", async () => {
    const ends = { found: 0, complete: 0, incomplete: 0 };
    await fc.assert(
      fc.asyncProperty(worlds, async ({ before, behind, after, lags, schedule, cap, tokensGrow, mark }) => {
        const seen = new Set<number>();
        const once = after.filter(
          (change) => !("make" in change) || !(seen.has(change.make) || !seen.add(change.make)),
        );
        const changes = [...made(before), { make: 0 }, ...made(behind, before + 1), ...once];
        const replicas = lags.map((lag) => Math.max(before + 1, changes.length - lag));
        const replicaOf = (request: number) => (schedule[request % schedule.length] ?? 0) % replicas.length;
        const traits = { changes, replicas, replicaOf, cap, tokensGrow };
        const since =
          mark === undefined || before === 0 ? null : new ChangingPayments(traits).markOf(before - mark, before);
        const { isLost: lost, look } = await isLost(traits, since);
        ends[look.found ? "found" : look.complete ? "complete" : "incomplete"] += 1;
        expect(lost).toBe(false);
      }),
      { numRuns: Number(process.env.CBP_LOOKS ?? runs(2000)) },
    );
    if (process.env.CBP_LOOKS !== undefined) console.log(ends);
    expect(ends.found).toBeGreaterThan(0);
  });

  it.each([
    ["keep", false],
    ["grow", true],
  ])(
    "is absent for certain where it is not there, though others change, and their tokens %s",
    async (_, tokensGrow) => {
      // Each is processed three seconds after it was made.
      const changes = made(200, 1).flatMap((change, index) => [change, ...(index < 3 ? [] : [{ change: index - 2 }])]);
      const traits = { changes, replicas: [changes.length], replicaOf: () => 0, cap: 20, tokensGrow };
      const service = new ChangingPayments(traits);
      const { look } = await service.look(service.markOf(90, 180));
      expect(look).toMatchObject({ complete: true });
      const whole = new ChangingPayments(traits);
      expect((await whole.look(null)).look).toMatchObject({ complete: true, seen: 200 });
      if (process.env.CBP_LOOKS !== undefined) console.log(service.requested.length, whole.requested.length);
    },
  );

  it("is not certainly absent where the service lists fewer than change between the making and the change of one", async () => {
    // Each is processed a minute after it was made, in the order in which they were made.
    const changes = made(200).flatMap((change, index) => [change, ...(index < 30 ? [] : [{ change: index - 29 }])]);
    const traits = { changes, replicas: [changes.length], replicaOf: () => 0, cap: 20, tokensGrow: false };
    expect((await new ChangingPayments(traits).look(null)).look).toMatchObject({
      complete: false,
      problem: expect.stringContaining("paging token grew"),
    });
    // A service that lists more at once rules it out.
    expect((await new ChangingPayments({ ...traits, cap: 150 }).look(null)).look).toMatchObject({ complete: true });
  });
});
