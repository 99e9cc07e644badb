import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { brief, flowFixture, isList, isPayment, request } from "./flow-fixture.js";

const refusal = () => Response.json({ error: "intent_used", message: "no" }, { status: 400 });

describe("singleUseIntents", () => {
  const service = { singleUseIntents: true };

  it("sends the same bytes again when no response came and the payment is not listed, and says so", async () => {
    const sent: string[] = [];
    const { flow, sandbox, bank } = await flowFixture({
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        sent.push(seen.headers.get("x-service-signature-base64") + seen.body);
        return sent.length === 1 ? Response.error() : undefined;
      },
    });
    const outcome = await flow({ service, leaseMs: 60_000 }).run("k", request);
    expect(outcome).toMatchObject({ status: "paid", reliedOn: ["singleUseIntents"] });
    expect(sent).toEqual([sent[0], sent[0]]);
    expect([sandbox.payments.length, bank.taken.size, bank.calls]).toEqual([1, 1, 2]);
  });

  it("sends four times at most, and holds the flow then", async () => {
    let sent = 0;
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        sent += 1;
        return Response.error();
      },
    });
    expect(await flow({ service }).run("k", request)).toMatchObject({
      status: "held",
      claims: { length: 4 },
      reliedOn: ["singleUseIntents"],
    });
    expect([sent, bank.released]).toEqual([4, []]);
  });

  it.each([
    ["finds the payment", true, "paid"],
    ["holds the flow and releases nothing", false, "held"],
  ])("%s when the second sending is refused", async (_, isListed, status) => {
    let sent = 0;
    const { flow, sandbox, bank } = await flowFixture({
      onRequest: (seen) => {
        if (isList(seen) && (sent < 2 || !isListed)) return Response.json([]);
        return isPayment(seen) && ++sent > 1 ? refusal() : undefined;
      },
      onResponse: (seen) => (isPayment(seen) && sent === 1 ? Response.error() : undefined),
    });
    expect(await flow({ service }).run("k", request)).toMatchObject({ status });
    expect([sent, sandbox.payments.length, bank.released]).toEqual([2, 1, []]);
  });
});

/** The first payment is lost on its way. Whoever runs the flow with `stopped` stops then, before the first look. */
async function stoppedFixture() {
  const stop = new AbortController();
  const fixture = await flowFixture(
    {
      onRequest: (seen) => {
        if (!isPayment(seen) || stop.signal.aborted) return undefined;
        stop.abort();
        return Response.error();
      },
    },
    brief,
  );
  return { ...fixture, stopped: { signal: stop.signal } };
}

describe("listedWithinMs", () => {
  const service = { listedWithinMs: 200 };
  const { leaseMs } = brief;

  it("goes on after a look that is late enough, and says so", async () => {
    const sentAtMs: number[] = [];
    const { flow, sandbox, bank } = await flowFixture({
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        sentAtMs.push(performance.now());
        return sentAtMs.length === 1 ? Response.error() : undefined;
      },
    });
    const startMs = performance.now();
    const outcome = await flow({ service, leaseMs }).run("k", request);
    expect(outcome).toMatchObject({ status: "paid", reliedOn: ["listedWithinMs"] });
    expect((sentAtMs[1] ?? 0) - startMs).toBeGreaterThanOrEqual(leaseMs + service.listedWithinMs);
    expect([sandbox.payments.length, bank.calls]).toEqual([1, 2]);
  });

  it("counts from its own claim, and from when it took the flow over", async () => {
    const { flow, sandbox, stopped } = await stoppedFixture();
    await expect(flow({ readBackDelayMs: 60_000 }).run("k", request, stopped)).rejects.toMatchObject({
      phase: "unknown",
      effect: "possible",
    });
    await new Promise((resolve) => setTimeout(resolve, leaseMs + service.listedWithinMs));
    const startMs = performance.now();
    expect(await flow({ service, leaseMs }).run("k", request)).toMatchObject({ status: "paid" });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(leaseMs + service.listedWithinMs);
    expect(sandbox.payments).toHaveLength(1);
  });

  it("counts the lease of the process that made the claim, where that was longer", async () => {
    const longLeaseMs = 5 * leaseMs;
    const { flow, stopped } = await stoppedFixture();
    await expect(
      flow({ readBackDelayMs: 60_000, leaseMs: longLeaseMs }).run("k", request, stopped),
    ).rejects.toMatchObject({ phase: "unknown" });
    const startMs = performance.now();
    expect(await flow({ service, leaseMs }).run("k", request)).toMatchObject({ status: "paid" });
    // A request is sent a little before its lease ends, at the latest.
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(0.8 * longLeaseMs + service.listedWithinMs);
  });

  it("finds a payment that is listed late, and sends nothing again", async () => {
    let listedAtMs = Number.POSITIVE_INFINITY;
    const { flow, sandbox } = await flowFixture({
      onRequest: (seen) => (isList(seen) && performance.now() < listedAtMs ? Response.json([]) : undefined),
      onResponse: (seen) => {
        if (!isPayment(seen)) return undefined;
        listedAtMs = performance.now() + 180;
        return Response.error();
      },
    });
    expect(await flow({ service, leaseMs }).run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("holds the flow where the late look can't see every payment", async () => {
    let sent = 0;
    const { flow } = await flowFixture({
      onRequest: (seen) => {
        if (isPayment(seen)) {
          sent += 1;
          return Response.error();
        }
        return isList(seen) && sent > 0 ? Response.json([{ senderGatewayTransactionId: "another's" }]) : undefined;
      },
    });
    expect(await flow({ service, leaseMs }).run("k", request)).toMatchObject({ status: "held", claims: { length: 1 } });
    expect(sent).toBe(1);
  });

  it("gives the money back when a payment that is certainly absent is refused the second time", async () => {
    let sent = 0;
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        return ++sent === 1 ? Response.error() : refusal();
      },
    });
    expect(await flow({ service, leaseMs }).run("k", request)).toMatchObject({
      status: "rejected",
      reliedOn: ["listedWithinMs"],
    });
    expect(bank.released).toEqual(["k"]);
  });
});

describe.each([
  ["singleUseIntents", { singleUseIntents: true }],
  ["listedWithinMs", { listedWithinMs: 50 }],
])("under %s, a payment whose response said that it was made, and could not be read,", (_, service) => {
  it("is not sent again, although it is not listed", async () => {
    let sent = 0;
    const { flow, sandbox, bank } = await flowFixture({
      onRequest: (seen) => (isList(seen) && sent > 0 ? Response.json([]) : undefined),
      onResponse: async (seen, response) => {
        if (!isPayment(seen)) return undefined;
        sent += 1;
        const record = await response.text();
        return new Response(record.slice(0, -1), { headers: { "content-type": "application/json" } });
      },
    });
    expect(await flow({ service }).run("k", request)).toMatchObject({
      status: "held",
      claims: { length: 1 },
      response: { status: 200, effect: "done" },
    });
    expect([sent, sandbox.payments.length, bank.released]).toEqual([1, 1, []]);
  });
});

it("waits as long before a release as without a promise, where the promised time is shorter", async () => {
  const readBackDelayMs = 300;
  let sentMs: number | undefined;
  let lookedMs: number | undefined;
  const { flow, bank } = await flowFixture({
    onRequest: (seen) => {
      if (isList(seen) && sentMs !== undefined) lookedMs ??= performance.now();
      if (!isPayment(seen)) return undefined;
      sentMs = performance.now();
      return refusal();
    },
  });
  const outcome = await flow({ service: { listedWithinMs: 1 }, readBackDelayMs }).run("k", request);
  expect(outcome).toMatchObject({ status: "rejected" });
  expect((lookedMs ?? 0) - (sentMs ?? 0)).toBeGreaterThanOrEqual(readBackDelayMs - 5);
  expect(bank.released).toEqual(["k"]);
});

it("waits for a proof that is further away than a timer can be set for", async () => {
  let sent = 0;
  let looks = 0;
  const { flow } = await flowFixture({
    onRequest: (seen) => {
      if (isList(seen) && sent > 0) looks += 1;
      if (!isPayment(seen)) return undefined;
      sent += 1;
      return Response.error();
    },
  });
  const stop = new AbortController();
  const patient = flow({ service: { listedWithinMs: 1000 }, leaseMs: 2 ** 31 - 1 });
  const running = patient.run("k", request, { signal: stop.signal });
  const stopped = expect(running).rejects.toMatchObject({ phase: "unknown", effect: "possible" });
  // Two looks, of two requests each, come before the one that would prove something.
  await eventually(() => expect(looks).toBeGreaterThanOrEqual(4));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([sent, looks]).toEqual([1, 4]);
  stop.abort();
  await stopped;
});
