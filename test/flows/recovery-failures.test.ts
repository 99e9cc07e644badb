import { JournalError, MemoryJournal } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { boundJournal } from "./bound-journal.js";
import { closed, flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

/** Long enough for a busy machine. */
const leaseMs = 60_000;

/** What `recover` yields, and what it rejects with in the end. */
async function recovered<T>(flows: AsyncIterable<T>): Promise<{ readonly outcomes: T[]; readonly errors: unknown[] }> {
  const outcomes: T[] = [];
  try {
    for await (const outcome of flows) outcomes.push(outcome);
    return { outcomes, errors: [] };
  } catch (error) {
    return { outcomes, errors: (error as AggregateError).errors };
  }
}

describe("a journal that fails while flows are taken over", () => {
  it.each([
    ["at the first flow", 0, "recover: the journal failed"],
    ["after another", 1, 'recover: the journal failed after key "a"'],
  ])("is reported %s with what it threw, after what was taken over", async (_, after, message) => {
    const { flow, journal } = await flowFixture();
    await errorOf(flow({ takeFunds: closed }).run("a", request));
    const cause = new Error("the disk is full");
    let asked = 0;
    const failing = boundJournal(journal, {
      acquireAbandoned: (...args) => {
        asked += 1;
        return asked > after ? Promise.reject(cause) : journal.acquireAbandoned(...args);
      },
    });
    const { outcomes, errors } = await recovered(flow({ journal: failing, leaseMs }).recover());
    expect(outcomes.map(({ key }) => key)).toEqual(after === 0 ? [] : ["a"]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(JournalError);
    expect(errors[0]).toMatchObject({ code: "journal_failed", message, cause });
  });

  it("is reported as it says itself", async () => {
    const { flow, journal } = await flowFixture();
    const error = new JournalError("the connection broke", { stored: "unknown" });
    const failing = boundJournal(journal, { acquireAbandoned: () => Promise.reject(error) });
    expect(await recovered(flow({ journal: failing }).recover())).toEqual({ outcomes: [], errors: [error] });
  });
});

it("says of every flow that failed why, on a line of its own", async () => {
  const { flow } = await flowFixture();
  for (const key of ["a", "b"]) await errorOf(flow({ takeFunds: closed }).run(key, request));
  const { message, errors } = await errorOf<AggregateError>(all(flow({ takeFunds: closed, leaseMs }).recover()));
  expect(message.split("\n")).toEqual(errors.map((error) => error.message));
  expect(errors).toMatchObject([{ key: "a" }, { key: "b" }]);
});

it("takes over nothing when it was told to stop before it began", async () => {
  const { flow, sandbox, bank } = await flowFixture();
  await errorOf(flow({ takeFunds: closed }).run("k", request));
  const stopped = flow({ leaseMs }).recover({ signal: AbortSignal.abort() });
  expect(await recovered(stopped)).toEqual({ outcomes: [], errors: [] });
  expect([bank.calls, sandbox.payments]).toEqual([0, []]);
});

it("makes no payment of a flow that it got when it had been told to stop, frees it for others, and asks for no more", async () => {
  const { flow, journal, sandbox } = await flowFixture();
  for (const key of ["k", "l"]) await errorOf(flow({ takeFunds: closed }).run(key, request));
  const stop = new AbortController();
  let asked = 0;
  const stopping = boundJournal(journal, {
    acquireAbandoned: async (...args) => {
      asked += 1;
      const entry = await journal.acquireAbandoned(...args);
      stop.abort();
      return entry;
    },
  });
  const { outcomes, errors } = await recovered(flow({ journal: stopping, leaseMs }).recover({ signal: stop.signal }));
  expect(outcomes).toEqual([]);
  expect(errors).toMatchObject([{ code: "flow_paused", key: "k", cause: { code: "aborted" } }]);
  expect([asked, sandbox.payments]).toEqual([1, []]);
  expect((await recovered(flow({ leaseMs }).recover())).outcomes).toMatchObject([
    { key: "k", status: "paid" },
    { key: "l", status: "paid" },
  ]);
});

it("reports another gateway's flow that its journal gives it all the same, and pays nothing of it", async () => {
  const { flow, journal, sandbox } = await flowFixture();
  await errorOf(flow({ takeFunds: closed, gatewayId: "alpha-bank" }).run("k", request));
  const mixing = boundJournal(journal, {
    acquireAbandoned: (scope, ...args) => journal.acquireAbandoned({ ...scope, gateway: "alpha-bank" }, ...args),
  });
  const { outcomes, errors } = await recovered(flow({ journal: mixing, gatewayId: "gamma-bank", leaseMs }).recover());
  expect(outcomes).toEqual([]);
  expect(errors).toMatchObject([{ code: "flow_paused", key: "k", cause: { code: "flow_foreign" } }]);
  expect(sandbox.payments).toEqual([]);
});

it("reports a flow that can't be read, and frees it", async () => {
  const { flow } = await flowFixture();
  const journal = new MemoryJournal();
  const scope = { service: "https://service.test", gateway: "alpha-bank" };
  const state = { phase: "claimed", settled: false, data: "?", evidence: "" };
  await journal.begin("k", scope, state, { owner: "o", leaseMs: 100, nonce: "n" });
  await journal.release("k", { epoch: 1, nonce: "n" });
  const { outcomes, errors } = await recovered(flow({ journal }).recover());
  expect(outcomes).toEqual([]);
  expect(errors).toMatchObject([{ code: "flow_paused", key: "k", cause: { code: "flow_unreadable" } }]);
  expect((await journal.read("k"))?.leaseUntilMs).toBeUndefined();
});
