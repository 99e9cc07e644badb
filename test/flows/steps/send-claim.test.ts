import type { FlowPhase, Journal, PaymentFlowOptions } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { type ApiClient, apiClientOf } from "../../../src/api/api-client.js";
import type { RequestOptions } from "../../../src/api/request-options.js";
import { stretched } from "../../support/patience.js";
import { boundJournal } from "../bound-journal.js";
import { type FlowFixture, flowFixture, isPayment, onPayment, request } from "../flow-fixture.js";
import { all, errorOf } from "../results.js";

const decision = { by: "Olga Operator", why: "the service has no such payment" };

/** A flow whose first `lost` payments get no response, and that gets no access token once `unsent` of its claims are stored. */
async function tokenlessFixture({
  lost,
  unsent,
  leaseMs = 10_000,
}: {
  readonly lost: number;
  readonly unsent: number;
  readonly leaseMs?: number;
}) {
  let sent = 0;
  const fixture = await flowFixture({
    onRequest: (seen) => (isPayment(seen) && ++sent <= lost ? Response.error() : undefined),
  });
  const token = await fixture.logIn();
  let stored = 0;
  const journal = boundJournal(fixture.journal, {
    write: async (...args) => {
      const written = await fixture.journal.write(...args);
      if (args[2].phase === "claimed") stored += 1;
      return written;
    },
  });
  const accessToken = async () => {
    if (stored !== unsent) return token;
    stored += 1;
    throw new Error("the login is away");
  };
  const flow: FlowFixture["flow"] = (options) =>
    fixture.flow({ journal, leaseMs, ...options }, { auth: { accessToken } });
  return { ...fixture, flow, sent: () => sent };
}

/** No response said what became of the payment: nobody may take it for unpaid. */
const notSent = { effect: "possible", cause: { code: "token_source_failed", effect: "none" } };

describe("a payment that certainly was not sent", () => {
  it.each([undefined, false] as const)("is made later (circuit breaker: %s)", async (circuitBreaker) => {
    const { flow, sandbox, bank } = await tokenlessFixture({ lost: 0, unsent: 1 });
    const options = { circuitBreaker };
    expect(await errorOf(flow(options).run("k", request))).toMatchObject({ ...notSent, phase: "funds-requested" });
    expect(await flow(options).run("k", request)).toMatchObject({ status: "paid" });
    expect([sandbox.payments.length, bank.taken.size]).toEqual([1, 1]);
  });

  it("is not declined when the bank then takes back that it took the money", async () => {
    const { flow, sandbox, bank } = await tokenlessFixture({ lost: 0, unsent: 1 });
    await errorOf(flow().run("k", request));
    bank.decline = true;
    expect(await errorOf(flow().run("k", request))).toMatchObject({
      phase: "funds-requested",
      cause: { code: "invalid_argument", message: expect.stringContaining("takeFunds returned null for money") },
    });
    bank.decline = false;
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect([sandbox.payments.length, bank.released]).toEqual([1, []]);
  });

  it("is held, when an operator had it sent again, since nobody knows what became of the first request", async () => {
    // An operator waits until the first request can no longer be sent.
    const { flow, bank, sent } = await tokenlessFixture({ lost: 1, unsent: 2, leaseMs: stretched(600) });
    const held = await flow().run("k", request);
    expect(await errorOf(flow().resolve("k", "resend", decision))).toMatchObject({ ...notSent, phase: "held" });
    const outcome = await flow().run("k", request);
    expect(outcome).toMatchObject({
      status: "held",
      reason: expect.stringMatching(/could not be sent again \(token_source_failed\).*earlier request is unknown/),
      claims: { length: 1 },
      decisions: [{ action: "resend" }],
    });
    expect(outcome).toMatchObject({ claim: Reflect.get(held, "claim") });
    expect(await all(flow().held())).toEqual([
      { ...outcome, createdAtMs: expect.any(Number), sinceMs: expect.any(Number) },
    ]);
    expect([sent(), bank.released]).toEqual([1, []]);
  });

  it("is sent again later under singleUseIntents, since the first request can't be paid beside it", async () => {
    const { flow, sandbox, sent } = await tokenlessFixture({ lost: 1, unsent: 2 });
    const service = { singleUseIntents: true };
    expect(await errorOf(flow({ service }).run("k", request))).toMatchObject({ ...notSent, phase: "unknown" });
    expect((await flow().status("k"))?.failures).toMatchObject({ count: 1, code: "token_source_failed" });
    expect(await flow({ service }).run("k", request)).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
    expect([sent(), sandbox.payments.length]).toEqual([2, 1]);
  });
});

describe("what came in response to a payment", () => {
  const headers = { "x-request-id": "r-1" };
  const body = { error: "away", message: "no" };

  it.each([
    [
      "with everything",
      () => Response.json(body, { status: 503, headers }),
      { status: 503, serviceCode: "away", requestId: "r-1", effect: "possible" },
      "does not say whether the payment was made",
    ],
    [
      "with a status alone",
      () => new Response("", { status: 503 }),
      { status: 503, effect: "possible" },
      "does not say whether the payment was made",
    ],
    [
      "with what can't be read",
      () => new Response("<html>", { headers }),
      { status: 200, requestId: "r-1", effect: "possible" },
      "does not say whether the payment was made",
    ],
    [
      "with a refusal",
      () => Response.json(body, { status: 422, headers }),
      { status: 422, serviceCode: "away", requestId: "r-1", effect: "none" },
      "says that the payment was not made",
    ],
  ])("is told of a held one, and nothing else: %s", async (_, respond, response, reason) => {
    let sent = 0;
    const { flow } = await flowFixture({
      onRequest: (seen) => {
        if (isPayment(seen)) {
          sent += 1;
          return respond();
        }
        return sent > 0 && seen.operation === "payments.list" ? Response.json([{ id: "unreadable" }]) : undefined;
      },
    });
    const outcome = await flow().run("k", request);
    if (outcome.status !== "held") throw new Error(`is ${outcome.status}`);
    expect(outcome.response).toStrictEqual(response);
    expect(outcome.reason).toContain(reason);
    // What is read again from the journal has no other fields.
    expect(await flow().outcome("k")).toStrictEqual(outcome);
  });
});

it("says that its owner was gone where nobody else can know what became of a payment", async () => {
  const { flow, journal } = await flowFixture(onPayment(() => Response.error()));
  const dying = journalWithout(journal, "unknown");
  expect(await errorOf(flow({ journal: dying }).run("k", request))).toMatchObject({ phase: "claimed" });
  expect(await flow().run("k", request)).toMatchObject({
    status: "held",
    reason: expect.stringMatching(
      /^the owner that claimed the payment was gone before its outcome was written, and 2 looks/,
    ),
  });
});

it("takes no refusal for a sign that nothing gets through to the service", async () => {
  const { flow, bank } = await flowFixture(
    onPayment(() => Response.json({ error: "no", message: "no" }, { status: 400 })),
  );
  const stopped = flow({ circuitBreaker: { opensAfter: 1 } });
  for (const key of ["a", "b"]) expect(await stopped.run(key, request)).toMatchObject({ status: "rejected" });
  expect(bank.released).toEqual(["a", "b"]);
});

describe("a client from another copy of the package", () => {
  it("whose mistake is no error of this library: the flow is paused with it, and looks before anything else", async () => {
    const { flow, client, sandbox, bank } = await flowFixture();
    const mistake = new TypeError("a mistake");
    const mistaken = withSend(client, async (send) => {
      await send();
      throw mistake;
    });
    const error = await errorOf(flow({ client: mistaken }).run("k", request));
    expect(error).toMatchObject({ code: "flow_paused", phase: "claimed", effect: "possible" });
    expect(error.cause).toMatchObject({ name: "TypeError", message: "a mistake" });
    expect(await flow().run("k", request)).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
    expect([sandbox.payments.length, bank.released]).toEqual([1, []]);
  });

  it("is told of no end of a request that has ended", async () => {
    const { flow, client } = await flowFixture();
    const signals: (AbortSignal | undefined)[] = [];
    const watched = flow({
      client: withSend(client, (send, { signal }) => {
        signals.push(signal);
        return send();
      }),
    });
    expect(await watched.run("k", request)).toMatchObject({ status: "paid" });
    await watched.close();
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
  });
});

type Send = ApiClient["send"];

/** A client from another copy of the package, whose `send` is replaced. */
function withSend(
  client: FlowFixture["client"],
  send: (original: () => ReturnType<Send>, options: RequestOptions) => unknown,
): PaymentFlowOptions["client"] {
  const api = apiClientOf(client);
  if (api === undefined) throw new Error("it is no client");
  const replaced = new Proxy(api, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "send") return value.bind(target);
      return (...args: Parameters<Send>) => send(() => target.send(...args), args[3] ?? {});
    },
  });
  const pay: typeof client.pay = (...args) => client.pay(...args);
  return { pay, close: () => client.close(), [Symbol.for("cross-border-payments.api-client")]: replaced };
}

/** A journal that stores every phase but one. */
function journalWithout(journal: Journal, phase: FlowPhase): Journal {
  return boundJournal(journal, {
    write: async (...args) => {
      if (args[2].phase === phase) throw new Error("the disk failed");
      return journal.write(...args);
    },
  });
}
