import { getEventListeners } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { AbortedError, ConnectionError, InvalidArgumentError, PermissionDeniedError } from "../../src/errors/errors.js";
import { type Discrepancy, Group } from "../../src/reconcile/compare-group.js";
import type { OwnEntry } from "../../src/reconcile/own-entry.js";
import type { PaymentSummary } from "../../src/reconcile/payment-summary.js";
import type { ReconcileOptions } from "../../src/reconcile/reconcile-options.js";
import { reconcilePayments } from "../../src/reconcile/reconcile-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { setClock } from "../../src/timing/clock.js";
import { compareTexts, paymentsService } from "./payments-service.js";

const period = { from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" };
const dayMs = 86_400_000;
const firstMs = Date.parse("2026-01-01T00:00:00Z");

let temporaryDirectory: string;
beforeEach(() => {
  temporaryDirectory = mkdtempSync(join(tmpdir(), "reconcile-"));
});
afterEach(() => rmSync(temporaryDirectory, { recursive: true }));

/** Ten payments a day from January 2026 on, with these tokens. */
function tenADay(count: number, tokenAt: (index: number) => string = (index) => `${index + 1}`): Partial<Payment>[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    pagingToken: tokenAt(index),
    createdAt: new Date(firstMs + (index * dayMs) / 10).toISOString(),
    senderGatewayId: "alpha",
    senderGatewayTransactionId: `T-${index}`,
    senderAmount: "10.00",
    receiverGatewayStatus: "processed",
  }));
}

/** The entries of the bank for these payments. */
function entriesOf(payments: readonly Partial<Payment>[]): OwnEntry[] {
  return payments.map(({ senderGatewayTransactionId = "", createdAt = "" }) => ({
    senderGatewayTransactionId,
    bookedAt: createdAt,
    senderAmount: "10",
  }));
}

async function all(
  payments: readonly Partial<Payment>[] | ReturnType<typeof paymentsService>,
  own: Parameters<typeof reconcilePayments>[1],
  options: Partial<ReconcileOptions> = {},
): Promise<Discrepancy[]> {
  const { client } = "client" in payments ? payments : paymentsService(payments);
  const found: Discrepancy[] = [];
  for await (const discrepancy of reconcilePayments(client, own, { ...period, ...options })) found.push(discrepancy);
  return found;
}

it("finds nothing where both sides are the same, amounts by value", async () => {
  const payments = tenADay(1000);
  expect(await all(payments, entriesOf(payments))).toEqual([]);
});

it("gives what is missing here, what is missing there, and each field that differs", async () => {
  const payments = tenADay(1000);
  const own = entriesOf(payments).filter(({ senderGatewayTransactionId }) => senderGatewayTransactionId !== "T-602");
  const entry = { senderGatewayTransactionId: "T-lost", bookedAt: "2026-03-02T12:00:00.000Z" };
  const differing = {
    ...entriesOf(payments)[603],
    senderGatewayTransactionId: "T-603",
    senderAmount: "10.01",
    paymentId: "p0",
  };
  const found = await all(payments, [...own.filter((_, index) => index !== 602), entry, differing]);
  expect(found).toHaveLength(3);
  expect(found).toContainEqual({ type: "missing-there", entry });
  expect(found).toContainEqual({ type: "missing-here", payment: expect.objectContaining({ id: "p602" }) });
  expect(found).toContainEqual({
    type: "different",
    entry: { ...differing, bookedAt: expect.any(String) },
    payment: expect.objectContaining({ id: "p603" }),
    differences: [
      { field: "senderAmount", here: "10.01", there: "10.00" },
      { field: "paymentId", here: "p0", there: "p603" },
    ],
  });
});

it.each([
  ["are numbers", (index: number): unknown => index + 1],
  ["are missing", () => undefined],
  ["are null", () => null],
])("takes no payment for two because it was listed twice, where ids %s", async (_, idOf) => {
  const payments = tenADay(640).map((payment, index) => ({ ...payment, id: idOf(index) as string }));
  expect(await all(payments, entriesOf(payments), { size: 20 })).toEqual([]);
});

it("pairs an entry before the period with its payment in it, and reports neither outside of it", async () => {
  const createdAt = "2026-03-02T00:00:10.000000Z";
  const payment = { ...tenADay(1)[0], createdAt, senderGatewayTransactionId: "T-1" };
  const later = {
    ...payment,
    id: "p-later",
    pagingToken: "2",
    createdAt: "2026-03-03T00:30:00Z",
    senderGatewayTransactionId: "T-2",
  };
  const own = [
    { senderGatewayTransactionId: "T-1", bookedAt: new Date("2026-03-01T23:59:50Z") },
    { senderGatewayTransactionId: "T-0", bookedAt: "2026-03-02T01:30:00+02:00" },
  ];
  expect(await all([payment, later], own)).toEqual([]);
  expect(await all([payment, later], own, { slackMs: 0, to: "2026-03-03T02:00:00Z" })).toEqual([
    { type: "missing-here", payment: expect.objectContaining({ id: "p-later" }) },
  ]);
});

it("reports payments without a transaction id one by one, and shows no more than 100 duplicates", async () => {
  const [first] = tenADay(1);
  const createdAt = "2026-03-02T10:00:00Z";
  const many = Array.from({ length: 150 }, (_, index) => ({
    ...first,
    id: `d${index}`,
    createdAt,
    pagingToken: `${index + 10}`,
  }));
  const bare = ["a", "b"].map((id, index) => ({
    ...first,
    id,
    createdAt,
    pagingToken: `${index + 1}`,
    senderGatewayTransactionId: "",
  }));
  const found = await all([...bare, ...many], []);
  expect(found.map(({ type }) => type).sort()).toEqual(["duplicate", "missing-here", "missing-here"]);
  const duplicate = found.find(({ type }) => type === "duplicate");
  expect(duplicate).toMatchObject({ entryCount: 0, paymentCount: 150 });
  expect(duplicate?.type === "duplicate" && duplicate.payments).toHaveLength(100);
});

it("shows no more than 100 entries with one transaction id, and says how many there are", async () => {
  const entry = { senderGatewayTransactionId: "T-1", bookedAt: "2026-03-02T10:00:00Z" };
  const [duplicate] = await all(
    [],
    Array.from({ length: 101 }, () => entry),
  );
  expect(duplicate).toMatchObject({ type: "duplicate", entryCount: 101, paymentCount: 0 });
  expect(duplicate?.type === "duplicate" && duplicate.entries).toHaveLength(100);
});

it("takes two payments for two that have neither an id nor a paging token", () => {
  const group = new Group();
  const bare = { createdAt: "2026-03-02T10:00:00Z" } as PaymentSummary;
  for (const payment of [bare, bare]) group.addPayment(payment, { fromMs: 0, toMs: Number.POSITIVE_INFINITY });
  expect(group.compare()).toMatchObject({ type: "duplicate", paymentCount: 2, payments: [bare, bare] });
});

it("takes the first instant for a part of the period, and the last one for none", async () => {
  const [first] = tenADay(1);
  const at = (createdAt: string, id: string) => ({ ...first, id, createdAt, senderGatewayTransactionId: id });
  const found = await all([at(period.from, "first"), { ...at(period.to, "last"), pagingToken: "2" }], []);
  expect(found).toEqual([{ type: "missing-here", payment: expect.objectContaining({ id: "first" }) }]);
});

it("compares accounts word for word: zeros in front of one are a part of it", async () => {
  const [first] = tenADay(1);
  const payment = { ...first, createdAt: "2026-03-02T10:00:00Z", senderAccount: "100" };
  const entry = { senderGatewayTransactionId: "T-0", senderAccount: "0100" };
  expect(await all([payment], [entry])).toMatchObject([
    { type: "different", differences: [{ field: "senderAccount", here: "0100", there: "100" }] },
  ]);
});

it("takes entries from a database's cursor", async () => {
  const payments = tenADay(1000);
  async function* cursor() {
    yield* entriesOf(payments);
  }
  expect(await all(payments, cursor())).toEqual([]);
});

it("sends the headers that it is given with each request", async () => {
  const service = paymentsService(tenADay(1000));
  await all(service, [], { headers: { "X-Trace": "1" } });
  expect(service.options.length).toBeGreaterThan(1);
  for (const options of service.options) expect(options?.headers).toEqual({ "X-Trace": "1" });
  const without = paymentsService(tenADay(1000));
  await all(without, []);
  for (const options of without.options) expect(options).toEqual({ headers: {}, signal: expect.any(AbortSignal) });
});

describe("a service that is away", () => {
  /** Time passes only where something waits. */
  function passingClock() {
    let nowMs = Date.now();
    const waited: number[] = [];
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs, clearTimer() {}, unrefTimer() {} };
    const setTimer = (work: () => void, ms: number) => {
      nowMs += ms;
      waited.push(ms);
      queueMicrotask(work);
    };
    setClock({ ...clock, setTimer });
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    onTestFinished(() => {
      setClock(undefined);
      vi.restoreAllMocks();
    });
    return waited;
  }
  const payments = tenADay(1000);
  const awayFor = (failures: number) => {
    let left = failures;
    return paymentsService(payments, () => {
      if (left-- > 0) throw new ConnectionError("away");
      return undefined;
    });
  };

  it("is asked again, after a while that grows, and nothing is missing from the result", async () => {
    const waited = passingClock();
    expect(await all(awayFor(10), entriesOf(payments))).toEqual([]);
    expect(waited).toHaveLength(10);
    expect(waited.toSorted((one, other) => one - other)).toEqual(waited);
    expect(waited.at(-1)).toBeGreaterThan(10_000);
  });

  it("ends the comparison with an error where it stays away", async () => {
    const waited = passingClock();
    const service = awayFor(Number.POSITIVE_INFINITY);
    await expect(all(service, [])).rejects.toThrow(ConnectionError);
    expect([waited.length, service.requested.length]).toEqual([10, 11]);
  });

  it("is waited for between two readings of a list that proves nothing", async () => {
    const waited = passingClock();
    await expect(
      all(
        paymentsService(payments, () => []),
        [{ senderGatewayTransactionId: "T", paymentId: "p" }],
      ),
    ).rejects.toThrow(/read completely: no payment at all is listed, and there are some$/);
    expect(waited.filter((ms) => ms >= 900).map(Math.round)).toEqual([1000, 2000, 4000]);
  });

  it("is waited for no longer once the signal aborts", async () => {
    const abort = new AbortController();
    const service = paymentsService(payments, () => {
      setImmediate(() => abort.abort());
      throw new ConnectionError("away");
    });
    await expect(all(service, [], { signal: abort.signal })).rejects.toThrow(
      "reconcilePayments: the caller's signal ended the comparison, which is not complete",
    );
    expect(service.requested).toHaveLength(1);
  });
});

it("reads no more entries once the signal aborts, requests nothing, and leaves no listener on the signal", async () => {
  const abort = new AbortController();
  const service = paymentsService([]);
  async function* cursor() {
    yield { senderGatewayTransactionId: "T-1" };
    abort.abort();
    yield { senderGatewayTransactionId: "T-2" };
    throw new Error("read on");
  }
  await expect(all(service, cursor(), { signal: abort.signal })).rejects.toThrow(AbortedError);
  expect(service.requested).toEqual([]);
  const { signal } = new AbortController();
  await all(service, [], { signal });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("stops reading before the period where tokens follow time", async () => {
  const service = paymentsService(tenADay(1000));
  await all(service, entriesOf(tenADay(1000)), { size: 50 });
  // The newest 400 payments, the period's 10 and one page of overlap, each page with a request that proves that nothing was passed over.
  expect(service.requested.length).toBeLessThan(20);
});

it.each([
  ["tokens are in no order", (index: number) => `${(index * 7919) % 100_003}-${index}`],
  ["tokens fall", (index: number) => `${1_000_000 - index}`],
])("reads everything where %s", async (_, tokenAt) => {
  const payments = tenADay(1000, tokenAt);
  expect(await all(payments, entriesOf(payments).slice(0, -390))).toEqual([]);
});

it("is not misled by a service that sorts only what it cut out", async () => {
  const payments = tenADay(1000);
  const service = paymentsService(payments, ({ _sort, _size = 20, _after }) => {
    if (!_sort?.startsWith("createdAt.desc")) return undefined;
    return payments.slice(_after === undefined ? 0 : Number(_after), _size).reverse();
  });
  const found = await all(
    service,
    entriesOf(payments).filter(({ senderGatewayTransactionId }) => senderGatewayTransactionId !== "T-605"),
  );
  expect(found).toEqual([{ type: "missing-here", payment: expect.objectContaining({ id: "p605" }) }]);
});

describe("a list that lies", () => {
  beforeEach(() => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
  });

  it.each(Array.from({ length: 12 }, (_, at) => at + 1))(
    "reports nothing missing where page %i is empty once",
    async (at) => {
      const payments = tenADay(900);
      const service = paymentsService(payments, (_, number) => (number === at ? [] : undefined));
      const own = entriesOf(payments).map((entry, index) => ({ ...entry, paymentId: `p${index}` }));
      expect(await all(service, own, { from: "2026-01-01T00:00:00Z", to: "2026-04-01T00:00:00Z", size: 50 })).toEqual(
        [],
      );
    },
  );

  it.each(Array.from({ length: 8 }, (_, at) => at + 1))(
    "reports what is there, and nothing else, where request %i is answered by a replica that lags behind",
    async (at) => {
      const payments = tenADay(120);
      const before = paymentsService(payments.slice(0, -1));
      const service = paymentsService(payments, (paging, number) => (number === at ? before.list(paging) : undefined));
      const options = { from: "2026-01-01T00:00:00Z", to: "2026-04-01T00:00:00Z", size: 50 };
      expect(await all(service, entriesOf(payments), options)).toEqual([]);
      expect(await all(service, entriesOf(payments).slice(0, -1), options)).toMatchObject([
        { type: "missing-here", payment: { id: "p119" } },
      ]);
    },
  );

  it.each<[string, (paging: PagingValues) => readonly Partial<Payment>[] | undefined]>([
    ["empty", () => []],
    ["empty behind the first page", ({ _after, _before }) => ((_after ?? _before) ? [] : undefined)],
  ])("ends with an error and no result where it stays %s", async (_, respond) => {
    const payments = tenADay(900);
    const own = entriesOf(payments).map((entry, index) => ({ ...entry, paymentId: `p${index}` }));
    const options = { from: "2026-01-01T00:00:00Z", to: "2026-04-01T00:00:00Z" };
    await expect(all(paymentsService(payments, respond), own, options)).rejects.toMatchObject({
      name: "PagingError",
      code: "paging_end_unproved",
    });
  });

  it("is right where it is empty, and no entry names a payment", async () => {
    const entry = { senderGatewayTransactionId: "T-1", bookedAt: "2026-03-02T12:00:00.000Z" };
    expect(await all([], [entry])).toEqual([{ type: "missing-there", entry }]);
  });
});

it("reads a payment that got a higher token than one made after it, wherever a page ends", async () => {
  for (let count = 680; count < 720; count += 1) {
    const payments = tenADay(count, (index) => `${index === 605 ? 607 : index === 606 ? 606 : index + 1}`);
    const own = entriesOf(payments).filter(({ senderGatewayTransactionId }) => senderGatewayTransactionId !== "T-605");
    const found = await all(payments, own, { size: 20 });
    expect(found).toEqual([{ type: "missing-here", payment: expect.objectContaining({ id: "p605" }) }]);
  }
});

it.each([
  [90, 910],
  [900, 1000],
  [1, 999],
])("reads all payments where numbers from %i on, %i of them, are ordered as texts", async (first, count) => {
  const payments = tenADay(count, (index) => `${first + index}`);
  for (const size of [50, 37]) {
    const service = paymentsService(payments, undefined, compareTexts);
    expect(await all(service, [], { from: "2020-01-01T00:00:00Z", size })).toHaveLength(Math.min(count, 610));
  }
});

it("refuses payments of several sending gateways unless it knows its own", async () => {
  const payments = tenADay(1000);
  const foreign = { ...payments[604], id: "foreign", senderGatewayId: "omega", pagingToken: "605.5" };
  const listed = [...payments, { ...foreign, pagingToken: "2000", createdAt: "2026-03-02T23:59:00Z" }];
  await expect(all(listed, entriesOf(payments))).rejects.toThrow(/several sending gateways .* pass senderGatewayId/);
  expect(await all(listed, entriesOf(payments), { senderGatewayId: ["alpha", "alpha-id"] })).toEqual([]);
});

it("compares what an entry has by the getters of its class", async () => {
  class Booked {
    readonly #cents = 1001;
    readonly senderGatewayTransactionId = "T-603";
    readonly bookedAt = "2026-03-02T12:00:00.000Z";
    get senderAmount(): string {
      return (this.#cents / 100).toFixed(2);
    }
  }
  const payments = tenADay(1000);
  const own = entriesOf(payments).map((entry, index) => (index === 603 ? new Booked() : entry));
  expect(await all(payments, own)).toMatchObject([{ type: "different", differences: [{ field: "senderAmount" }] }]);
});

it.each([
  ["an unknown field", { senderGatewayTransactionId: "T", amount: "1" }, /own entry 2: there is no field "amount"/],
  [
    "a number as amount",
    { senderGatewayTransactionId: "T", senderAmount: 12.5 },
    /own entry 2: senderAmount must be a decimal numeral/,
  ],
  ["no transaction id", { senderAmount: "1" }, /own entry 2: senderGatewayTransactionId must be/],
  [
    "a time without a zone",
    { senderGatewayTransactionId: "T", bookedAt: "2026-03-02 10:00:00" },
    /own entry 2: bookedAt must be/,
  ],
  ["null", null, /own entry 2: it must be an object; found null/],
  ["a text", "T", /own entry 2: it must be an object; found a string/],
  ["a field of no payment", { T: "1" }, /there are senderGatewayTransactionId, paymentId, senderCurrency, /],
  [
    "an amount that is no numeral",
    { senderGatewayTransactionId: "T", senderAmount: "1,5" },
    /own entry 2: senderAmount must be a decimal numeral/,
  ],
  [
    "a number as account",
    { senderGatewayTransactionId: "T", senderAccount: 100 },
    /own entry 2: senderAccount must be a string; leave out what you do not know; found a number/,
  ],
  [
    "a time in an object",
    { senderGatewayTransactionId: "T", bookedAt: Object("2026-03-02T10:00:00Z") },
    /own entry 2: bookedAt must be/,
  ],
])("refuses an entry with %s before it requests anything", async (_, entry, message) => {
  const service = paymentsService([]);
  const own = [{ senderGatewayTransactionId: "T-1" }, entry] as OwnEntry[];
  await expect(all(service, own)).rejects.toThrow(message);
  await expect(all(service, own)).rejects.toThrow(InvalidArgumentError);
  expect(service.requested).toEqual([]);
});

it.each(["2026-02-30T00:00:00Z", "2025-02-29T12:00:00+01:00", "2026-04-31T00:00Z", "2026-06-00T00:00:00Z"])(
  "refuses an entry of a day that no calendar has: %s",
  async (bookedAt) => {
    const service = paymentsService([]);
    const entry = { senderGatewayTransactionId: "T", bookedAt };
    await expect(all(service, [entry])).rejects.toThrow(/own entry 1: bookedAt must be/);
    expect(service.requested).toEqual([]);
  },
);

it.each([
  ["from behind to", { from: period.to, to: period.from }, /from must lie before to/],
  ["a period that is not over", { to: new Date(Date.now() + 60_000) }, /must not lie in the future/],
  ["a day without a zone", { from: "2026-03-01" }, /from must be a Date, or ISO 8601 with a time zone/],
  ["a day that no calendar has", { from: "2026-02-30T00:00:00Z" }, /from must be a Date, or ISO 8601/],
  ["a last day that no calendar has", { to: "2026-02-30T00:00:00Z" }, /to must be a Date, or ISO 8601/],
  ["an unknown option", { slack: 5 }, /unknown option "slack"/],
])("refuses %s at once", (_, options, message) => {
  const { client } = paymentsService([]);
  expect(() => reconcilePayments(client, [], { ...period, ...options })).toThrow(message);
});

it("refuses what is no client, and what are no entries", () => {
  const { client } = paymentsService([]);
  expect(() => reconcilePayments({ close: async () => {} }, [], period)).toThrow(
    /^reconcilePayments: the client must be a CrossBorderClient/,
  );
  for (const own of ["T-1", {}, 7, undefined]) {
    expect(() => Reflect.apply(reconcilePayments, undefined, [client, own, period])).toThrow(
      /own must be your entries/,
    );
  }
});

it("keeps nothing readable in its file, leaves nothing behind, and says when it can't write", async () => {
  const payments = tenADay(1000);
  const during: string[][] = [];
  const service = paymentsService(payments, () => {
    during.push(readdirSync(temporaryDirectory));
    return undefined;
  });
  const options = { maxInMemory: 3, temporaryDirectory };
  expect(await all(service, entriesOf(payments), options)).toEqual([]);
  expect(during.length).toBeGreaterThan(3);
  if (process.platform !== "win32") expect(during.flat()).toEqual([]);
  expect(readdirSync(temporaryDirectory)).toEqual([]);
  const missing = { ...options, temporaryDirectory: join(temporaryDirectory, "missing") };
  await expect(all(payments, entriesOf(payments), missing)).rejects.toMatchObject({
    code: "temporary_file_failed",
    message: expect.stringContaining("ENOENT"),
  });
});

it("ends with an error, and no result, where the signal aborts or the service refuses", async () => {
  const payments = tenADay(1000);
  const abort = new AbortController();
  const aborting = paymentsService(payments, (_, number) => {
    if (number === 3) abort.abort();
    return undefined;
  });
  await expect(all(aborting, [], { signal: abort.signal })).rejects.toThrow(AbortedError);
  const response = { status: 403, headers: {}, text: "" };
  const refusal = new PermissionDeniedError("no", { code: "http_403", response, serviceMessage: "not yours" });
  const refusing = paymentsService(payments, (_, number) => {
    if (number === 3) throw refusal;
    return undefined;
  });
  await expect(all(refusing, [])).rejects.toBe(refusal);
});
