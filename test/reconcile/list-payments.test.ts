import { getEventListeners } from "node:events";
import { type ListPaymentsOptions, listPayments } from "cross-border-payments/reconcile";
import { describe, expect, it } from "vitest";
import type { Payment } from "../../src/resources/payments.js";
import { type ModelPayment, ModelService, ordinaryServices, refusal, startMs } from "./model-service.js";

const dayMs = 86_400_000;
const yesterday = { from: new Date(startMs - dayMs), to: new Date(startMs) };

/** Two an hour for five days, up to half a day after the period. */
const payments: readonly ModelPayment[] = Array.from({ length: 240 }, (_, index) => ({
  createdMs: startMs + dayMs / 2 - (240 - index) * (dayMs / 48),
}));
const nowMs = startMs + dayMs / 2;
/** Those of yesterday. */
const wanted = payments.flatMap(({ createdMs }, index) =>
  createdMs >= startMs - dayMs && createdMs < startMs ? [index] : [],
);

async function idsOf(service: ModelService, options: Partial<ListPaymentsOptions> = {}): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listPayments(service.client, { ...yesterday, ...options })) ids.push(String(id));
  return ids;
}

describe.each(ordinaryServices)("%s", (_, features) => {
  it("gives each payment of a day once, and no other", async () => {
    const service = new ModelService(payments, features, nowMs);
    const all = service.all();
    const ids = await idsOf(service);
    expect(ids.sort()).toEqual(wanted.map((index) => String(all[index]?.id)).sort());
  });
});

it("gives the newest first, reads no further back than the period, and has no end unless one is given", async () => {
  const service = new ModelService(payments, {}, nowMs);
  expect(await idsOf(service)).toEqual(wanted.map((index) => `p${index}`).reverse());
  expect(service.requests.map(({ _sort, _size }) => [_sort, _size])).toEqual([
    ["createdAt.desc", 100],
    ["createdAt.desc", 100],
  ]);
  expect(await idsOf(new ModelService(payments, {}, nowMs), { to: undefined })).toHaveLength(72);
});

it("gives a payment whose time can't be read in every period", async () => {
  const fields = { createdAt: "soon" } as Partial<Payment>;
  const service = new ModelService([...payments, { createdMs: startMs, fields }], {}, nowMs);
  expect(await idsOf(service)).toContain("p240");
});

it("reads on to the end unless it is stated that tokens follow time", async () => {
  const counts = [false, true].map(async (tokensFollowTime) => {
    const service = new ModelService(payments, { cap: 10 }, nowMs);
    expect((await idsOf(service, { tokensFollowTime })).length).toBe(48);
    return service.requests.length;
  });
  const [whole = 0, bounded = 0] = await Promise.all(counts);
  expect(whole).toBeGreaterThan(24);
  expect(bounded).toBeLessThan(13);
});

it.each([1, 2, 3, 5, 8])("starts again after request %i fails, and gives each payment once", async (number) => {
  const service = new ModelService(payments, { cap: 10, failing: new Set([number]) }, nowMs);
  const ids = await idsOf(service);
  expect([ids.length, new Set(ids).size]).toEqual([48, 48]);
});

it("ends with an error if the reading can't be completed, after what it found", async () => {
  const service = new ModelService(payments, { cap: 10, bounds: "ignored" }, nowMs);
  const found: unknown[] = [];
  const read = async () => {
    for await (const { id } of listPayments(service.client, { ...yesterday, from: new Date(0), to: undefined }))
      found.push(id);
  };
  await expect(read()).rejects.toMatchObject({ name: "PagingError" });
  expect(found.length).toBeGreaterThan(0);
});

it("ends with what the service says, and with the caller's signal", async () => {
  const refused = new ModelService(payments, { failure: () => refusal(403) }, nowMs);
  await expect(idsOf(refused)).rejects.toMatchObject({ code: "http_403" });
  expect(refused.requests).toHaveLength(1);
  const away = new ModelService(payments, { failing: new Set([1, 2, 3, 4]) }, nowMs);
  const signal = away.signalAt(nowMs + 10);
  await expect(idsOf(away, { signal })).rejects.toMatchObject({ code: "aborted" });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("gives up a service that stays away", async () => {
  const failing = new Set(Array.from({ length: 100 }, (_, index) => index + 1));
  const service = new ModelService(payments, { failing }, nowMs);
  await expect(idsOf(service)).rejects.toMatchObject({ code: "connection_failed" });
  expect(service.requests).toHaveLength(11);
});

it("requests nothing more after a break", async () => {
  const service = new ModelService(payments, {}, nowMs);
  for await (const _ of listPayments(service.client, yesterday)) break;
  expect(service.requests).toHaveLength(1);
});
