import { getEventListeners } from "node:events";
import { type PaymentEvent, type WatchOptions, watchPayments } from "cross-border-payments/reconcile";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Payment } from "../../src/resources/payments.js";
import { runs } from "../support/thorough.js";
import { type ModelPayment, ModelService, ordinaryServices, startMs } from "./model-service.js";

const minuteMs = 60_000;

/** One a minute, the last of them a minute before the start. */
function minutely(count: number): readonly ModelPayment[] {
  return Array.from({ length: count }, (_, index) => ({ createdMs: startMs - (count - index) * minuteMs }));
}

/** What a watch hands out until it is so late. */
async function watch(service: ModelService, untilMs: number, options: WatchOptions = {}): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  const signal = service.signalAt(untilMs);
  for await (const event of watchPayments(service.client, { signal, ...options })) events.push(event);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  return events;
}

const told = ({ type, payment }: PaymentEvent) => `${type} ${payment.id} ${payment.receiverGatewayStatus}`;

it("continues after a stored cursor with what changed while nobody watched, and nothing else", async () => {
  const payments = minutely(40).map((payment, index) =>
    index === 7 ? { ...payment, changes: [{ atMs: startMs + minuteMs, status: "error" }] } : payment,
  );
  const service = new ModelService([...payments, { createdMs: startMs + 2 * minuteMs }]);
  const first = await watch(service, startMs + 1000);
  expect(first).toHaveLength(40);
  service.nowMs = startMs + 3 * minuteMs;
  const second = await watch(service, startMs + 4 * minuteMs, { after: first.at(-1)?.cursor });
  expect(second.map(told)).toEqual(["changed p7 error", "created p40 pending"]);
  const third = await watch(service, startMs + 5 * minuteMs, { after: first[29]?.cursor });
  expect(third.map(told).slice(0, 3)).toEqual(["changed p7 error", "created p30 pending", "created p31 pending"]);
  expect(third).toHaveLength(12);
});

it("begins with payments of a time", async () => {
  const service = new ModelService(minutely(40));
  const since = new Date(startMs - 3 * minuteMs);
  expect((await watch(service, startMs + 1000, { since })).map(({ payment }) => payment.id)).toEqual([
    "p37",
    "p38",
    "p39",
  ]);
});

it("remembers the newest payments: changes and late payments before them are outside", async () => {
  const change = [{ atMs: startMs + minuteMs, status: "reverted" }];
  const payments = minutely(100).map((payment) => ({ ...payment, changes: change }));
  const late = [10, 60].map((minutes) => ({
    createdMs: startMs - minutes * minuteMs - 1000,
    lateMs: (minutes + 2) * minuteMs,
  }));
  const service = new ModelService([...payments, ...late]);
  const events = await watch(service, startMs + 5 * minuteMs, { remember: 20, rereadEveryMs: 30_000 });
  const later = events.slice(100).map(told);
  expect(later.filter((text) => text.startsWith("created"))).toEqual(["created p100 pending"]);
  expect(later.filter((text) => text.startsWith("changed"))).toHaveLength(20);
});

it("hands out more payments of one instant than it remembers, whenever it is restarted", async () => {
  const payments = Array.from({ length: 60 }, () => ({ createdMs: startMs - minuteMs }));
  const service = new ModelService(payments);
  const ids = new Set<string>();
  let after: string | undefined;
  for (let life = 0; life < 12; life += 1) {
    let left = 7;
    for await (const event of watchPayments(service.client, {
      after,
      remember: 5,
      signal: service.signalAt(service.nowMs + 1000),
    })) {
      if (left-- === 0) break;
      ids.add(event.payment.id);
      after = event.cursor;
    }
  }
  expect(ids.size).toBe(60);
});

it("reads little between two rereadings, and no further back than it remembers", async () => {
  const payments = Array.from({ length: 900 }, (_, index) => ({ createdMs: startMs + (index - 600) * 10_000 }));
  const service = new ModelService(payments);
  await watch(service, startMs + 20 * minuteMs);
  const requests = service.requests.slice(12);
  expect(requests.every(({ _sort }) => _sort === "createdAt.desc")).toBe(true);
  // Two requests every ten seconds, and one more for each rereading.
  expect(requests.length).toBeLessThan(2 * 120 + 20);
});

it.each<[what: string, fields: Partial<Payment>, message: RegExp]>([
  ["no id", { id: "" }, /a payment without an id is listed/],
  ["no time", { createdAt: "soon" }, /a payment without a createdAt that can be read is listed/],
])("says that payments with %s can't be watched", async (_, fields, message) => {
  const service = new ModelService([{ createdMs: startMs - minuteMs, fields }]);
  await expect(watchPayments(service.client).next()).rejects.toThrow(message);
});

it("requests nothing before it is asked, nor with a signal that has aborted, and ends with return() at once", async () => {
  const service = new ModelService(minutely(3));
  const signal = AbortSignal.abort();
  expect(await watchPayments(service.client, { signal }).next()).toEqual({ done: true, value: undefined });
  const events = watchPayments(service.client);
  expect(service.requests).toEqual([]);
  await events.next();
  const requests = service.requests.length;
  await events.return?.();
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(service.requests).toHaveLength(requests);
});

it("hands out nothing more of a batch once its signal aborts", async () => {
  const service = new ModelService(minutely(3));
  const controller = new AbortController();
  const ids: string[] = [];
  for await (const { payment } of watchPayments(service.client, { signal: controller.signal })) {
    ids.push(payment.id);
    controller.abort();
  }
  expect(ids).toEqual(["p0"]);
});

describe("a cursor", () => {
  const cursorOf = async (count: number) =>
    (await watch(new ModelService(minutely(count)), startMs + 1000)).at(-1)?.cursor ?? "";

  it("stays below 50,000 characters, however many payments were handed out", async () => {
    const payments = minutely(700).map((payment, index) => ({
      ...payment,
      fields: { id: `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000` },
    }));
    const events = await watch(new ModelService(payments), startMs + 1000);
    const cursor = events.at(-1)?.cursor ?? "";
    expect([events.length, cursor.length < 50_000]).toEqual([700, true]);
  });

  it.each<[what: string, change: (cursor: string) => string, message: RegExp]>([
    ["not a cursor", () => "12345", /after isn't a cursor of watchPayments/],
    ["JSON of something else", () => "{}", /after isn't a cursor of watchPayments/],
    ["cut off", (cursor) => cursor.slice(0, -10), /or not all of one/],
    ["of an earlier version", () => "pw1.abc.0123456789abcdef", /an earlier version/],
    ["of another service", (cursor) => cursor.replace("service.test", "other.test"), /another service/],
  ])("is refused at once if it is %s", async (_, change, message) => {
    const cursor = await cursorOf(3);
    const { client, requests } = new ModelService([]);
    expect(() => watchPayments(client, { after: change(cursor) })).toThrow(message);
    expect(requests).toEqual([]);
  });
});

const latestMs = 60_000;

const worlds = fc
  .array(
    fc.record({
      gapMs: fc.integer({ min: 0, max: 700 }),
      lateMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: latestMs })),
      changes: fc.array(
        fc.record({
          afterMs: fc.integer({ min: 1, max: latestMs }),
          status: fc.constantFrom("processed", "error", "reverted"),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 100, size: "max" },
  )
  .map((list) => {
    let createdMs = startMs;
    return list.map(({ gapMs, lateMs, changes }): Required<Omit<ModelPayment, "fields">> => {
      createdMs += gapMs;
      const inOrder = changes.map(({ afterMs, status }) => ({ atMs: createdMs + afterMs, status }));
      inOrder.sort((one, other) => one.atMs - other.atMs);
      return { createdMs, lateMs, changes: inOrder };
    });
  });

/** What one process does before it dies: so many events or so long, the last events not stored with their cursor. */
const lives = fc.array(
  fc.record({
    events: fc.integer({ min: 0, max: 60 }),
    unstored: fc.integer({ min: 0, max: 5 }),
    liveMs: fc.integer({ min: 0, max: 3 * latestMs }),
    downMs: fc.integer({ min: 0, max: 3 * latestMs }),
  }),
  { maxLength: 8 },
);

const failing = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 40 }).map((list) => new Set(list));
const services = fc.constantFrom(...ordinaryServices.map(([, features]) => features));

async function liveThrough(
  service: ModelService,
  lastMs: number,
  deaths: readonly { events: number; unstored: number; liveMs: number; downMs: number }[],
  options: WatchOptions,
): Promise<ReadonlyMap<string, string>> {
  const stored = new Map<string, string>();
  let after: string | undefined;
  const lastLife = { events: Number.POSITIVE_INFINITY, unstored: 0, liveMs: 10 * latestMs, downMs: 0 };
  for (const { events, unstored, liveMs, downMs } of [...deaths, lastLife]) {
    const isLast = events === lastLife.events;
    const signal = service.signalAt((isLast ? Math.max(lastMs, service.nowMs) : service.nowMs) + liveMs);
    const seen = new Map<string, string>();
    const waiting: PaymentEvent[] = [];
    let left = events;
    for await (const event of watchPayments(service.client, { ...options, after, signal })) {
      if (left-- <= 0) break;
      const { id, receiverGatewayStatus } = event.payment;
      // Within one process, nothing is created twice, and a change is one.
      if (event.type === "created") expect(seen.has(id)).toBe(false);
      expect(seen.get(id)).not.toBe(receiverGatewayStatus);
      seen.set(id, receiverGatewayStatus);
      waiting.push(event);
      const done = waiting.length > unstored ? waiting.shift() : undefined;
      if (done === undefined) continue;
      stored.set(String(done.payment.id), done.payment.receiverGatewayStatus);
      after = done.cursor;
    }
    service.nowMs += downMs;
  }
  return stored;
}

it("hands out every payment and its last status, whatever is listed late, fails, or is restarted", () =>
  expectAllHandedOut({ isLate: true, options: {} }));

it("hands out every payment that is listed in time, however few it remembers", () =>
  expectAllHandedOut({ isLate: false, options: { remember: 10 } }));

/** Statuses are compared only if each payment is remembered. */
async function expectAllHandedOut({ isLate, options }: { isLate: boolean; options: WatchOptions }): Promise<void> {
  await fc.assert(
    fc.asyncProperty(worlds, lives, failing, services, async (world, deaths, failures, features) => {
      const payments = isLate ? world : world.map((payment) => ({ ...payment, lateMs: 0 }));
      const service = new ModelService(payments, { ...features, failing: failures, requestMs: 20 });
      const lastMs = startMs + payments.length * 700 + 2 * latestMs;
      const stored = await liveThrough(service, lastMs, deaths, { everyMs: 2000, rereadEveryMs: 5000, ...options });
      const expected = new Map(
        service.all().map(({ id, receiverGatewayStatus }) => [String(id), receiverGatewayStatus]),
      );
      if (isLate) expect(stored).toEqual(expected);
      else expect([...stored.keys()].sort()).toEqual([...expected.keys()].sort());
    }),
    { numRuns: runs(60) },
  );
}
