import { CrossBorderError } from "cross-border-payments";
import { FlowPausedError, type Journal, MemoryJournal, type PaymentFlow } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { flowFixture, request } from "./flow-fixture.js";
import { errorOf } from "./results.js";

/** A memory journal that counts what it is asked for. */
class CountingJournal extends MemoryJournal {
  calls = 0;

  constructor() {
    super();
    const methods = ["begin", "read", "acquire", "acquireAbandoned", "renew", "write", "release", "list"] as const;
    for (const name of methods) {
      const method = this[name].bind(this) as (...given: unknown[]) => unknown;
      Object.assign(this, {
        [name]: (...given: unknown[]) => {
          this.calls += 1;
          return method(...given);
        },
      });
    }
  }
}

/** That nobody has the lease of a flow. */
async function expectFree(journal: Journal, key: string): Promise<void> {
  expect((await journal.read(key))?.leaseUntilMs).toBeUndefined();
}

/** Whatever is called for a key. */
const callsOf = (flow: PaymentFlow): Promise<unknown>[] => [
  flow.run("order-1", request),
  flow.quote("order-1", request),
  flow.confirm("order-1", { intentId: "intent-1" }),
  flow.cancel("order-1"),
  flow.resolve("order-1", "release", { by: "olga", why: "test" }),
];

it("starts nothing once it is closed, and writes nothing", async () => {
  const { flow, journal, bank } = await flowFixture();
  const closed = flow();
  await closed.close();
  for (const work of [...callsOf(closed), closed.recover().next(), closed.work()]) {
    expect(await errorOf(work)).toMatchObject({ code: "flow_closed", effect: "none" });
  }
  expect([await journal.read("order-1"), bank.calls]).toEqual([undefined, 0]);
});

/** A payment that was made, of which no response tells. */
async function lostPayment() {
  let isSent = false;
  const { flow, sandbox, client } = await flowFixture({
    onResponse: ({ operation }) => {
      if (operation !== "payments.create") return undefined;
      isSent = true;
      return Response.error();
    },
    onRequest: ({ operation }) => {
      return isSent && operation === "payments.list" ? new Response("", { status: 503 }) : undefined;
    },
  });
  const paying = flow({ client });
  await errorOf(paying.run("order-1", request));
  expect(sandbox.payments).toHaveLength(1);
  return { flow: paying, client };
}

it("says of a key whose payment may have been made so, although it is closed", async () => {
  const { flow } = await lostPayment();
  await flow.close();
  for (const work of callsOf(flow)) {
    const error = await errorOf(work);
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ key: "order-1", effect: "possible", cause: { code: "flow_closed" } });
  }
});

it("says so where the client is closed, whose requests it would begin with, unless the call itself is wrong", async () => {
  const { flow, client } = await lostPayment();
  await client.close();
  const paused = { code: "flow_paused", effect: "possible", cause: { code: "client_closed" } };
  expect(await Promise.all(callsOf(flow).map(errorOf))).toMatchObject([
    ...[paused, paused, paused],
    // These need no client to say what the flow is.
    { code: "flow_confirmed", effect: "possible" },
    { code: "flow_not_held", effect: "possible" },
  ]);
  const wrong = { ...request, memo: 5 as never };
  expect(await errorOf(flow.run("order-1", wrong))).toMatchObject({ code: "invalid_argument", effect: "none" });
  expect(await errorOf(flow.run("order-2", request))).toMatchObject({ code: "client_closed", effect: "none" });
});

it("says of a quote that nothing was done when it is closed", async () => {
  const { flow } = await flowFixture();
  const closed = flow();
  await closed.quote("order-1", request);
  await closed.close();
  expect(await errorOf(closed.run("order-1", request))).toMatchObject({ code: "flow_closed", effect: "none" });
});

it("can still be read when it is closed", async () => {
  const { flow } = await flowFixture();
  const closed = flow();
  await closed.run("order-1", request);
  await closed.close();
  expect(await closed.status("order-1")).toMatchObject({ phase: "paid" });
  expect((await closed.counts()).paid).toBe(1);
});

it("waits for the response to a payment that was sent", async () => {
  const sent = deferred();
  const respond = deferred();
  const { flow } = await flowFixture({
    onResponse: async ({ operation }) => {
      if (operation !== "payments.create") return undefined;
      sent.resolve();
      await respond.promise;
      return undefined;
    },
  });
  const closing = flow({ leaseMs: 30_000 });
  const running = closing.run("order-1", request);
  await sent.promise;
  const closed = closing.close({ timeoutMs: 20_000 });
  respond.resolve();
  expect(await closed).toEqual({ pending: 0 });
  expect(await running).toMatchObject({ status: "paid" });
});

it("gives up a response that does not come, and frees the flow, so that another process finds the payment at once", async () => {
  const sent = deferred();
  let payments = 0;
  const { flow, journal, bank, sandbox } = await flowFixture({
    onResponse: ({ operation }) => {
      if (operation !== "payments.create") return undefined;
      payments += 1;
      sent.resolve();
      return new Promise(() => {});
    },
  });
  // A lease that would keep everybody else away for longer than this test may take.
  const hanging = flow({ leaseMs: 600_000 });
  const running = errorOf(hanging.run("order-1", request));
  await sent.promise;
  expect(await hanging.close({ timeoutMs: 500 })).toEqual({ pending: 0 });
  expect(await running).toMatchObject({ name: "FlowPausedError", effect: "possible", key: "order-1" });
  await expectFree(journal, "order-1");
  const outcomes = [];
  for await (const outcome of flow().recover()) outcomes.push(outcome);
  expect(outcomes).toMatchObject([{ key: "order-1", status: "paid" }]);
  expect([payments, sandbox.payments.length, bank.taken.size]).toEqual([1, 1, 1]);
});

it("lets takeFunds end, and frees the flow whose money was taken", async () => {
  const asked = deferred();
  const answer = deferred();
  const { flow, journal, bank, sandbox } = await flowFixture();
  const closing = flow({
    leaseMs: 600_000,
    takeFunds: async (context) => {
      asked.resolve();
      await answer.promise;
      return bank.takeFunds(context);
    },
  });
  const running = closing.run("order-1", request).catch((error: unknown) => error);
  await asked.promise;
  const closed = closing.close({ timeoutMs: 20_000 });
  answer.resolve();
  expect(await closed).toEqual({ pending: 0 });
  const result = await running;
  if (result instanceof CrossBorderError) expect(result).toBeInstanceOf(FlowPausedError);
  await expectFree(journal, "order-1");
  expect(await flow().run("order-1", request)).toMatchObject({ status: "paid" });
  expect([sandbox.payments.length, bank.taken.size]).toEqual([1, 1]);
});

it("says what is still pending when its time is over: a takeFunds that hangs can't be ended", async () => {
  const asked = deferred();
  const { flow } = await flowFixture();
  const hanging = flow({
    takeFunds: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  void hanging.run("order-1", request);
  await asked.promise;
  expect(await hanging.close({ timeoutMs: 50 })).toEqual({ pending: 1 });
});

it("ends the waits between two looks, and leaves nothing behind that touches the journal", async () => {
  const looked = deferred();
  const { flow, bank } = await flowFixture({
    onRequest: ({ operation, query }) => {
      if (operation === "payments.create") return Response.error();
      if (operation === "payments.list" && bank.calls > 0 && query !== "") looked.resolve();
      return undefined;
    },
  });
  const journal = new CountingJournal();
  const closing = flow({ journal, leaseMs: 3000, readBackDelayMs: 600_000 });
  const running = errorOf(closing.run("order-1", request));
  const working = closing.work({ everyMs: 10 });
  const recovering = closing.recover();
  await looked.promise;
  expect(await closing.close()).toEqual({ pending: 0 });
  await recovering.return();
  await working;
  expect(await running).toBeInstanceOf(FlowPausedError);
  const calls = journal.calls;
  // Longer than a heartbeat of the lease, and than many rounds of work.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(journal.calls).toBe(calls);
});

it.each([-1, 1.5, Number.NaN, "1000"])("refuses to close within %j ms", async (timeoutMs) => {
  const { flow } = await flowFixture();
  const refused = flow();
  expect(await errorOf(refused.close({ timeoutMs: timeoutMs as number }))).toMatchObject({ code: "invalid_argument" });
  expect(await refused.run("order-1", request)).toMatchObject({ status: "paid" });
});
