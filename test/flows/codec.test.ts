import { describe, expect, it } from "vitest";
import { FlowCodec } from "../../src/flows/codec.js";
import type { Flow } from "../../src/flows/core/state.js";
import type { JournalEntry } from "../../src/flows/journal.js";
import { request } from "./flow-fixture.js";
import { intent } from "./gateway-client.js";

const hourMs = 3_600_000;
const createdAtMs = 9 * hourMs;
const key = "order-1";
const scope = { service: "service.test", gateway: "alpha-bank" };
const codec = new FlowCodec(undefined, 60_000);

function entryOf(phase: string, data: string): JournalEntry {
  const times = { createdAtMs, updatedAtMs: createdAtMs, readAtMs: createdAtMs };
  return { key, scope, phase, settled: true, data, epoch: 1, revision: 1, nonce: "n", owner: "o", ...times };
}

const quoted: Flow = { phase: "quoted", request, intent };

it("gives back what it stored", async () => {
  const stored = { flow: quoted, history: [{ atMs: 1, phase: "quoted" as const, by: "o" }] };
  const { phase, settled, data, quoteTtlMs } = await codec.encode(key, scope, stored);
  expect([phase, settled, quoteTtlMs]).toEqual(["quoted", true, 60_000]);
  await expect(codec.decode(entryOf(phase, data))).resolves.toEqual(stored);
});

it.each([
  ["another key", { key: "order-2" }],
  ["another gateway", { scope: { ...scope, gateway: "beta-mobile" } }],
  ["another phase", { phase: "paid" }],
  ["a later version", { data: '{"version":4}' }],
  ["no JSON", { data: "x" }],
])("refuses an entry of %s", async (_, change) => {
  const { phase, data } = await codec.encode(key, scope, { flow: quoted, history: [] });
  await expect(codec.decode({ ...entryOf(phase, data), ...change })).rejects.toMatchObject({
    code: "flow_unreadable",
    effect: "possible",
  });
});

describe("of release 0.3.0", () => {
  const claims = [
    { path: "/payments", body: "{}", signature: "c2ln", keyId: "k", epoch: 1, claimedAtMs: 1, sendByMs: 2 },
  ];
  const funded = { request, intent, senderGatewayTransactionId: "TX-1", claims, looks: [], decisions: [] };
  const signed = { senderGatewayTransactionId: "TX-1", path: "/payments", body: "{}", signature: "c2ln" };
  const refusal = { by: "service", status: 400, code: "limit", message: "no" };
  const payment = { id: "p-1" };

  it.each([
    ["declined", { request, intent, reason: "too dear" }, { reason: "too dear" }],
    ["paid", { ...funded, payment }, { payment, signed, begunAtMs: createdAtMs - hourMs }],
    ["rejected", { request, refusal }, { refusal }],
    ["held", { ...funded, reason: "no response came" }, { signed, why: "not-found", tries: { open: 1 } }],
    ["held", { ...funded, takenAtMs: 7 * hourMs }, { begunAtMs: 6 * hourMs }],
  ])("reads what was %s", async (phase, state, is) => {
    const data = JSON.stringify({ version: 2, key, scope, state: { phase, ...state } });
    const { flow } = await codec.decode(entryOf(phase, data));
    expect(flow).toMatchObject({ phase, request, ...is });
  });

  it.each([
    ["funds-requested", { request, intent }],
    ["unknown", funded],
    ["held", { ...funded, claims: [] }],
  ])("refuses what is %s, and only that release can finish", async (phase, state) => {
    const data = JSON.stringify({ version: 2, key, scope, state: { phase, ...state } });
    await expect(codec.decode(entryOf(phase, data))).rejects.toMatchObject({ code: "flow_unreadable" });
  });
});
