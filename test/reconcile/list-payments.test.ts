import { getEventListeners } from "node:events";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it, vi } from "vitest";
import { AbortedError, InvalidArgumentError, PagingError } from "../../src/errors/errors.js";
import { type ListPaymentsOptions, listPayments } from "../../src/reconcile/list-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { compareTexts, type PaymentsService, paymentsService } from "./payments-service.js";

const yesterday = { from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" };
const dayMs = 86_400_000;
const firstMs = Date.parse("2026-01-01T00:00:00Z");

/** Ten payments a day from January 2026 on, with these tokens. */
function tenADay(count: number, tokenAt: (index: number) => string = (index) => `${index + 1}`): Partial<Payment>[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    pagingToken: tokenAt(index),
    createdAt: new Date(firstMs + (index * dayMs) / 10).toISOString(),
  }));
}

async function idsOf(
  { client }: Pick<PaymentsService, "client">,
  options: Partial<ListPaymentsOptions> = {},
): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listPayments(client, { ...yesterday, ...options })) ids.push(id);
  return ids;
}

const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `p${first + index}`);

// Pauses between two readings take no time.
const withoutPauses = () => vi.spyOn(Math, "random").mockReturnValue(0);
afterEach(() => void vi.restoreAllMocks());

describe("the payments of a period", () => {
  it("are each given once, the newest first: from the first instant up to the end, which is not part of it", async () => {
    const service = paymentsService(tenADay(1000));
    expect(await idsOf(service, { size: 50 })).toEqual(idsFrom(600, 10).reverse());
    // The newest 400 payments and the period's 10, and what proves that none was passed over: not all thousand.
    expect(service.requested.length).toBeLessThan(20);
  });

  it("have no end where none is given, and times may be in any zone", async () => {
    const { client } = paymentsService(tenADay(1000));
    const ids: string[] = [];
    const from = "2026-03-02T02:00:00+02:00";
    for await (const { id } of listPayments(client, { from })) ids.push(id);
    expect(ids).toEqual(idsFrom(600, 400).reverse());
    expect(await idsOf({ client }, { from: new Date(yesterday.from) })).toHaveLength(10);
  });

  it.each([
    ["are in no order", (index: number) => `${(index * 7919) % 100_003}-${index}`, undefined],
    ["fall", (index: number) => `${1_000_000 - index}`, undefined],
    ["are numbers in the order of texts", (index: number) => `${90 + index}`, compareTexts],
  ])("are all given where paging tokens %s", async (_, tokenAt, compare) => {
    for (const size of [37, 50]) {
      const ids = await idsOf(paymentsService(tenADay(1000, tokenAt), undefined, compare), { size });
      expect(ids.toSorted()).toEqual(idsFrom(600, 10));
    }
  });

  it("are all given where more than a page were created at the first instant", async () => {
    const payments = tenADay(700).map((payment, index) =>
      index < 600 ? payment : { ...payment, createdAt: yesterday.from },
    );
    expect(await idsOf(paymentsService(payments), { size: 20 })).toHaveLength(100);
  });

  it("are all given where none has an id", async () => {
    const service = paymentsService(tenADay(700).map(({ id: _, ...payment }) => payment));
    expect(await idsOf(service)).toHaveLength(10);
  });

  it("are asked for with the caller's headers, and leave no listener on its signal", async () => {
    const service = paymentsService(tenADay(1000));
    const { signal } = new AbortController();
    await idsOf(service, { headers: { "X-Trace": "1" }, signal });
    const options = { headers: { "X-Trace": "1" }, signal: expect.any(AbortSignal) };
    expect(service.options).toEqual(service.requested.map(() => options));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("are all given where the list is short", async () => {
    for (const count of [0, 1, 2, 19, 21]) {
      const ids = await idsOf(paymentsService(tenADay(count)), { from: "2026-01-01T00:00:00Z", size: 5 });
      expect(ids.toSorted()).toEqual(idsFrom(0, count).toSorted());
    }
  });

  // The second is one only in the zone of whichever machine reads it, the third in that of whoever thinks of the day.
  it.each(["soon", "2026-03-01T00:00:00", "2026-03-01"])(
    "are given where their time can't be read: %s",
    async (time) => {
      const payments = tenADay(700);
      for (const [index, createdAt] of [time, ""].entries()) Object.assign(payments[index + 5] ?? {}, { createdAt });
      const period = { from: "2026-02-01T00:00:00Z", to: "2026-02-02T00:00:00Z" };
      // The second is listed last. That there are such payments shows before the period is over.
      expect(await idsOf(paymentsService(payments), period)).toEqual(expect.arrayContaining(["p5", "p6"]));
    },
  );

  it.each([
    ["tokens go one way", (index: number) => `${index + 1}`],
    ["tokens are in no order", (index: number) => `${(index * 7919) % 100_003}-${index}`],
  ])("are all given, or an error, whichever page is empty once where %s", async (_, tokenAt) => {
    withoutPauses();
    const counting = paymentsService(tenADay(900, tokenAt));
    await idsOf(counting, { size: 100 });
    for (let at = 1; at <= counting.requested.length; at += 1) {
      const service = paymentsService(tenADay(900, tokenAt), (_, number) => (number === at ? [] : undefined));
      const ids = await idsOf(service, { size: 100 }).catch((error: unknown) => error);
      if (ids instanceof PagingError) continue;
      expect((ids as string[]).toSorted(), `page ${at} of ${counting.requested.length}`).toEqual(idsFrom(600, 10));
    }
  });

  it.each([
    [
      "empty behind its first page",
      ({ _after, _before }: { _after?: unknown; _before?: unknown }) => _after ?? _before,
    ],
    ["empty in the order of tokens", ({ _sort }: { _sort?: unknown }) => _sort === "pagingToken.asc"],
  ])("end with an error where the list stays %s", async (_, isEmpty) => {
    withoutPauses();
    const inNoOrder = tenADay(900, (index) => `${(index * 7919) % 100_003}-${index}`);
    const service = paymentsService(inNoOrder, (paging) => (isEmpty(paging) ? [] : undefined));
    await expect(idsOf(service)).rejects.toMatchObject({ name: "PagingError", code: "paging_end_unproved" });
  });

  it("are read again where a cache gave them, and end with an error where it goes on doing so", async () => {
    withoutPauses();
    const once = paymentsService(tenADay(900), undefined, undefined, (number) => (number === 1 ? { age: "7" } : {}));
    expect((await idsOf(once)).toSorted()).toEqual(idsFrom(600, 10));
    const counting = paymentsService(tenADay(900));
    await idsOf(counting);
    expect(once.requested.length).toBe(2 * counting.requested.length);
    const always = paymentsService(tenADay(900), undefined, undefined, () => ({ age: "7" }));
    await expect(idsOf(always)).rejects.toMatchObject({
      code: "paging_end_unproved",
      message:
        "payments.list: the payments of the period can't be read completely: the list came from a cache, 7 s old",
    });
    expect(always.requested.length).toBe(4 * counting.requested.length);
  });

  it("end with an error where payments without paging tokens are listed", async () => {
    const payments = tenADay(900).map(({ pagingToken: _, ...payment }) => payment);
    await expect(idsOf(paymentsService(payments))).rejects.toMatchObject({ name: "PagingError", code: "paging" });
  });

  it("are requested as they are asked for, and no more after a break", async () => {
    const { client, requested } = paymentsService(tenADay(1000));
    const all = listPayments(client, { from: "2026-01-01T00:00:00Z", size: 50 });
    expect(requested).toHaveLength(0);
    for await (const _ of all) break;
    const { length } = requested;
    expect(length).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(requested).toHaveLength(length);
  });

  it("end with what the service says, and with the caller's signal", async () => {
    const failing = paymentsService(tenADay(1000), (_, number) => {
      if (number === 4) throw new AbortedError("as a call whose signal aborts");
      return undefined;
    });
    await expect(idsOf(failing, { from: "2026-01-01T00:00:00Z", size: 50 })).rejects.toThrow(AbortedError);
    const stop = new AbortController();
    const lying = paymentsService(
      tenADay(900, (index) => `${(index * 7919) % 100_003}-${index}`),
      ({ _sort }) => {
        if (_sort !== "pagingToken.asc") return undefined;
        stop.abort();
        return [];
      },
    );
    await expect(idsOf(lying, { signal: stop.signal })).rejects.toThrow("listPayments: the caller's signal ended");
  });

  it.each([
    [{ from: "2026-02-30T00:00:00Z" }, "from must be a Date, or ISO 8601 with a time zone"],
    [{ from: "2026-03-02" }, "from must be a Date, or ISO 8601 with a time zone"],
    [{ from: undefined }, "from must be a Date"],
    [{ from: { [Symbol.toStringTag]: "Date" } as never }, "from must be a Date"],
    [{ from: new Date(Number.NaN) }, "from must be a Date"],
    [{ to: yesterday.from }, "from must lie before to"],
    [{ to: "2026-02-30T00:00:00Z" }, "to must be a Date, or ISO 8601 with a time zone"],
    [{ size: 0 }, "size must be a whole number above 0"],
    [{ until: 5 }, 'unknown option "until"'],
  ])("are refused with %j", (options, said) => {
    const { client, requested } = paymentsService([]);
    const call = () => listPayments(client, { ...yesterday, ...options } as ListPaymentsOptions);
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(`listPayments: ${said}`);
    expect(requested).toEqual([]);
  });

  it("may begin with a Date of another realm, as Jest's tests get from Node", async () => {
    const from: Date = runInNewContext(`new Date(${JSON.stringify(yesterday.from)})`);
    expect(await idsOf(paymentsService(tenADay(700)), { from })).toEqual(idsFrom(600, 10).reverse());
  });

  it("are refused without options, and of what is no client", () => {
    const { client } = paymentsService([]);
    expect(() => listPayments(client, null as never)).toThrow("listPayments: the options must be an object");
    expect(() => listPayments({ close: async () => {} }, yesterday)).toThrow("listPayments: the client must be");
  });
});
