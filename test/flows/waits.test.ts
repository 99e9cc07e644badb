import type { FlowOutcome } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { closed, isList, isPayment, refusal } from "./flow-fixture.js";
import { RestorableJournal } from "./restorable-journal.js";
import { errorOf } from "./results.js";
import { leaseMs, request, waitingFixture } from "./waiting-fixture.js";

type Waiting = Awaited<ReturnType<typeof waitingFixture>>;

const shortLives =
  "no process had it for the 61 seconds after which not finding the payment proves that there is none: those that did ended, or were stopped, before";

/** Less than the whole wait, which is a lease and the list's delay. */
const lifeMs = 50_000;

/** Takers, one after the other, that live for less than the whole wait; each in the incarnation that a failover led to. */
async function succession({ live, process }: Waiting, most: number, options?: Parameters<Waiting["process"]>[1]) {
  for (let count = 1; count <= most; count++) {
    const outcome = await live(process("after", options), lifeMs);
    if (outcome !== undefined) return { outcome, count };
  }
  throw new Error(`${most} takers did not end the flow`);
}

/** An owner that is gone while it waits. */
async function abandon({ process, stateOf }: Waiting, options?: Parameters<Waiting["process"]>[1]): Promise<void> {
  const owner = process("before", { readBackDelayMs: 600_000, ...options });
  const running = errorOf(owner.run("k", request));
  await eventually(async () => expect((await stateOf()).phase).toBe("unknown"));
  await owner.close();
  await running;
}

/** An owner whose bank took the money, and told nobody. */
async function abandonBank({ process, bank }: Waiting): Promise<void> {
  const takeFunds: typeof bank.takeFunds = (call) => {
    bank.takeFunds(call);
    throw new Error("the connection to the bank broke");
  };
  const error = await errorOf(process("before", { takeFunds }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
}

describe("takers that live for less than a wait", () => {
  it("hold a refused flow, and give nothing back", async () => {
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? refusal(400) : undefined) });
    await abandon(fixture);
    const { outcome, count } = await succession(fixture, 6);
    expect(outcome).toMatchObject({
      status: "held",
      reason: expect.stringMatching(
        /^the service responded with 400, which says that the payment was not made, and 2 looks at the list of payments did not find it; the last complete one /,
      ),
      response: { status: 400 },
    });
    expect(outcome).toMatchObject({ reason: expect.stringContaining(shortLives) });
    expect(count).toBeGreaterThan(1);
    expect([fixture.bank.released, fixture.sandbox.payments]).toEqual([[], []]);
  });

  it("find the payment of a flow whose refusal was another's", async () => {
    const fixture = await waitingFixture({ onResponse: (seen) => (isPayment(seen) ? refusal(400) : undefined) });
    await abandon(fixture);
    expect((await succession(fixture, 3)).outcome).toMatchObject({ status: "paid" });
    expect([fixture.bank.released, fixture.sandbox.payments.length]).toEqual([[], 1]);
  });

  it("hold a flow whose response was lost, although none of them lives from one look to the next", async () => {
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined) });
    const readBackDelayMs = 2 * lifeMs;
    await abandon(fixture);
    const { outcome, count } = await succession(fixture, 4, { readBackDelayMs });
    expect(outcome).toMatchObject({
      status: "held",
      reason: expect.stringMatching(/2 looks at the list of payments did not find it; the last complete one /),
    });
    expect(count).toBeGreaterThan(1);
  });

  it("find a payment that was listed late, whose response was lost", async () => {
    let isListed = false;
    const fixture = await waitingFixture({
      onRequest: (seen) => (isList(seen) && !isListed ? Response.json([]) : undefined),
      onResponse: (seen) => (isPayment(seen) ? Response.error() : undefined),
    });
    await abandon(fixture);
    isListed = true;
    const { outcome } = await succession(fixture, 4, { readBackDelayMs: 2 * lifeMs });
    expect(outcome).toMatchObject({ status: "paid" });
  });

  it("hold a flow whose absence one of them would prove", async () => {
    const service = { listedWithinMs: 100 };
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined) });
    await abandon(fixture, { service });
    const { outcome } = await succession(fixture, 8, { service });
    expect(outcome).toMatchObject({ status: "held", reason: expect.stringContaining(shortLives) });
    expect(outcome).not.toHaveProperty("reliedOn");
    expect(fixture.sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("hold a flow whose money had been taken before, and pay nothing", async () => {
    const fixture = await waitingFixture();
    await abandonBank(fixture);
    const { outcome, count } = await succession(fixture, 6);
    expect(outcome).toMatchObject({ status: "held", reason: shortLives, senderGatewayTransactionId: "TX-1" });
    expect(count).toBeGreaterThan(1);
    expect(fixture.sandbox.requests.filter(isPayment)).toEqual([]);
  });

  it("find the payment of a claim that the journal lost", async () => {
    const fixture = await waitingFixture();
    const { process, live, clock, sandbox } = fixture;
    const restorable = new RestorableJournal();
    const { journal } = restorable;
    expect(await process("before", { journal }).run("k", request)).toMatchObject({ status: "paid" });
    await restorable.restore(1);
    clock.jump(leaseMs);
    let outcome: FlowOutcome | undefined;
    for (let count = 0; count < 3 && outcome === undefined; count++) {
      outcome = await live(process("after", { journal }), lifeMs, journal);
    }
    expect(outcome).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("are counted from zero once an operator has the payment sent again", async () => {
    const fixture = await waitingFixture();
    const { process, stateOf, wait } = fixture;
    await abandonBank(fixture);
    await succession(fixture, 6);
    const decision = { by: "Olga Operator", why: "the back office looked" };
    const takeFunds = closed;
    const deciding = errorOf(process("after", { takeFunds }).resolve("k", "resend", decision));
    await expect.poll(async () => (await stateOf()).leaseUntilMs).toBeDefined();
    await wait(leaseMs);
    await deciding;
    expect(await stateOf()).toMatchObject({ phase: "funds-requested", waits: undefined });
  });
});

describe("one owner alone, for the whole wait,", () => {
  it("gives the money of a refused payment back, and nobody earlier", async () => {
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? refusal(400) : undefined) });
    const { process, live, waiting, wait, bank, stateOf } = fixture;
    await abandon(fixture);
    await live(process("after"), lifeMs);
    const owner = process("after");
    const running = owner.run("k", request);
    await waiting();
    // Together they have waited long enough for a look, and not for what follows from it.
    await wait(20_000);
    await eventually(async () => expect((await stateOf()).waits?.looks).toBe(1));
    expect([bank.released, (await stateOf()).phase]).toEqual([[], "unknown"]);
    await wait(leaseMs);
    expect(await running).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("sends the first claim of a flow whose money had been taken before, and nobody earlier", async () => {
    const fixture = await waitingFixture();
    const { process, live, waiting, wait, sandbox, stateOf } = fixture;
    await abandonBank(fixture);
    await live(process("after"), lifeMs);
    const running = process("after").run("k", request);
    await waiting();
    await wait(20_000);
    await eventually(async () => expect((await stateOf()).waits?.looks).toBe(1));
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
    await wait(leaseMs);
    expect(await running).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });
});
