import { getEventListeners } from "node:events";
import { CrossBorderClient, type Payment } from "cross-border-payments";
import { type PaymentEvent, type WatchOptions, watchPayments } from "cross-border-payments/reconcile";
import { type SandboxServer, type SandboxServerOptions, startSandbox } from "cross-border-payments/sandbox";
import { afterEach, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { BadRequestError, PagingError, TokenError } from "../../src/errors/errors.js";
import { listRecords } from "../../src/paging/listing.js";
import { requireApiClient } from "../../src/reconcile/payments-client.js";
import { readCursor, writeCursor } from "../../src/reconcile/watch-cursor.js";
import { payments as operations } from "../../src/resources/payments.js";
import { deferred } from "../support/deferred.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { compareTexts, paymentsService } from "./payments-service.js";
import { startMs, World } from "./world.js";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});

const keys = signingKeysOf("gateway");
const quick = { everyMs: 5, rereadEveryMs: 10 } satisfies WatchOptions;

/** A service on loopback, its client, and a function that pays once. */
async function openService(options: SandboxServerOptions = {}) {
  const server: SandboxServer = await startSandbox({ basePath: "/gateway/v1", ...options });
  const client = new CrossBorderClient({ ...server.clientOptions, signingKey: keys.privateKey, maxRetries: 0 });
  open.push(server, client);
  for (const institutionId of ["alfa", "bravo"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: keys.publicKeyBase64 });
  }
  const pay = async (transactionId: string): Promise<Payment> => {
    const [senderAccount, receiverAccount, currency] = ["A-1", "B-1", "EUR"];
    const outcome = await client.pay(
      {
        senderGatewayId: "alfa",
        senderCurrency: currency,
        senderAccount,
        receiverGatewayId: "bravo",
        receiverCurrency: currency,
        receiverAccount,
        receiverAmount: "10.00",
        memo: "",
      },
      () => ({ senderGatewayTransactionId: transactionId }),
    );
    if (outcome.status !== "paid") throw new Error("not paid");
    return outcome.payment;
  };
  return { server, sandbox: server.sandbox, client, pay };
}

async function next(events: AsyncIterator<PaymentEvent, void>): Promise<PaymentEvent> {
  const { value } = await events.next();
  if (value === undefined) throw new Error("the watch is over");
  return value;
}

it("hands out payments as they are made, and again when their receiver status changes", async () => {
  const { sandbox, client, pay } = await openService();
  const first = await pay("T-1");
  const events = watchPayments(client, quick);
  expect(await next(events)).toMatchObject({ type: "created", payment: first });
  const second = await pay("T-2");
  expect(await next(events)).toMatchObject({ type: "created", payment: second });
  const reverted = sandbox.setReceiverStatus(first.id, "reverted");
  expect(await next(events)).toMatchObject({ type: "changed", payment: reverted });
  await events.return?.();
});

it("continues behind a stored cursor, with what changed while nobody watched, and nothing else", async () => {
  const { sandbox, client, pay } = await openService();
  const paid = [await pay("T-1"), await pay("T-2")];
  let cursor: string | undefined;
  for await (const event of watchPayments(client, quick)) {
    cursor = event.cursor;
    if (event.payment.id === paid[1]?.id) break;
  }
  const idle = watchPayments(client, { ...quick, after: cursor });
  const third = await pay("T-3");
  expect(await next(idle)).toMatchObject({ type: "created", payment: third });
  await idle.return?.();
  const failed = sandbox.setReceiverStatus(paid[0]?.id ?? "", "error");
  const resumed = watchPayments(client, { ...quick, after: cursor });
  const seen = [await next(resumed), await next(resumed), await next(resumed)];
  // The two that the cursor stands for come as changed, since it does not say which of them did.
  expect(seen.map(({ type, payment }) => [type, payment.id, payment.receiverGatewayStatus])).toEqual([
    ["changed", failed.id, "error"],
    ["changed", paid[1]?.id, "pending"],
    ["created", third.id, "pending"],
  ]);
  await resumed.return?.();
});

it("starts behind a paging token", async () => {
  const { client, pay } = await openService();
  const { pagingToken } = await pay("T-1");
  const second = await pay("T-2");
  const events = watchPayments(client, { ...quick, startAfter: pagingToken });
  expect(await next(events)).toMatchObject({ type: "created", payment: second });
  await events.return?.();
});

it("waits while the service is away, and goes on without losing anything", async () => {
  let refusals = 0;
  const { client, pay } = await openService({
    onRequest: ({ operation }) => {
      if (operation !== "payments.list" || refusals <= 0) return undefined;
      refusals -= 1;
      return refusals % 2 === 0 ? Response.error() : new Response("<h1>away</h1>", { status: 503 });
    },
  });
  const events = watchPayments(client, quick);
  await pay("T-1");
  await next(events);
  refusals = 2;
  const second = await pay("T-2");
  expect(await next(events)).toMatchObject({ type: "created", payment: second });
  expect(refusals).toBe(0);
  await events.return?.();
});

it("throws where the service refuses", async () => {
  const { client } = await openService({
    onRequest: ({ operation }) =>
      operation === "payments.list"
        ? Response.json({ error: "forbidden", message: "not yours" }, { status: 403 })
        : undefined,
  });
  await expect(watchPayments(client, quick).next()).rejects.toMatchObject({ code: "http_403" });
});

it("is over, without an error, when the signal aborts, during a request or a wait or before", async () => {
  const asked = deferred();
  const { client, sandbox } = await openService({
    onRequest: ({ operation }) => {
      if (operation !== "payments.list") return undefined;
      asked.resolve();
      return new Promise<never>(() => {});
    },
  });
  const during = new AbortController();
  const hanging = watchPayments(client, { signal: during.signal }).next();
  await asked.promise;
  during.abort();
  expect(await hanging).toEqual({ done: true, value: undefined });

  const { requests } = sandbox;
  expect(await watchPayments(client, { signal: AbortSignal.abort() }).next()).toEqual({ done: true, value: undefined });
  expect(sandbox.requests).toHaveLength(requests.length);

  const idle = await openService();
  const waiting = new AbortController();
  const pending = watchPayments(idle.client, { signal: waiting.signal, everyMs: 1_000_000 }).next();
  await expect
    .poll(() =>
      idle.sandbox.requests.filter(({ operation, status }) => operation === "payments.list" && status === 200),
    )
    .not.toEqual([]);
  waiting.abort();
  expect(await pending).toEqual({ done: true, value: undefined });
});

it("ends a wait when the loop is left from outside", async () => {
  const { client, sandbox } = await openService();
  const events = watchPayments(client, { everyMs: 1_000_000 });
  const pending = events.next();
  await expect
    .poll(() => sandbox.requests.some(({ operation, status }) => operation === "payments.list" && status === 200))
    .toBe(true);
  await events.return?.();
  expect(await pending).toEqual({ done: true, value: undefined });
});

it("reads only new payments between two looks at the recent ones, and lets go of old ones", async () => {
  const payments = Array.from({ length: 1000 }, (_, index) => {
    const createdMs = startMs + index * 1000;
    return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments, requestMs: 0 });
  const options = { rereadForMs: 50_000, everyMs: 1000, rereadEveryMs: 20_000, size: 50 };
  let count = 0;
  for await (const { type } of world.watch(options, startMs + 1_000_000)) if (type === "created") count += 1;
  expect(count).toBeGreaterThan(990);
  // In steady state: of twenty polls, nineteen read one payment, and one the window of 50 and what came since.
  const steady = world.requests.slice(-400);
  const read = steady.reduce((sum, { items }) => sum + items, 0);
  expect(read / steady.length).toBeLessThan(10);
  const afters = steady.slice(-100).flatMap(({ after }) => (after === undefined ? [] : [Number(after)]));
  expect(Math.min(...afters)).toBeGreaterThan(890);
});

it("says that payments without paging tokens, or with tokens in no order, can't be watched", async () => {
  const { client } = paymentsService([{ id: "p1", createdAt: "2026-01-01T00:00:00Z" }]);
  await expect(watchPayments(client).next()).rejects.toThrow(/without pagingToken .* can't be watched/);

  const payments = Array.from({ length: 200 }, (_, index) => {
    const createdMs = startMs - (200 - index) * 3_600_000;
    return { id: `p${index}`, token: `${(index * 7919) % 1009}-x`, createdMs, listedMs: createdMs, changes: [] };
  });
  const events = new World({ payments }).watch({}, startMs + 3_600_000);
  const readAll = async () => {
    for await (const event of events) void event;
  };
  await expect(readAll()).rejects.toThrow(PagingError);
});

it("keeps everything where nothing shows yet that tokens follow time", async () => {
  const createdMs = startMs - 10 * 86_400_000;
  const payments = Array.from({ length: 30 }, (_, index) => ({
    id: `p${index}`,
    token: `${(index * 7) % 31}`,
    createdMs: createdMs + index * 1000,
    listedMs: index < 15 ? startMs : startMs + 20 * 86_400_000,
    changes: [],
  }));
  const world = new World({ payments });
  const options = { everyMs: 3_600_000, rereadEveryMs: 3_600_000 };
  let count = 0;
  for await (const { type } of world.watch(options, startMs + 30 * 86_400_000)) if (type === "created") count += 1;
  expect(count).toBe(30);
});

it("hands out a payment that is listed late while the first two are read", async () => {
  const paymentOf = (id: string, token: string, createdMs: number, listedMs = createdMs) => ({
    id,
    token,
    createdMs: startMs + createdMs,
    listedMs: startMs + listedMs,
    changes: [],
  });
  const payments = [paymentOf("p0", "1", 160), paymentOf("p1", "4", 390, 1201), paymentOf("p2", "7", 601)];
  const world = new World({ payments, requestMs: 300 });
  const ids: string[] = [];
  for await (const { payment } of world.watch({ rereadEveryMs: 5000 }, startMs + 60_000)) ids.push(payment.id);
  expect(ids).toEqual(["p0", "p2", "p1"]);
});

it("keeps what a restart found, but has not handed out, behind its cursor", async () => {
  const payments = Array.from({ length: 300 }, (_, index) => {
    const createdMs = startMs + index * 1000;
    // While nobody watches, one payment of the first half is listed late, and one changes.
    const changes = index === 10 ? [{ atMs: startMs + 400_000, status: "reverted" }] : [];
    return {
      id: `p${index}`,
      token: `${index + 1}`,
      createdMs,
      listedMs: index === 5 ? startMs + 400_000 : createdMs,
      changes,
    };
  });
  // The service's own time goes on, too.
  const laterMs = startMs + 3_000_000;
  payments.push({ id: "p300", token: "301", createdMs: laterMs, listedMs: laterMs, changes: [] });
  const world = new World({ payments });
  const options = { rereadForMs: 500_000, everyMs: 10_000, rereadEveryMs: 10_000, size: 5 };
  let after: string | undefined;
  for await (const { cursor } of world.watch(options, startMs + 350_000)) after = cursor;
  world.nowMs = startMs + 3_000_000;
  const ids = new Map<string, string>();
  let events = 0;
  for (let lives = 0; lives < 10; lives += 1) {
    let left = 7;
    for await (const { payment, cursor } of world.watch({ ...options, after }, world.nowMs + 100_000)) {
      ids.set(payment.id, payment.receiverGatewayStatus);
      after = cursor;
      events += 1;
      left -= 1;
      if (left === 0) break;
    }
    if (left === 7) break;
  }
  expect([ids.has("p5"), ids.get("p10")]).toEqual([true, "reverted"]);
  // The rest is as the cursor says, and does not come again.
  expect(events).toBeLessThan(50);
});

it.each([
  [9, 0],
  [999, 0],
  [999, 990],
])(
  "throws, and says why, when numbers that are ordered as texts get a digit more than %i",
  async (last, startAfter) => {
    const payments = Array.from({ length: 30 }, (_, index) => {
      const createdMs = startMs + index * 10_000;
      return { id: `p${index}`, token: `${last - 8 + index}`, createdMs, listedMs: createdMs, changes: [] };
    });
    const world = new World({ payments, compare: compareTexts });
    const options = { rereadForMs: 30_000, everyMs: 1000, rereadEveryMs: 5000, startAfter: `${last - 9}` };
    const { startAfter: _, ...withoutStart } = options;
    const ids = new Set<string>();
    const readAll = async () => {
      const untilMs = startMs + 3_000_000;
      for await (const { payment } of world.watch(startAfter > 0 ? options : withoutStart, untilMs))
        ids.add(payment.id);
    };
    const error = await readAll().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // Where all of the list still fits on a page, it may go on.
    if (error === undefined) expect(ids.size).toBe(30);
    else expect(error).toBeInstanceOf(PagingError);
  },
);

it("notices with the next poll that a number is ordered before those with a digit less, and says what helps", async () => {
  const payments = Array.from({ length: 40 }, (_, index) => {
    const createdMs = startMs + index * 60_000;
    return { id: `p${index}`, token: `${980 + index}`, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments, compare: compareTexts });
  const ids: string[] = [];
  const readAll = async () => {
    const options = { startAfter: "979", rereadEveryMs: 7_200_000 };
    for await (const { payment } of world.watch(options, startMs + 3_600_000)) ids.push(payment.id);
  };
  const error = await readAll().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PagingError);
  expect((error as PagingError).message).toContain("reconcilePayments reads all of them");
  // All up to 999. That 1000 is not behind it shows within a poll, long before the window is read again.
  expect(ids).toEqual(payments.slice(0, 20).map(({ id }) => id));
  expect(world.nowMs - (startMs + 20 * 60_000)).toBeLessThan(11_000);
});

const refused = (status: number) => {
  const response = { status, headers: {}, text: "" };
  return new BadRequestError("no", { code: `http_${status}`, response, serviceMessage: "no" });
};

it.each<[what: string, answer: (rows: readonly Partial<Payment>[]) => readonly Partial<Payment>[]]>([
  [
    "refuses to say what lies behind the newest payment",
    () => {
      throw refused(400);
    },
  ],
  ["has a payment behind the newest one by then", (rows) => rows.slice(2)],
  ["gives the newest one as what lies behind it", (rows) => rows.slice(1, 2)],
])("goes on where the service %s", async (_, answer) => {
  const rows = [1, 2, 3].map((number) => {
    const createdAt = new Date(startMs + number * 1000).toISOString();
    return { id: `p${number}`, pagingToken: `${number}`, createdAt };
  });
  // The second payment is the newest before it comes to the list behind the first.
  const { client, requested } = paymentsService(rows, ({ _sort, _after, _before }, number) => {
    if (_sort === "createdAt.desc") return rows.slice(1, 2);
    if (_sort === "pagingToken.desc") return answer(rows);
    return number < 12 ? rows.slice(0, _after === undefined && _before === undefined ? 1 : 0) : undefined;
  });
  const ids: string[] = [];
  for await (const { payment } of watchPayments(client, { everyMs: 1, rereadEveryMs: 60_000 })) {
    ids.push(payment.id);
    if (ids.length === 2) break;
  }
  expect(ids).toEqual(["p1", "p2"]);
  expect(requested.some(({ _sort }) => _sort === "pagingToken.desc")).toBe(true);
});

it("says, where the service refuses that question, that what is created after its start is not listed there", async () => {
  const rows = ["999", "1000"].map((pagingToken, index) => {
    return { id: `p${index}`, pagingToken, createdAt: `2026-01-01T00:00:0${index}Z` };
  });
  const respond = ({ _sort }: PagingValues, number: number) => {
    if (_sort === "pagingToken.desc" || number > 60) throw refused(400);
    return undefined;
  };
  const { client } = paymentsService(rows, respond, compareTexts);
  const events = watchPayments(client, { startAfter: "999", everyMs: 1, rereadEveryMs: 1 });
  await expect(events.next()).rejects.toThrow("the newest payment is not listed");
});

it("throws what else the service says of that question", async () => {
  const rows = [1, 2].map((number) => ({
    id: `p${number}`,
    pagingToken: `${number}`,
    createdAt: `2026-01-01T00:00:0${number}Z`,
  }));
  const { client } = paymentsService(rows, ({ _sort, _after, _before }) => {
    if (_sort === "createdAt.desc") return undefined;
    if (_sort === "pagingToken.desc") throw refused(401);
    return _after === undefined && _before === undefined ? rows.slice(0, 1) : [];
  });
  const readAll = async () => {
    for await (const event of watchPayments(client, { everyMs: 1 })) void event;
  };
  await expect(readAll()).rejects.toMatchObject({ code: "http_401" });
});

it("takes the newest payment for one that was there before where it starts behind it, and for a hidden one where a cursor knows an older one", async () => {
  const rows = (tokens: readonly number[]) =>
    tokens.map((token, index) => {
      const createdMs = startMs - (9 - index) * 60_000;
      return { id: `p${token}`, token: `${token}`, createdMs, listedMs: createdMs, changes: [] };
    });
  const late = { id: "late", token: "9", createdMs: startMs + 60_000, listedMs: startMs + 60_000, changes: [] };
  const idsAfter = async (start: WatchOptions, tokens: readonly number[], compare?: typeof compareTexts) => {
    const world = new World({ payments: [...rows(tokens), late], ...(compare && { compare }) });
    const ids: string[] = [];
    for await (const { payment } of world.watch({ ...start, rereadEveryMs: 10_000 }, startMs + 120_000))
      ids.push(payment.id);
    return ids;
  };
  const cursor = (newestMs?: number) =>
    writeCursor("https://service.test/api", { after: "5", stretches: [], newestMs });
  expect(await idsAfter({ startAfter: "3" }, [])).toEqual(["late"]);
  expect(await idsAfter({ startAfter: "3" }, [1, 2, 3])).toEqual(["late"]);
  expect(await idsAfter({ after: cursor() }, [1, 5, 3])).toEqual(["late"]);
  await expect(idsAfter({ after: cursor(startMs - 8 * 60_000) }, [1, 5, 3])).rejects.toThrow(
    "the newest payment is not listed",
  );
});

it("waits longer after each failure of its first request, and reads back no further than its cursor goes", async () => {
  const payments = Array.from({ length: 1000 }, (_, index) => {
    const createdMs = startMs - (1000 - index) * 1000;
    return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments, failing: new Set([1, 2, 3]) });
  let after: string | undefined;
  let left = 60;
  for await (const { cursor } of world.watch({ size: 50 }, startMs + 1_000_000)) {
    after = cursor;
    // Three quarters of 1, 2 and 4 s.
    if (left === 60) expect(Math.floor((world.nowMs - startMs) / 100)).toBe(52);
    left -= 1;
    if (left === 0) break;
  }
  const { length } = world.requests;
  for await (const { payment } of world.watch({ size: 50, after }, startMs + 1_000_000)) {
    expect(payment.id).toBe("p60");
    break;
  }
  expect(world.requests.length - length).toBeLessThan(8);
});

it("leaves old payments behind page by page when it begins, with a cursor too", async () => {
  const payments = Array.from({ length: 151 }, (_, index) => {
    const createdMs = index === 150 ? startMs : startMs - 30 * 86_400_000 + index * 60_000;
    return { id: `p${index + 1}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments });
  const cursors = new Map<string, string>();
  const watch = async (after?: string) => {
    const events = world.watch({ size: 50, after }, world.nowMs + 20_000);
    for await (const { payment, cursor } of events) cursors.set(payment.id, cursor);
  };
  const endAt = (id: string) => readCursor("https://service.test/api", cursors.get(id) ?? "").after;
  await watch();
  expect(["p50", "p51", "p101"].map(endAt)).toEqual([undefined, "50", "100"]);
  const cursor = cursors.get("p60");
  cursors.clear();
  await watch(cursor);
  expect(["p61", "p101"].map(endAt)).toEqual(["50", "100"]);
});

it.each([
  ["one of the payments", 19, "19"],
  ["the newest payment", 149, undefined],
])("counts from now, while it begins, what follows the unreadable time of %s", async (_, without, end) => {
  const rows = Array.from({ length: 150 }, (_, index) => ({
    id: `p${index + 1}`,
    pagingToken: `${index + 1}`,
    createdAt: index === without ? "" : new Date(startMs - (40_000 - index) * 3_600_000).toISOString(),
  }));
  const { client } = paymentsService(rows, ({ _sort }) => (_sort === "createdAt.desc" ? rows.slice(-1) : undefined));
  for await (const { payment, cursor } of watchPayments(client, { size: 50 })) {
    if (payment.id !== "p51") continue;
    expect(readCursor("https://service.test/api", cursor).after).toBe(end);
    break;
  }
});

it.each([0, 3_600_000, -3_600_000])(
  "reads again, with a cursor, what was handed out before it, with a clock that is %i ms ahead",
  async (aheadMs) => {
    const payments = Array.from({ length: 100 }, (_, index) => {
      const createdMs = startMs - 100_000 + index * 1000;
      const changes = index === 10 ? [{ atMs: startMs + 50_000, status: "reverted" }] : [];
      return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes };
    });
    const world = new World({ payments, aheadMs });
    const options = { rereadForMs: 200_000, everyMs: 1000, rereadEveryMs: 5000 };
    let after: string | undefined;
    for await (const { cursor } of world.watch({ ...options, startAfter: "0" }, startMs + 10_000)) after = cursor;
    const ids: string[] = [];
    for await (const { payment } of world.watch({ ...options, after }, startMs + 100_000)) ids.push(payment.id);
    expect(ids).toEqual(["p10"]);
  },
);

it("reads a payment that it sees live again from then on, whatever its time of creation", async () => {
  const payments = Array.from({ length: 120 }, (_, index) => {
    const listedMs = startMs + index * 1000 + (index < 50 ? 0 : 80_000);
    const isOld = index === 50;
    const changes = isOld ? [{ atMs: listedMs + 55_000, status: "reverted" }] : [];
    const createdMs = listedMs - (isOld ? 86_400_000 : 0);
    return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs, changes };
  });
  const world = new World({ payments });
  const options = { rereadForMs: 60_000, everyMs: 1000, rereadEveryMs: 2000 };
  const changed: string[] = [];
  for await (const { type, payment } of world.watch(options, startMs + 200_000)) {
    if (type === "changed") changed.push(payment.id);
  }
  expect(changed).toEqual(["p50"]);
});

it("takes in a payment that comes between a poll and the question for the newest, where there was none", async () => {
  const payment = { id: "p1", token: "1", createdMs: startMs, listedMs: startMs + 2600, changes: [] };
  const world = new World({ payments: [payment], requestMs: 300 });
  const ids: string[] = [];
  for await (const event of world.watch({ everyMs: 1000 }, startMs + 10_000)) ids.push(event.payment.id);
  expect(ids).toEqual(["p1"]);
});

it("waits for an identity server as long as that asks, by the time since 1970", async () => {
  const failure = () => new TokenError("later", { code: "token_throttled", heldUntilMs: startMs + 50_000 });
  const payment = { id: "p1", token: "1", createdMs: startMs, listedMs: startMs, changes: [] };
  const world = new World({ payments: [payment], failing: new Set([1]), failure });
  for await (const _ of world.watch({}, startMs + 100_000)) break;
  expect(Math.floor((world.nowMs - startMs) / 1000)).toBe(50);
});

it("hands out nothing more of a page once its signal aborts, and leaves no listener on it", async () => {
  const rows = [1, 2, 3].map((number) => ({
    id: `p${number}`,
    pagingToken: `${number}`,
    createdAt: "2026-01-01T00:00:00Z",
  }));
  const { client } = paymentsService(rows);
  const stop = new AbortController();
  const ids: string[] = [];
  for await (const { payment } of watchPayments(client, { signal: stop.signal })) {
    ids.push(payment.id);
    stop.abort();
  }
  expect(ids).toEqual(["p1"]);
  const { signal } = new AbortController();
  for await (const _ of watchPayments(client, { signal })) break;
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(() => watchPayments({ close: async () => {} })).toThrow("watchPayments: the client must be");
});

it("reads such a list by the advice that it gives", async () => {
  const rows = Array.from({ length: 250 }, (_, index) => ({ id: `p${index}`, pagingToken: `${900 + index}` }));
  const { client } = paymentsService(rows, undefined, compareTexts);
  const query = { sort: "pagingToken.asc", trustCursor: true } as const;
  const listed = await listRecords(requireApiClient("test", client), operations.list, [], query, undefined).toArray({
    max: 1000,
  });
  expect(new Set(listed.map(({ id }) => id)).size).toBe(250);
  expect(listed).toHaveLength(250);
});

it("asks for the newest payment only where a poll brings nothing, and for what lies behind it only where it is not known", async () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const createdMs = startMs + index * 1000;
      return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes: [] };
    });
  const options = { everyMs: 1000, rereadEveryMs: 3_600_000 };
  const requestsOf = async (count: number) => {
    const world = new World({ payments: rows(count) });
    for await (const event of world.watch(options, startMs + 100_000)) void event;
    return world.requests.length;
  };
  // A poll that brings one payment takes four: that one, nothing between it and the last one, and twice that there are no more.
  expect(await requestsOf(200)).toBeLessThan(405);
  expect(await requestsOf(1)).toBeLessThan(205);
  // Of an empty list each poll asks twice.
  expect(await requestsOf(0)).toBeLessThan(305);
});

it("notices at once, not after the window, that UUIDs come before the place where it started", async () => {
  const payments = Array.from({ length: 200 }, (_, index) => {
    const createdMs = startMs - 100_000 + index * 1000;
    const token = `${((index * 7919) % 1009).toString(16).padStart(4, "0")}-4000`;
    return { id: `p${index}`, token, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments });
  const startAfter = payments.findLast(({ listedMs }) => listedMs <= startMs)?.token;
  const options = { startAfter, everyMs: 1000, rereadEveryMs: 2000 };
  const readAll = async () => {
    for await (const event of world.watch(options, startMs + 1_000_000)) void event;
  };
  await expect(readAll()).rejects.toThrow(/the newest payment is not listed/);
  expect(world.nowMs - startMs).toBeLessThan(60_000);
});

it("continues in the order of texts, where that of time is the same", async () => {
  const payments = Array.from({ length: 300 }, (_, index) => {
    const createdMs = startMs + index * 1000;
    const token = `t${index.toString(36).padStart(6, "0")}`;
    return { id: `p${index}`, token, createdMs, listedMs: createdMs, changes: [] };
  });
  const world = new World({ payments, compare: compareTexts });
  const ids = new Set<string>();
  const options = { rereadForMs: 50_000, everyMs: 1000, rereadEveryMs: 5000 };
  for await (const { payment } of world.watch(options, startMs + 400_000)) ids.add(payment.id);
  expect(ids.size).toBe(300);
});

it("hands out two payments that took over each other's state while nobody watched", async () => {
  const createdAt = "2026-01-01T00:00:00Z";
  const rows = ["processed", "reverted"].map((receiverGatewayStatus, index) => {
    return { id: `p${index}`, pagingToken: `${index + 1}`, createdAt, receiverGatewayStatus };
  });
  let cursor: string | undefined;
  let count = 0;
  for await (const event of watchPayments(paymentsService(rows).client, quick)) {
    cursor = event.cursor;
    count += 1;
    if (count === 2) break;
  }
  const swapped = rows.map((row, index) => ({ ...row, receiverGatewayStatus: rows[1 - index]?.receiverGatewayStatus }));
  const later = watchPayments(paymentsService(swapped as typeof rows).client, { ...quick, after: cursor });
  expect(await next(later)).toMatchObject({
    type: "changed",
    payment: { id: "p0", receiverGatewayStatus: "reverted" },
  });
  await later.return?.();
});

it("hands out changes at the end of the window, which come while the window is being read", async () => {
  const payments = Array.from({ length: 200 }, (_, index) => {
    const createdMs = startMs + index * 1000;
    const changes = [{ atMs: createdMs + 59_900, status: "reverted" }];
    return { id: `p${index}`, token: `${index + 1}`, createdMs, listedMs: createdMs, changes };
  });
  const world = new World({ payments, requestMs: 500 });
  const reverted = new Set<string>();
  const options = { rereadForMs: 60_000, everyMs: 100, rereadEveryMs: 100, size: 5 };
  for await (const { payment } of world.watch(options, startMs + 400_000)) {
    if (payment.receiverGatewayStatus === "reverted") reverted.add(payment.id);
  }
  expect(reverted.size).toBe(200);
});

it("continues behind the last page after a failure", async () => {
  const payments = Array.from({ length: 30 }, (_, index) => {
    return { id: `p${index}`, token: `${index + 1}`, createdMs: startMs, listedMs: startMs, changes: [] };
  });
  // The first request is for the newest payment.
  const world = new World({ payments, failing: new Set([4]) });
  let left = 30;
  for await (const _ of world.watch({ size: 10 }, startMs + 1_000_000)) if (--left === 0) break;
  expect(world.requests.map(({ after }) => after)).toEqual([undefined, undefined, "10", "20", "20"]);
});
