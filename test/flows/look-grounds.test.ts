import { describe, expect, it } from "vitest";
import { FlowCall } from "../../src/flows/flow-call.js";
import { KnownPayments } from "../../src/flows/looking/known-payments.js";
import { type LookContext, lookForPayment, type Sought } from "../../src/flows/looking/look-for-payment.js";
import { MemoryJournal } from "../../src/flows/memory-journal.js";
import type { Mark } from "../../src/flows/state/flow-state.js";
import { Alarm } from "../../src/timing/alarm.js";
import { listedService, madeAt, paymentsFrom } from "../payments/listed-service.js";
import { intent } from "./gateway-client.js";
import { lookContext } from "./look-context.js";

const call = new FlowCall(undefined, new Alarm(), undefined);

/** Decides by a look for a payment that is not listed, of a flow whose mark is sure. */
async function look(
  service: ReturnType<typeof listedService>,
  since: Mark,
  more: Partial<LookContext> = {},
  flow: Partial<Sought> = { isTakenSince: true },
) {
  const sought: Sought = {
    intent,
    senderGatewayTransactionId: "tx-own",
    claims: [{ body: "{}", signature: "" }],
    since,
    ...flow,
  };
  return (await lookForPayment(lookContext(service.client, more), call, sought, "decides")).look;
}

const token = (number: number): Mark => ({ id: `p-${number}`, token: String(number) });

describe("a look is complete", () => {
  it("where it met its mark, and read on beyond it for as long as the service's clocks may differ", async () => {
    const service = listedService(paymentsFrom(1, 500));
    expect(await look(service, token(490))).toMatchObject({
      complete: true,
      seen: 100,
      grounds: { mark: "met", end: "enough", pastMarkMs: 89_000 },
    });
    expect((await look(service, token(490), { service: { clockSkewMs: 120_000 } })).seen).toBe(199);
  });

  it.each<[string, Mark]>([
    ["its token has grown", { id: "p-490", token: "485.5" }],
    ["the service gives no ids", { token: "490" }],
    ["version 0.2.0 noted it", "490"],
  ])("by a mark that is known again although %s", async (_, mark) => {
    expect(await look(listedService(paymentsFrom(1, 500)), mark)).toMatchObject({ complete: true, seen: 100 });
  });

  it.each<[Mark, string]>([
    [null, "unknown"],
    [{ none: true }, "no payment"],
  ])("without a mark (%j) only where the list was read whole", async (mark, said) => {
    expect(await look(listedService(paymentsFrom(1, 300)), mark)).toMatchObject({
      complete: true,
      seen: 300,
      grounds: { mark: said, end: "end" },
    });
  });

  it("at the end of an empty list where no payment of the gateway is known", async () => {
    expect(await look(listedService([]), { none: true })).toMatchObject({ complete: true, seen: 0 });
  });

  it("so far before the bank took the money as its clock may differ, where the mark is no end", async () => {
    const service = listedService(paymentsFrom(1, 5000));
    const flow = { takenAtMs: Date.parse(madeAt(4900)) };
    const seen = await look(service, token(4950), { bankSkewMs: 60_000 }, flow);
    expect(seen).toMatchObject({ complete: true, grounds: { mark: "met", end: "enough" } });
    expect(seen.seen).toBeGreaterThanOrEqual(160);
    expect(seen.seen).toBeLessThan(300);
    expect((await look(service, token(4950), { bankSkewMs: 60_000 }, {})).seen).toBe(5000);
  });

  it("only as a whole where more is listed before its first page than another page shows", async () => {
    const service = listedService(paymentsFrom(1, 5000), (_paging, number) =>
      number === 1 ? { page: paymentsFrom(4701, 4800).reverse() } : undefined,
    );
    expect(await look(service, token(4790))).toMatchObject({ complete: true, seen: 5000, grounds: { end: "end" } });
  });

  it("behind the bank's time only once it has met its mark", async () => {
    const flow = { takenAtMs: Date.parse(madeAt(490)) };
    const seen = await look(listedService(paymentsFrom(1, 500)), token(100), { bankSkewMs: 0 }, flow);
    expect(seen).toMatchObject({ complete: true, seen: 496, grounds: { mark: "met" } });
  });
});

describe("a look is not complete", () => {
  it("where a response says that it comes from a cache", async () => {
    const service = listedService(paymentsFrom(1, 500), (_paging, number) => (number === 2 ? { age: 7 } : { age: 0 }));
    expect(await look(service, token(490))).toMatchObject({
      complete: false,
      problem: "the list came from a cache, 7 s old",
      grounds: { ageSeconds: 7 },
    });
  });

  it("where its mark is not listed", async () => {
    expect(await look(listedService(paymentsFrom(1, 300)), token(301))).toMatchObject({
      complete: false,
      problem: expect.stringContaining("the newest payment from before the money was asked for is not listed"),
      grounds: { mark: "missed", end: "end" },
    });
  });

  it.each(["30, 30", "0, 30", "30,0"])("where several caches say how old the response is (%s)", async (age) => {
    const service = listedService(paymentsFrom(1, 500), () => ({ age }));
    expect(await look(service, token(490))).toMatchObject({
      complete: false,
      problem: "the list came from a cache, 30 s old",
    });
  });

  it("where a payment is missing that this process made after one of a machine whose clock is ahead", async () => {
    const knownPayments = known(0, { id: "p-495", createdAt: madeAt(545) });
    knownPayments.note({ id: "p-501", createdAt: madeAt(501) });
    const payments = paymentsFrom(1, 500).map((payment) =>
      payment.id === "p-495" ? { ...payment, createdAt: madeAt(545) } : payment,
    );
    expect(await look(listedService(payments), token(490), { knownPayments })).toMatchObject({
      complete: false,
      problem: expect.stringContaining("p-501"),
    });
  });

  it("where a page came from a replica that lags behind", async () => {
    const service = listedService(paymentsFrom(1, 300), ({ _before, _after, _size }) =>
      _size === 100 && (_before !== undefined || _after !== undefined) ? { page: [] } : undefined,
    );
    expect(await look(service, null)).toMatchObject({ complete: false, grounds: { end: "gap" } });
  });

  it.each<[string, () => Promise<Partial<LookContext>>]>([
    ["this process", async () => ({ knownPayments: known(60_000, { id: "p-9", createdAt: madeAt(9) }) })],
    ["the journal", async () => ({ journal: await journalWithPayment() })],
  ])("where nothing is listed although %s knows of a payment", async (_, more) => {
    expect(await look(listedService([]), { none: true }, await more())).toMatchObject({
      complete: false,
      problem: expect.stringContaining("no payment at all is listed"),
    });
  });

  it("where a payment is missing that this process has known for longer than the list lags", async () => {
    const newer = { id: "p-501", pagingToken: "501", createdAt: madeAt(501) };
    const service = listedService(paymentsFrom(1, 500));
    expect(await look(service, token(490), { knownPayments: known(0, newer) })).toMatchObject({
      complete: false,
      problem: expect.stringContaining("p-501"),
    });
    // It may not be listed yet.
    expect(await look(service, token(490), { knownPayments: known(60_000, newer) })).toMatchObject({ complete: true });
    // It says which payment shows how fresh the list was.
    expect(await look(service, token(490), { knownPayments: known(0, { ...newer, id: "p-500" }) })).toMatchObject({
      complete: true,
      grounds: { freshBy: "p-500" },
    });
  });

  it("demands no payment that lies further back than it reads", async () => {
    const older = { id: "gone", createdAt: madeAt(5) };
    expect(
      await look(listedService(paymentsFrom(1, 500)), token(490), { knownPayments: known(0, older) }),
    ).toMatchObject({
      complete: true,
    });
  });
});

function known(lagMs: number, payment: Parameters<KnownPayments["note"]>[0]): KnownPayments {
  const payments = new KnownPayments(lagMs, 60_000);
  payments.note(payment);
  return payments;
}

async function journalWithPayment(): Promise<MemoryJournal> {
  const journal = new MemoryJournal();
  const scope = { service: "https://service.test", gateway: "alpha" };
  const lease = { owner: "one", leaseMs: 1000, nonce: "n" };
  const state = { phase: "paid", settled: true, data: "{}", evidence: "" };
  await journal.begin("k", scope, state, lease);
  return Object.assign(journal, { counts: async () => ({ paid: 1 }) });
}
