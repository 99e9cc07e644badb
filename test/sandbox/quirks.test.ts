import { expect, it } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { intentRequest, type Json, login, openFixture, paymentOf, registerGateways } from "./sandbox-fixture.js";

const keys = signingKeysOf("gateway");

/** A sandbox with the payments T-1, T-2, and T-3. */
async function openWithPayments(options: SandboxOptions) {
  const fixture = await openFixture(options);
  await registerGateways(fixture, keys);
  const intent = await fixture.create("/payment-intents", { ...intentRequest, receiverCurrency: "EUR" });
  const made: Json[] = [];
  for (const id of ["T-1", "T-2", "T-3"]) made.push(await fixture.create("/payments", paymentOf(intent, id), { keys }));
  const list = async (query = "") => (await fixture.send("GET", `/payments?${query}`)).body as Json[];
  const ids = async (query = "") => (await list(query)).map((payment) => payment.senderGatewayTransactionId);
  const [first, , last] = made.map(({ pagingToken }) => pagingToken);
  return { fixture, made, list, ids, between: `_after=${first}&_before=${last}` };
}

it.each([
  ["none", ["T-2"]],
  ["after", ["T-1", "T-2"]],
  ["before", ["T-2", "T-3"]],
  ["both", ["T-1", "T-2", "T-3"]],
] as const)("includes the bounds: %s", async (inclusiveBounds, expected) => {
  for (const textTokens of [false, true]) {
    const { ids, between } = await openWithPayments({ quirks: { inclusiveBounds, textTokens } });
    expect(await ids(between)).toEqual(expected);
  }
});

it("lists the newest first, unless an order is requested", async () => {
  const { ids } = await openWithPayments({ quirks: { newestFirst: true } });
  expect(await ids()).toEqual(["T-3", "T-2", "T-1"]);
  expect(await ids("_sort=pagingToken.asc")).toEqual(["T-1", "T-2", "T-3"]);
});

it("has tokens that are texts, or none", async () => {
  const { made, fixture } = await openWithPayments({ quirks: { textTokens: true } });
  expect(made[0].pagingToken).toMatch(/^t\d{9}$/);
  expect((await fixture.send("GET", "/payments?_after=1")).body.error).toBe("invalid_query");
  const without = await openWithPayments({ pagingTokens: "none" });
  expect(Object.hasOwn(without.made[0], "pagingToken")).toBe(false);
});

it("lists a record late", async () => {
  let nowMs = 0;
  const { ids } = await openWithPayments({ now: () => nowMs, quirks: { listedAfterMs: 100 } });
  expect(await ids()).toEqual([]);
  nowMs = 100;
  expect(await ids()).toHaveLength(3);
});

it("normalizes amounts, and adds a field", async () => {
  const { list } = await openWithPayments({
    fee: "0.50",
    quirks: { normalizesAmounts: true, addsFields: true },
  });
  const [payment] = await list();
  expect(payment).toMatchObject({ receiverAmount: "100", senderAmount: "100.5", addedField: "added" });
});

it("throttles operations, and not logins", async () => {
  const { send, sandbox } = await openFixture({ quirks: { throttle: { max: 1, windowSeconds: 10 } } });
  expect((await send("GET", "/payments")).status).toBe(200);
  expect(await send("GET", "/payments")).toMatchObject({ status: 429, body: { error: "too_many_requests" } });
  expect((await login(sandbox)).status).toBe(200);
});

it("responds slowly", async () => {
  const fixture = await openFixture({ quirks: { delayMs: 50 } });
  const startMs = performance.now();
  await fixture.send("GET", "/payments");
  expect(performance.now() - startMs).toBeGreaterThan(49);
});
