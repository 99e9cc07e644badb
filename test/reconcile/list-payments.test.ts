import { getEventListeners } from "node:events";
import { type ListPaymentsOptions, listPayments } from "cross-border-payments/reconcile";
import { expect, it } from "vitest";
import type { Payment } from "../../src/resources/payments.js";
import { refusal } from "../paging/select-page.js";
import { halfHourly, ModelService, noonMs, startMs } from "./model-service.js";

const dayMs = 86_400_000;
const yesterday = { from: new Date(startMs - dayMs), to: new Date(startMs) };

async function idsOf(service: ModelService, options: Partial<ListPaymentsOptions> = {}): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listPayments(service.client, { ...yesterday, ...options })) ids.push(String(id));
  return ids;
}

it("gives the newest first, reads no further back than the period, and has no end unless one is given", async () => {
  const service = new ModelService(halfHourly, {}, noonMs);
  const yesterdays = Array.from({ length: 48 }, (_, index) => `p${215 - index}`);
  expect(await idsOf(service)).toEqual(yesterdays);
  expect(service.requests.map(({ _sort, _size }) => [_sort, _size])).toEqual([
    ["createdAt.desc", 100],
    ["createdAt.desc", 100],
  ]);
  expect(await idsOf(new ModelService(halfHourly, {}, noonMs), { to: undefined })).toHaveLength(72);
});

it("gives a payment whose time can't be read in every period", async () => {
  const fields = { createdAt: "soon" } as Partial<Payment>;
  const service = new ModelService([...halfHourly, { createdMs: startMs, fields }], {}, noonMs);
  expect(await idsOf(service)).toContain("p240");
});

it("reads on to the end unless it is stated that tokens follow time", async () => {
  const counts = [false, true].map(async (tokensFollowTime) => {
    const service = new ModelService(halfHourly, { cap: 10 }, noonMs);
    expect((await idsOf(service, { tokensFollowTime })).length).toBe(48);
    return service.requests.length;
  });
  const [whole = 0, bounded = 0] = await Promise.all(counts);
  expect(whole).toBeGreaterThan(24);
  expect(bounded).toBeLessThan(13);
});

it("starts again after requests fail, and gives each payment once", async () => {
  const ids = await idsOf(new ModelService(halfHourly, { cap: 10, failing: new Set([1, 12, 20]) }, noonMs));
  expect([ids.length, new Set(ids).size]).toEqual([48, 48]);
});

it("ends with what the service says, and with the caller's signal", async () => {
  const refused = new ModelService(halfHourly, { failure: () => refusal(403) }, noonMs);
  await expect(idsOf(refused)).rejects.toMatchObject({ code: "http_403" });
  expect(refused.requests).toHaveLength(1);
  const away = new ModelService(halfHourly, { failing: new Set([1, 2, 3, 4]) }, noonMs);
  const signal = away.signalAt(noonMs + 10);
  await expect(idsOf(away, { signal })).rejects.toMatchObject({ code: "aborted" });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("gives up a service that stays away", async () => {
  const failing = new Set(Array.from({ length: 100 }, (_, index) => index + 1));
  const service = new ModelService(halfHourly, { failing }, noonMs);
  await expect(idsOf(service)).rejects.toMatchObject({ code: "connection_failed" });
  expect(service.requests).toHaveLength(11);
});

it("requests nothing more after a break", async () => {
  const service = new ModelService(halfHourly, {}, noonMs);
  for await (const _ of listPayments(service.client, yesterday)) break;
  expect(service.requests).toHaveLength(1);
});
