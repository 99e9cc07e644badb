import { describe, expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { stretched } from "../support/patience.js";
import { brief, type FlowFixture, flowFixture, isPayment, onPayment, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

const refusal = (status: number) => Response.json({ error: "key_unknown", message: "no" }, { status });
const resolution = { by: "Olga Operator", why: "the key will not be registered" };

/** Long enough for a busy machine: a lease that has lapsed leads elsewhere. */
const leaseMs = 10_000;

describe.each([401, 429])("a payment that is refused with %i again and again", (status) => {
  async function heldFixture(leaseMs = 10_000) {
    const fixture = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? refusal(status) : undefined) });
    const outcome = await fixture.flow({ leaseMs }).run("k", request);
    return { ...fixture, outcome };
  }

  it("is sent four times, and then held, no failure of its flow, and can be resolved", async () => {
    const { flow, bank, sandbox, outcome } = await heldFixture(3000);
    const held = { status: "held", key: "k", response: { status, serviceCode: "key_unknown", effect: "none" } };
    expect(outcome).toMatchObject(held);
    expect(sandbox.requests.filter(isPayment)).toHaveLength(4);
    expect(await all(flow().held())).toMatchObject([held]);
    expect((await flow().status("k"))?.failures).toBeUndefined();
    expect(await flow().resolve("k", "release", resolution)).toMatchObject({ status: "rejected" });
    expect([bank.released, sandbox.payments]).toEqual([["k"], []]);
  });

  it("shows its request once, with how often it was refused, beside the last time, and what was seen after both", async () => {
    const { outcome } = await heldFixture();
    expect(outcome).toMatchObject({
      claims: [{ isRefused: true, refusals: 3 }, {}],
      looks: [
        { claims: 1, seen: 0, complete: true },
        { claims: 2, seen: 0, complete: true },
      ],
    });
    expect(outcome).not.toHaveProperty("claims.1.isRefused");
  });

  it("is sent once more, and held again, each time that an operator says so: three times are for the flow's life", async () => {
    // Before it is sent again, the last request has to be over.
    const { flow, sandbox } = await heldFixture(1000);
    expect(await flow({ leaseMs }).resolve("k", "resend", resolution)).toMatchObject({ status: "held" });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(5);
  });

  it("is counted over all processes that had its flow", async () => {
    const { flow, bank, sandbox } = await flowFixture(onPayment(() => refusal(status)));
    for (let round = 0; round < 3; round++) {
      await errorOf(flow({ leaseMs, takeFunds: takingOnce(bank) }).run("k", request));
    }
    expect(await flow({ leaseMs }).run("k", request)).toMatchObject({ status: "held", response: { status } });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(4);
  });
});

/** A bank that is away once this process asks it a second time. */
function takingOnce(bank: FlowFixture["bank"]): FlowFixture["bank"]["takeFunds"] {
  let isAway = false;
  return (call) => {
    if (isAway) throw new Error("the bank is away");
    isAway = true;
    return bank.takeFunds(call);
  };
}

it("is sent again as often as any other, after such refusals, where its response was lost", async () => {
  let sent = 0;
  const { flow, sandbox } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      sent += 1;
      if (sent <= 3) return refusal(429);
      return sent === 4 ? Response.error() : undefined;
    },
  });
  const service = { singleUseIntents: true };
  expect(await flow({ service }).run("k", request)).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
  expect([sent, sandbox.payments.length]).toEqual([5, 1]);
});

it("is sent again as often, and forgets no request, where two keys signed in turn what was refused", async () => {
  let sent = 0;
  const { flow, bank, journal, sandbox } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      sent += 1;
      if (sent <= 3) return refusal(401);
      return sent === 4 ? Response.error() : undefined;
    },
  });
  const { privateKey: signingKey } = signingKeysOf("stranger");
  const options = { gatewayId: request.senderGatewayId, leaseMs, service: { singleUseIntents: true } };
  for (let round = 0; round < 3; round++) {
    const running = flow({ ...options, takeFunds: takingOnce(bank) }, round === 1 ? { signingKey } : {});
    expect(await errorOf(running.run("k", request))).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
  }
  const { state } = JSON.parse((await journal.read("k"))?.data ?? "");
  const signatures = state.claims.map(({ signature }: { readonly signature: string }) => signature);
  const [one, other] = signatures;
  expect(one).not.toBe(other);
  expect(signatures).toEqual([one, other, one]);
  expect(await flow(options).run("k", request)).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
  expect([sent, sandbox.payments.length]).toEqual([5, 1]);
});

it("keeps, beside a request that was refused again and again, the looks for an earlier one", async () => {
  let sent = 0;
  const { flow } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      return ++sent === 1 ? Response.error() : refusal(429);
    },
  });
  const held = await flow({ service: { listedWithinMs: 20 }, leaseMs: stretched(600) }).run("k", request);
  expect(held).toMatchObject({
    status: "held",
    claims: [{ isAbsent: true }, { isRefused: true, refusals: 3 }, {}],
  });
  const looks = held.status === "held" ? held.looks : [];
  expect(looks.map(({ claims }) => claims)).toEqual([1, 1, 1, 2, 3]);
});

it("counts as no failure where it is accepted the fourth time", async () => {
  let sent = 0;
  const { flow } = await flowFixture({
    onRequest: (seen) => (isPayment(seen) && ++sent <= 3 ? refusal(429) : undefined),
  });
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  expect((await flow().status("k"))?.failures).toBeUndefined();
  expect(await all(flow().held())).toEqual([]);
});

describe("a flow whose money can't be given back", () => {
  /** The bank does what it was asked, later than it answers. */
  async function stuckRelease() {
    const late: (() => void)[] = [];
    let sent = 0;
    const fixture = await flowFixture(
      {
        onRequest: (seen) => (isPayment(seen) && ++sent === 1 ? refusal(400) : undefined),
      },
      brief,
    );
    const releaseFunds: typeof fixture.bank.releaseFunds = (call) => {
      late.push(() => fixture.bank.releaseFunds(call));
      throw new Error("the bank does not answer");
    };
    for (let round = 0; round < 3; round++) {
      await expect(fixture.flow({ releaseFunds }).run("k", request)).rejects.toMatchObject({ effect: "possible" });
    }
    expect(await all(fixture.flow().held())).toMatchObject([{ status: "stuck", phase: "refused" }]);
    return { ...fixture, late };
  }

  it.each(["resend", "found"] as const)("does not take %s, which could pay what is given back", async (action) => {
    const { flow, bank, sandbox, late } = await stuckRelease();
    await expect(flow().resolve("k", action, resolution)).rejects.toMatchObject({
      code: "flow_not_held",
      effect: "possible",
      message: expect.stringContaining('"release" tries that again'),
    });
    for (const release of late) release();
    expect([sandbox.payments, bank.released.length]).toEqual([[], 3]);
  });

  it("is not rejected where releaseFunds says so by returning false", async () => {
    let sent = 0;
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => (isPayment(seen) && ++sent === 1 ? refusal(400) : undefined),
    });
    const releaseFunds = (() => false) as never;
    await expect(flow({ releaseFunds }).run("k", request)).rejects.toMatchObject({
      phase: "refused",
      cause: { code: "invalid_argument", message: expect.stringContaining("releaseFunds returned false") },
    });
    expect(await flow().run("k", request)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("is released again", async () => {
    const { flow, bank } = await stuckRelease();
    expect(await flow().resolve("k", "release", resolution)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("is paid with the service's record of the payment", async () => {
    const { flow, bank } = await stuckRelease();
    const other = await flow().run("other", request);
    if (other.status !== "paid") throw new Error("the other flow paid nothing");
    const record = { ...other.payment, senderGatewayTransactionId: bank.taken.get("k") ?? "" };
    expect(await flow().resolve("k", "found", { ...resolution, payment: record })).toMatchObject({ status: "paid" });
  });
});
