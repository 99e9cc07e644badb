import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { FlowCall } from "../../src/flows/flow-call.js";
import { lookForPayment } from "../../src/flows/looking/look-for-payment.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import type { Payment } from "../../src/resources/payments.js";
import { Alarm } from "../../src/timing/alarm.js";
import { fakeApiClient } from "../paging/fake-api-client.js";
import { type Inspect, readAlong } from "../payments/read-along.js";
import { isThorough } from "../support/thorough.js";
import { flowFixture, isPayment, refusal, request } from "./flow-fixture.js";
import { intent } from "./gateway-client.js";
import { lookContext } from "./look-context.js";

type MadeAt = (token: number) => number;

const inOrder: MadeAt = (token) => token;
const most = 5000;

/** The newest payments have the largest tokens, unless `madeAt` says otherwise: it moves a payment by a few places at most. */
function pageOf(count: number, { _size = 20, _after = "0", _before, _sort = "" }: PagingValues, madeAt: MadeAt) {
  const last = _before === undefined ? count : Number(_before) - 1;
  const first = Number(_after) + 1;
  const listed = (token: number) => ({
    pagingToken: String(token),
    createdAt: new Date(Date.UTC(2026, 0, 1) + 1000 * madeAt(token)).toISOString(),
    senderGatewayTransactionId: `other-${token}`,
  });
  const tokens = (from: number, to: number) =>
    Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  if (_sort.startsWith("createdAt.asc")) {
    const oldest = tokens(first, Math.min(last, first + _size + 4));
    return oldest
      .sort((one, other) => madeAt(one) - madeAt(other) || one - other)
      .slice(0, _size)
      .map(listed);
  }
  if (_sort !== "createdAt.desc") return tokens(first, Math.min(last, first + _size - 1)).map(listed);
  const newest = tokens(Math.max(first, last - _size - 4), last);
  return newest
    .sort((one, other) => madeAt(other) - madeAt(one) || other - one)
    .slice(0, _size)
    .map(listed);
}

/** Reads a list of so many payments, none of which is the one that is looked for. */
async function readMany(
  count: number,
  since: string | null,
  madeAt = inOrder,
  change: (payment: ReturnType<typeof pageOf>[number]) => Partial<Payment> = (payment) => payment,
) {
  const { client, requests } = clientOf(count, madeAt, change);
  return { ...(await readAlong(client, since, () => false, most)), requests: requests() };
}

function clientOf(
  count: number,
  madeAt: MadeAt,
  change: (payment: ReturnType<typeof pageOf>[number]) => Partial<Payment>,
) {
  let requests = 0;
  const client = fakeApiClient({
    call: (_operation, _ids, input) => {
      requests += 1;
      const page = pageOf(count, input?.paging ?? {}, madeAt).map(change);
      return toApiPromise(Promise.resolve(page) as Promise<never>, { response: undefined });
    },
  });
  return { client, requests: () => requests };
}

it.runIf(isThorough)("is not complete where more than 100,000 payments are listed", async () => {
  const { client } = clientOf(100_001, inOrder, (payment) => payment);
  const call = new FlowCall(undefined, new Alarm(), undefined);
  const sought = { intent, senderGatewayTransactionId: "tx-own", claims: [], since: null };
  const { look } = await lookForPayment(lookContext(client), call, sought, "decides");
  expect(look).toMatchObject({ complete: false, problem: "more than 100000 payments are listed" });
});

describe("a look that reads 5,000 payments at most", () => {
  it.each([4999, 5000])("is complete where there are %i", async (count) => {
    const { requests, ...read } = await readMany(count, null);
    expect(read).toEqual({ seen: count, problem: undefined });
    // One for each page, which begins with the last of the page before, one that proves that none was passed over, and a few where the
    // tokens get shorter.
    expect(requests).toBeLessThan(2 * Math.ceil(count / 99) + 12);
  });

  it.each([5001, 15_000])("is incomplete, and ends, where there are %i, whatever their tokens", async (count) => {
    const { seen, problem, requests } = await readMany(count, null);
    expect(problem).toBe("more than 5000 payments are listed");
    expect(seen).toBeLessThan(5200);
    expect(requests).toBeLessThan(2 * Math.ceil(5200 / 99) + 12);
  });

  it("may end at a mark where several payments were made at once", async () => {
    expect(await readMany(1000, "990", (token) => Math.floor(token / 3))).toMatchObject({
      problem: undefined,
      requests: 4,
    });
  });

  it("finds a payment that a machine with a slow clock gave a lower token than the mark's", async () => {
    const { client } = clientOf(
      1000,
      (token) => token / 100,
      (payment) => payment,
    );
    let isFound = false;
    const inspect: Inspect = ({ pagingToken }) => {
      isFound ||= pagingToken === "890";
      return isFound;
    };
    await readAlong(client, "901", inspect);
    expect(isFound).toBe(true);
  });

  it("is incomplete, and ends, where the tokens go no one way", async () => {
    const { problem, requests } = await readMany(15_000, null, (token) => token ^ 3);
    expect(problem).toContain("more than 5000 payments");
    expect(requests).toBe(52);
  });

  const tokenless = ({ pagingToken, ...rest }: { readonly pagingToken: string; readonly createdAt: string }) =>
    pagingToken === "1003" ? rest : { pagingToken, ...rest };
  const swapped: MadeAt = (token) => (token === 1000 ? 1001 : token === 1001 ? 1000 : token);

  it.each<[string, MadeAt, typeof tokenless?]>([
    ["the tokens go no one way at the 5,000th", (token) => (token === 2003 ? 2050 : token)],
    ["the tokens go no one way behind the first 5,000", (token) => (token === 1003 ? 1050 : token)],
    ["one behind the first 5,000 has no token", inOrder, tokenless],
    ["one behind the first 5,000 is passed over", swapped],
  ])("reads nothing twice where %s", async (_, madeAt, change) => {
    const { problem, requests } = await readMany(7000, null, madeAt, change);
    expect(problem).toBe("more than 5000 payments are listed");
    expect(requests).toBeLessThan(110);
  });
});

type Seen = { readonly operation: string | undefined; readonly query: string };
/** Long enough for a busy machine: an operator waits until it is over. */
const leaseMs = 2000;

/**
 * A service with a thousand payments, which counts how often the list is read.
 *
 * @param fields further fields of payments, by paging token.
 */
async function crowdedFixture(onPayment: () => Response | undefined, fields: Record<string, object> = {}) {
  const lists: string[] = [];
  const fixture = await flowFixture({
    onRequest: (seen: Seen) => {
      if (isPayment(seen)) return onPayment();
      if (seen.operation !== "payments.list") return undefined;
      lists.push(seen.query);
      const query = Object.fromEntries(new URLSearchParams(seen.query));
      const page = pageOf(1000, { ...query, _size: Number(query._size) }, (token) => token);
      return Response.json(page.map((payment) => ({ ...payment, ...fields[payment.pagingToken] })));
    },
  });
  const flow: typeof fixture.flow = (options) => fixture.flow({ leaseMs, ...options });
  return { ...fixture, flow, lists };
}

describe("a flow whose money was taken for the first time by the call that began it", () => {
  it("gives the money back after a look that ends at its mark", async () => {
    const { flow, bank, lists } = await crowdedFixture(refusal);
    expect(await flow().run("k", request)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
    // The mark, and one look: a page, and that it begins with the newest payment.
    expect(lists).toHaveLength(3);
  });

  it("ends at that mark when it is taken over before its claim, too", async () => {
    const { flow, bank, lists, sandbox } = await crowdedFixture(() => undefined);
    const stop = new AbortController();
    const takeFunds: typeof bank.takeFunds = (call) => {
      stop.abort();
      return bank.takeFunds(call);
    };
    await expect(flow({ takeFunds }).run("k", request, { signal: stop.signal })).rejects.toMatchObject({
      phase: "funds-requested",
      effect: "possible",
    });
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
    expect(lists).toHaveLength(3);
  });
});

const decision = { by: "Olga Operator", why: "the service's back office has no such payment" };

describe("an operator's release", () => {
  const lost = () => Response.json({ message: "upstream timed out" }, { status: 504 });

  it("ends its look at the mark where the money was taken for the first time after it", async () => {
    const { flow, bank, lists } = await crowdedFixture(lost);
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    lists.length = 0;
    expect(await flow().resolve("k", "release", decision)).toMatchObject({ status: "rejected" });
    expect([bank.released, lists.length]).toEqual([["k"], 2]);
  });

  it("looks at all payments where the money may have been taken before", async () => {
    const { flow, bank, lists } = await crowdedFixture(lost);
    bank.takeFunds({ key: "k" });
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    lists.length = 0;
    expect(await flow().resolve("k", "release", decision)).toMatchObject({ status: "rejected" });
    expect([bank.released, lists.length > 10]).toEqual([["k"], true]);
  });

  it("is refused for a payment of an entry that was lost, which is older than the mark of the one that followed", async () => {
    const { flow, bank } = await crowdedFixture(lost, { "5": { senderGatewayTransactionId: "TX-1" } });
    bank.takeFunds({ key: "k" });
    expect(await flow().run("k", request)).toMatchObject({ status: "held", lookalike: { pagingToken: "5" } });
    await expect(flow().resolve("k", "release", decision)).rejects.toMatchObject({ code: "flow_payment_unseen" });
    expect(bank.released).toEqual([]);
  });
});

describe("a flow whose money may have been taken before", () => {
  it("reads all payments before it is held", async () => {
    const { flow, bank, lists } = await crowdedFixture(refusal);
    bank.takeFunds({ key: "k" });
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    expect(lists.length).toBeGreaterThan(10);
  });
});
