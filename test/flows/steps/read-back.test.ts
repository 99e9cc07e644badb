import type { PaymentFlowOptions, TakeFundsByKey } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { stretched } from "../../support/patience.js";
import { brief, closed, type FlowFixture, flowFixture, isList, isPayment, refusal, request } from "../flow-fixture.js";
import { longList } from "../long-list.js";
import { errorOf } from "../results.js";

const lost = () => Response.error();
const listed = 60;
/** Long enough for a busy machine: a lease that has lapsed leads elsewhere. */
const leaseMs = 10_000;
/** Where absence is proved a lease later. */
const shortLeaseMs = stretched(600);

/**
 * A flow that was taken over before it was known that the money was taken, and the payment of an entry of the same key that was lost
 * before: it is the oldest of the list, older than the flow's mark, and listed only once `hiddenFor` payments were sent.
 */
async function olderPaymentFixture({
  responses,
  hiddenFor = 1,
  ...options
}: Partial<PaymentFlowOptions> & { readonly responses: readonly (() => Response)[]; readonly hiddenFor?: number }) {
  let sent = 0;
  const { flow, bank } = await flowFixture(
    {
      onRequest: (seen) => {
        if (isPayment(seen)) return responses[sent++]?.();
        if (!isList(seen)) return undefined;
        return longList(listed, sent < hiddenFor ? {} : { senderGatewayTransactionId: "TX-1" }, seen);
      },
    },
    brief,
  );
  const takeFunds = closed;
  await errorOf(flow({ takeFunds }).run("k", request));
  const outcome = await flow({ takeFunds: bank.takeFunds, leaseMs, ...options }).run("k", request);
  return { outcome, bank, sent: () => sent };
}

describe("a look at the list of payments", () => {
  it("ends at the mark where nothing is decided on what it does not find", async () => {
    const { outcome } = await olderPaymentFixture({ responses: [lost], service: { clockSkewMs: 0 } });
    expect(outcome).toMatchObject({ status: "held", looks: [{ seen: listed }, { seen: 20 }, { seen: 20 }] });
    expect(outcome).not.toHaveProperty("lookalike");
  });

  it("goes beyond the mark before the money of a refused payment is given back", async () => {
    const { outcome, bank } = await olderPaymentFixture({ responses: [() => refusal(400)] });
    expect(outcome).toMatchObject({ status: "held", lookalike: { id: "p-1" } });
    expect(bank.released).toEqual([]);
  });

  it("goes beyond the mark before a payment that is certainly absent is sent again", async () => {
    const { outcome, sent } = await olderPaymentFixture({
      responses: [lost],
      service: { listedWithinMs: 20 },
      leaseMs: shortLeaseMs,
    });
    expect(outcome).toMatchObject({ status: "held", lookalike: { id: "p-1" } });
    expect(sent()).toBe(1);
  });

  it("does so although the bank says, of money that it took before, that it took it just now", async () => {
    const takeFunds: TakeFundsByKey = () => ({ senderGatewayTransactionId: "TX-1", replayed: false });
    const responses = [lost, () => refusal(400)];
    const { outcome, bank, sent } = await olderPaymentFixture({
      responses,
      service: { listedWithinMs: 20 },
      takeFunds,
      hiddenFor: 2,
      leaseMs: shortLeaseMs,
    });
    expect(outcome).toMatchObject({ status: "held", lookalike: { id: "p-1" } });
    expect([sent(), bank.released]).toEqual([2, []]);
  });
});

/** A flow whose payment is responded to with `response`, and whose looks after that see what `looks` says; then nothing. */
async function lookedFixture(response: () => Response, looks: readonly object[][]) {
  let sent = 0;
  let seenSince = 0;
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen)) return ++sent === 1 ? response() : undefined;
      return isList(seen) && sent > 0 ? Response.json(looks[seenSince++] ?? []) : undefined;
    },
  });
  const flow: FlowFixture["flow"] = (options) => fixture.flow({ leaseMs, ...options });
  return { ...fixture, flow, sent: () => sent };
}

/** A service that refuses every payment for the time being; what it was asked for, and what came with each payment. */
async function passingFixture(status: number) {
  const asked: (string | undefined)[] = [];
  const tokens: (string | null)[] = [];
  const bodies: unknown[] = [];
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen) && !isList(seen)) return undefined;
      asked.push(seen.operation);
      if (!isPayment(seen)) return undefined;
      tokens.push(seen.headers.get("authorization"));
      bodies.push(seen.body);
      return refusal(status);
    },
  });
  const flow = () => fixture.flow({ leaseMs });
  return { flow, asked, tokens, bodies };
}

const lookalike = { id: "p-9", pagingToken: "9", senderGatewayTransactionId: "TX-1" };
const unreadable = { senderGatewayTransactionId: "another's" };

describe("after a refusal", () => {
  it("looks again where a look could not see every payment, and gives the money back after one that could", async () => {
    // The list is read twice where it has no tokens: from its new end, and in their order.
    const { flow, bank } = await lookedFixture(() => refusal(400), [[unreadable], [unreadable]]);
    expect(await flow().run("k", request)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("holds the flow after as many looks as readBacks says that could not see every payment", async () => {
    const { flow, bank } = await lookedFixture(() => refusal(400), Array(9).fill([unreadable]));
    expect(await flow({ readBacks: 3 }).run("k", request)).toMatchObject({
      status: "held",
      looks: [{ complete: false }, { complete: false }, { complete: false }],
    });
    expect(bank.released).toEqual([]);
  });

  it.each([401, 429])(
    "that passes (%i), looks and sends it again, three times, and then says what it was",
    async (status) => {
      const { flow, asked, bodies } = await passingFixture(status);
      expect(await flow().run("k", request)).toMatchObject({
        status: "held",
        response: { status, serviceCode: "limit", effect: "none" },
        reason: expect.stringMatching(
          new RegExp(
            `^the service responded with ${status}, which says that the payment was not made, and 1 look at the list of payments did not find it; the last complete one `,
          ),
        ),
      });
      // An empty list is read twice: from its new end, and in the order of tokens.
      const [list, create] = ["payments.list", "payments.create"];
      const again = [create, list, list];
      expect(asked).toEqual([list, ...again, ...again, ...again, ...again]);
      expect(new Set(bodies).size).toBe(1);
    },
  );

  it("that says 401 makes it get a new token each time", async () => {
    const { flow, tokens } = await passingFixture(401);
    await flow().run("k", request);
    expect(new Set(tokens).size).toBe(4);
  });

  it.each([401, 429])("that passes (%i) sends nothing again where no look can see every payment", async (status) => {
    const { flow, sent, bank } = await lookedFixture(() => refusal(status), Array(9).fill([unreadable]));
    expect(await flow().run("k", request)).toMatchObject({ status: "held", response: { status } });
    expect([sent(), bank.released]).toEqual([1, []]);
  });
});

describe("without a response, under singleUseIntents,", () => {
  const service = { singleUseIntents: true };

  it("looks twice, and sends the same again without a third look", async () => {
    const { flow, sandbox } = await lookedFixture(lost, []);
    expect(await flow({ service }).run("k", request)).toMatchObject({ status: "paid" });
    const asked = sandbox.requests.filter((seen) => isPayment(seen) || isList(seen));
    // The first list is the one that notes the mark. An empty list is read twice: from its new end, and in the order of tokens.
    const [list, create] = ["payments.list", "payments.create"];
    expect(asked.map(({ operation }) => operation)).toEqual([list, create, list, list, list, list, create]);
  });

  it("sends nothing again where only one of the looks saw a payment that looks like it", async () => {
    const { flow, sent } = await lookedFixture(lost, [[lookalike], [lookalike]]);
    expect(await flow({ service }).run("k", request)).toMatchObject({
      status: "held",
      looks: [{ lookalike: { id: "p-9" } }, { complete: true }],
      lookalike: { id: "p-9" },
    });
    expect(sent()).toBe(1);
  });
});
