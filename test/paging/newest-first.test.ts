import { describe, expect, it } from "vitest";
import { createdMsOf, type NewestFirstOptions, newestFirst, type ReadingEnd } from "../../src/paging/newest-first.js";
import { payments } from "../../src/resources/payments.js";
import { type ModelOptions, type ModelPayment, ModelService, ordinaryServices } from "../reconcile/model-service.js";

const hourMs = 3_600_000;
const startMs = Date.parse("2026-11-22T00:00:00Z");

/** Payments of an hour each, the last of them an hour ago. */
function hourly(count: number): readonly ModelPayment[] {
  return Array.from({ length: count }, (_, index) => ({ createdMs: startMs - (count - index) * hourMs }));
}

async function read(service: ModelService, options: Partial<NewestFirstOptions> = {}) {
  const pages = newestFirst(service.api, payments.list, {
    since: Number.NEGATIVE_INFINITY,
    clockSkewMs: 60_000,
    ...options,
  });
  const ids = new Set<string>();
  for (;;) {
    const { done, value } = await pages.next();
    if (done) return { ids, end: value as ReadingEnd };
    for (const { id } of value) ids.add(String(id));
  }
}

describe.each(ordinaryServices)("%s", (_, features) => {
  it.each([0, 1, 2, 12, 105, 230])("gives all of %i payments, and the reading is complete", async (count) => {
    const service = new ModelService(hourly(count), features);
    const { ids, end } = await read(service, { toTheEnd: true });
    expect(end).toEqual({ complete: true });
    expect(ids).toEqual(new Set(service.all().map(({ id }) => String(id))));
  });
});

const yesterday = { since: startMs - 24 * hourMs };

it.each<[name: string, features: ModelOptions]>([
  ["full pages", { sort: "cut" }],
  ["capped pages", { sort: "cut", cap: 10 }],
])("takes no time bound from a service that sorts only what it cut out: %s", async (_, features) => {
  const bounded = await read(new ModelService(hourly(230), features), { ...yesterday, tokensFollowTime: true });
  expect(bounded.end).toEqual({ complete: false, reason: "time_bound" });
  const service = new ModelService(hourly(230), features);
  const { ids, end } = await read(service, { ...yesterday, tokensFollowTime: true, toTheEnd: true });
  expect([ids.size, end]).toEqual([230, { complete: true }]);
});

it.each<ModelOptions>([{ cap: 10 }, { cap: 10, bounds: "inclusive" }])(
  "takes no capped page of the last minute for the whole list: %j",
  async (features) => {
    const recent = Array.from({ length: 30 }, (_, index) => ({ createdMs: startMs - (31 - index) * 1000 }));
    const { ids, end } = await read(new ModelService(recent, features), { toTheEnd: true });
    expect([ids.size, end]).toEqual([30, { complete: true }]);
  },
);

it("proves nothing if records have no tokens", async () => {
  const fields = { pagingToken: undefined as never };
  const service = new ModelService(hourly(230).map((payment) => ({ ...payment, fields })));
  expect((await read(service, yesterday)).end).toMatchObject({ complete: false });
});

it("gives a payment that comes while it is read, and is complete", async () => {
  const service = new ModelService([...hourly(230), { createdMs: startMs - 1 }, { createdMs: startMs + 8 }]);
  const { ids, end } = await read(service, yesterday);
  expect([ids.has("p231"), end]).toEqual([true, { complete: true }]);
  // One that should have been there before contradicts the page.
  const late = { createdMs: startMs - 2 * hourMs, lateMs: 2 * hourMs + 10 };
  expect((await read(new ModelService([...hourly(230), late]), yesterday)).ids).toContain("p230");
});

it("passes on size, headers, and signal", async () => {
  const service = new ModelService(hourly(3));
  const { signal } = new AbortController();
  const headers = { "x-trace": "1" };
  await read(service, { size: 7, headers, signal });
  expect(service.requests.map(({ _size }) => _size)).toEqual([7, 7, 7]);
  for (const options of service.options) expect(options).toEqual({ signal, headers });
});

const instant = Date.parse("2026-11-22T10:00:00.123Z");

it.each([
  ["2026-11-22T10:00:00.123Z", instant],
  ["2026-11-22T10:00:00.123456789Z", instant],
  ["2026-11-22T13:00:00.123+03:00", instant],
  ["2026-11-22T06:30:00.123-0330", instant],
  ["2026-11-22T10:00:00.123", instant],
  ["2026-11-22 10:00:00.123456", instant],
  ["2026-11-22 10:00:00.123456+00", instant],
  ["2026-11-22 12:00:00.123456 +02", instant],
  ["2026-11-22 10:00:00.123456 UTC", instant],
  ["2026-11-22T10:00:00,123z", instant],
  ["2026-11-22T10:00:00.12Z", instant - 3],
  ["2026-11-22T10:00Z", instant - 123],
  [" 2026-11-22 10:00:00 ", instant - 123],
])("reads %s as the same instant in any zone of the machine", (text, ms) => {
  expect(createdMsOf({ createdAt: text })).toBe(ms);
});

it.each([
  "",
  "2026-11-22",
  "22.11.2026 10:00",
  "2026-13-22T10:00:00Z",
  "2026-11-22T25:00:00Z",
  "soon",
  1_763_805,
  null,
])("can't read %j", (value) => {
  expect(createdMsOf({ createdAt: value })).toBeNaN();
});
