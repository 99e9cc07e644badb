import { generateSigningKeyPair } from "cross-border-payments";
import type { PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { flowFixture, isPayment, request } from "./flow-fixture.js";
import { all } from "./results.js";

const refusal = (status: number) => Response.json({ error: "key_unknown", message: "no" }, { status });
const resolution = { by: "Olga Operator", why: "the key will not be registered" };

async function recoverOnce(flow: PaymentFlow): Promise<void> {
  try {
    for await (const _ of flow.recover());
  } catch {
    // What stopped it is stored in the flow.
  }
}

describe.each([401, 429])("a payment that is refused with %i again and again", (status) => {
  async function stuckFlow(rounds: number, leaseMs = 300) {
    const fixture = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? refusal(status) : undefined) });
    await expect(fixture.flow({ leaseMs }).run("k", request)).rejects.toMatchObject({ effect: "possible" });
    const sizes: number[] = [];
    for (let round = 1; round < rounds; round++) {
      await recoverOnce(fixture.flow({ leaseMs }));
      sizes.push((await fixture.journal.read("k"))?.data.length ?? 0);
    }
    return { ...fixture, sizes };
  }

  it("is listed as stuck, and can be resolved", async () => {
    const { flow, bank, sandbox } = await stuckFlow(3);
    expect(await all(flow().held())).toMatchObject([
      { status: "stuck", key: "k", phase: "funds-requested", failures: { count: 3, code: `http_${status}` } },
    ]);
    expect(await flow().resolve("k", "release", resolution)).toMatchObject({ status: "rejected" });
    expect([bank.released, sandbox.payments]).toEqual([["k"], []]);
  });

  it("shows its request once, with how often it was refused, and what was seen after the last time", async () => {
    const { flow } = await stuckFlow(3, 10_000);
    expect(await all(flow().held())).toMatchObject([
      { claims: [{ isRefused: true, refusals: 3 }], looks: [{ claims: 1, seen: 0, complete: true }] },
    ]);
  });

  it("stores no more for each time", async () => {
    const { flow, sizes, sandbox } = await stuckFlow(13);
    expect(sandbox.requests.filter(isPayment)).toHaveLength(13);
    expect(Math.max(...sizes)).toBeLessThan(1.1 * Math.min(...sizes));
    expect((await flow().status("k"))?.failures?.count).toBe(13);
  });
});

it("is sent again as often as any other, after such refusals, where its response was lost", async () => {
  let sent = 0;
  const { flow, sandbox } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      sent += 1;
      if (sent <= 4) return refusal(429);
      return sent === 5 ? Response.error() : undefined;
    },
  });
  const service = { singleUseIntents: true };
  for (let round = 0; round < 4; round++) {
    await expect(flow({ service }).run("k", request)).rejects.toMatchObject({ effect: "possible" });
  }
  expect(await flow({ service }).run("k", request)).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
  expect([sent, sandbox.payments.length]).toEqual([6, 1]);
});

it("is sent again as often, and forgets no request, where two keys signed in turn what was refused", async () => {
  let sent = 0;
  const { flow, sandbox } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      sent += 1;
      if (sent <= 4) return refusal(401);
      return sent === 5 ? Response.error() : undefined;
    },
  });
  const { privateKey: signingKey } = await generateSigningKeyPair();
  const options = { gatewayId: request.senderGatewayId, leaseMs: 10_000, service: { singleUseIntents: true } };
  for (let round = 0; round < 4; round++) {
    const running = flow(options, round % 2 === 0 ? {} : { signingKey }).run("k", request);
    await expect(running).rejects.toMatchObject({ effect: "possible" });
  }
  const [stuck] = await all(flow(options).held());
  const signatures = stuck?.claims.map(({ signature }) => signature) ?? [];
  const [one, other] = signatures;
  expect(signatures).toEqual([one, other, one, other]);
  expect(await flow(options).run("k", request)).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
  expect([sent, sandbox.payments.length]).toEqual([6, 1]);
});

it("keeps, beside a request that was refused again and again, the looks for an earlier one", async () => {
  let sent = 0;
  const { flow } = await flowFixture({
    onRequest: (seen) => {
      if (!isPayment(seen)) return undefined;
      return ++sent === 1 ? Response.error() : refusal(429);
    },
  });
  const options = { service: { listedWithinMs: 20 }, leaseMs: 600 };
  for (let round = 0; round < 3; round++) {
    await expect(flow(options).run("k", request)).rejects.toMatchObject({ effect: "possible" });
  }
  const [stuck] = await all(flow().held());
  expect(stuck?.claims).toMatchObject([{ isAbsent: true }, { isRefused: true, refusals: 3 }]);
  expect(stuck?.looks.map(({ claims }) => claims)).toEqual([1, 1, 1, 2]);
});

it("counts as no failure any more once something else became of it", async () => {
  let sent = 0;
  const { flow } = await flowFixture({
    onRequest: (seen) => (isPayment(seen) && ++sent <= 3 ? refusal(429) : undefined),
  });
  for (let round = 0; round < 3; round++) {
    await expect(flow().run("k", request)).rejects.toMatchObject({ effect: "possible" });
  }
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  expect((await flow().status("k"))?.failures).toBeUndefined();
  expect(await all(flow().held())).toEqual([]);
});

describe("a flow whose money can't be given back", () => {
  /** The bank does what it was asked, later than it answers. */
  async function stuckRelease() {
    const late: (() => void)[] = [];
    let sent = 0;
    const fixture = await flowFixture({
      onRequest: (seen) => (isPayment(seen) && ++sent === 1 ? refusal(400) : undefined),
    });
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
