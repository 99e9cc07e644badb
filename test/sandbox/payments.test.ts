import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { ExchangeRate } from "../../src/index.js";
import { exact } from "../../src/money.js";
import type { SandboxOptions } from "../../src/sandbox/index.js";
import { quote } from "../../src/sandbox/payments.js";
import { signingKeysOf } from "../support/key-pairs.js";
import {
  intentRequest,
  type Json,
  openFixture,
  paymentOf,
  registerGateways,
  registerRate,
  signatureOf,
} from "./sandbox-fixture.js";

const keys = signingKeysOf("gateway");
const otherKeys = signingKeysOf("stranger");

/** Two gateways with a rate between them, and an intent. */
async function openMarket(options: SandboxOptions = {}) {
  const fixture = await openFixture(options);
  const gateways = await registerGateways(fixture, keys);
  await registerRate(fixture, { buyPrice: "1.2", sellPrice: "1.1" });
  return { fixture, ...gateways, intent: await fixture.create("/payment-intents", intentRequest) };
}

it("computes what the sender pays for the receiver amount and the fee, rounded up", async () => {
  const { fixture } = await openMarket({ fee: ({ receiverAmount }) => (receiverAmount === "100.00" ? "1.50" : "3") });
  fixture.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada" });
  fixture.sandbox.accounts.add({ gatewayId: "bravo", account: "B-1", name: "Bob" });
  const intent = await fixture.create("/payment-intents", intentRequest);
  expect(intent).toEqual({
    ...intentRequest,
    // 101.50 / 1.1 = 92.2727…
    ...{ id: expect.any(String), senderAmount: "92.28", receivingGatewayFee: "1.50", extras: null },
    ...{ senderName: "Ada", receiverName: "Bob" },
  });
  expect((await fixture.send("GET", `/payment-intents/${intent.id}`)).body).toEqual(intent);
});

/** At the ends `alfa EUR` and `bravo USD`, by their ids. */
const rate = (base: string, counter: string, buyPrice: string, sellPrice: string) => {
  const [[baseGatewayId, baseCurrency], [counterGatewayId, counterCurrency]] = [base.split(" "), counter.split(" ")];
  return { baseGatewayId, baseCurrency, counterGatewayId, counterCurrency, buyPrice, sellPrice } as ExchangeRate;
};
const endOf = (id: string, currency: string) => ({ gateway: { id, institutionId: "" }, currency });
const [from, to] = ["alfa EUR", "bravo USD"];
const third = rate(from, to, "1", "3");
const best = [rate(from, to, "2", "1.2"), rate(to, from, "0.8", "0.1"), rate(from, to, "2", "1.1")];

it.each([
  ["divided by the price at which the sender's currency is sold", "100", [rate(from, to, "1.3", "1.25")], "80.00"],
  ["times the price at which the receiver's currency is bought", "100", [rate(to, from, "0.75", "0.7")], "75.00"],
  ["at the best rate for the sender", "100", best, "80.00"],
  ["rounded up", "1", [third], "0.34"],
  ["not rounded if it fits", "0.03", [third], "0.01"],
  ["nothing without a rate", "1", [], undefined],
  ["nothing with the rate of another gateway", "1", [rate(from, "carl USD", "1", "1")], undefined],
])("quotes %s", (_, amount, rates, expected) => {
  const ends = { from: endOf("alfa", "EUR"), to: endOf("bravo", "USD") };
  expect(quote(rates, { ...ends, amount: exact(amount), scale: 2 })).toBe(expected);
});

it("takes gateways by record id, and quotes one to one within a currency", async () => {
  const { fixture, alfa, bravo } = await openMarket();
  const byId = { ...intentRequest, senderGatewayId: alfa.id, receiverGatewayId: bravo.id };
  expect(await fixture.create("/payment-intents", byId)).toMatchObject({ senderAmount: "90.91", senderName: "" });
  const euros = { ...intentRequest, receiverCurrency: "EUR" };
  expect(await fixture.create("/payment-intents", euros)).toMatchObject({ senderAmount: "100.00" });
});

it("refuses unknown accounts if it is told to", async () => {
  await expect(openMarket({ requireAccounts: true })).rejects.toThrow("unknown_account");
});

it.each([
  ["payment-intents", { senderGatewayId: "none" }, "unknown_gateway"],
  ["payment-intents", { receiverGatewayId: "none" }, "unknown_gateway"],
  ["payment-intents", { receiverCurrency: "GBP" }, "no_exchange_rate"],
  ["payment-intents", { receiverAmount: "0.00" }, "invalid_value"],
  ["payment-intents", { receiverAmount: "1,00" }, "invalid_value"],
  ["payment-intents", { senderAmount: "1" }, "unknown_field"],
  ["payments", { senderGatewayTransactionId: undefined }, "missing_field"],
  ["payments", { senderGatewayTransactionId: "" }, "missing_field"],
  ["payments", { id: "none" }, "unknown_intent"],
  ["payments", { senderAmount: "0.01" }, "intent_mismatch"],
  ["payments", { receiverAccount: "B-2" }, "intent_mismatch"],
  ["payments", { senderAmount: 90.91 }, "invalid_value"],
  ["payments", { senderGatewayId: "none" }, "unknown_gateway"],
  ["payments", { senderGatewayStatus: "processed" }, "unknown_field"],
])("refuses %s with %j", async (path, change, error) => {
  const { fixture, intent } = await openMarket();
  const body = { ...(path === "payments" ? paymentOf(intent) : intentRequest), ...change };
  expect(await fixture.send("POST", `/${path}`, body, { keys })).toMatchObject({ status: 400, body: { error } });
  expect(fixture.sandbox.payments).toEqual([]);
  expect(fixture.sandbox.ledger.paymentIntents).toHaveLength(1);
});

it("stores a signed payment together with the request that created it", async () => {
  const { fixture, intent } = await openMarket({ now: () => Date.UTC(2024, 0, 2, 3, 4, 5, 678) });
  const body = JSON.stringify(paymentOf(intent, "T-é"));
  const payment = await fixture.create("/payments", body, { keys });
  const signature = signatureOf(`/payments${body}`, keys);
  const createdAt = "2024-01-02T03:04:05.678000Z";
  expect(payment).toEqual({
    ...paymentOf(intent, "T-é"),
    ...{ id: expect.any(String), createdAt, updatedAt: createdAt, pagingToken: expect.stringMatching(/^\d+$/) },
    ...{ receiverProcessingGatewayId: "bravo", receiverGatewayTransactionId: "" },
    ...{ senderGatewayStatus: "processed", receiverGatewayStatus: "pending" },
    ...{ senderGatewayPublicKey: keys.publicKeyBase64, receiverGatewayPublicKey: keys.publicKeyBase64 },
    ...{ senderGatewaySignature: signature, receiverGatewaySignature: "" },
    blockchainTransactionId: expect.stringMatching(/^[0-9a-f]{64}$/),
    ...{ creationRequestUrl: "/payments", creationRequestBody: body },
    ...{ creationRequestPublicKeyBase64: keys.publicKeyBase64, creationRequestSignatureBase64: signature },
  });
  expect(payment.id).not.toBe(intent.id);
  expect(fixture.sandbox.payments).toEqual([payment]);
  expect((await fixture.send("GET", "/payments")).body).toEqual([payment]);
});

it("signs over the query only if it is told to", async () => {
  for (const signQuery of [false, true]) {
    const { fixture, intent } = await openMarket({ signQuery });
    const text = JSON.stringify(paymentOf(intent));
    const send = async (path: string) => {
      const headers = { "x-service-signature-base64": signatureOf(path + text, keys) };
      return (await fixture.send("POST", "/payments?a=1", text, { headers })).status;
    };
    expect([await send("/payments"), await send("/payments?a=1")]).toEqual(signQuery ? [400, 200] : [200, 400]);
    expect(fixture.sandbox.payments[0]?.creationRequestUrl).toBe(signQuery ? "/payments?a=1" : "/payments");
  }
});

const urlSafe = (base64: string) => base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

it.each<readonly [string, (text: string) => string]>([
  ["another gateway's signature", (text) => signatureOf(`/payments${text}`, otherKeys)],
  ["the signature of another body", (text) => signatureOf(`/payments${text} `, keys)],
  ["the signature of another path", (text) => signatureOf(`/payment${text}`, keys)],
  ["a signature that is no Base64", () => "%%%"],
  ["a signature in base64url", (text) => urlSafe(signatureOf(`/payments${text}`, keys))],
])("refuses a payment with %s", async (_, sign) => {
  const { fixture, intent } = await openMarket();
  const text = JSON.stringify(paymentOf(intent));
  const headers = { "x-service-signature-base64": sign(text) };
  const { body } = await fixture.send("POST", "/payments", text, { headers });
  expect(body.error).toBe("invalid_signature");
  expect(fixture.sandbox.payments).toEqual([]);
});

it("takes amounts that are written in other digits and mean the same", async () => {
  const { fixture, intent } = await openMarket();
  const payment = { ...paymentOf(intent), receiverAmount: "100", receivingGatewayFee: "0.00" };
  expect((await fixture.send("POST", "/payments", payment, { keys })).status).toBe(200);
});

it("filters payments by their fields, and gives payments of one instant rising timestamps", async () => {
  const { fixture, intent } = await openMarket({ now: () => 1_700_000_000_000 });
  for (const id of ["T-1", "T-2", "T-3"]) await fixture.create("/payments", paymentOf(intent, id), { keys });
  const ids = async (query: string) =>
    (await fixture.send("GET", `/payments?${query}`)).body.map((payment: Json) => payment.senderGatewayTransactionId);
  expect(await ids("senderGatewayTransactionId=T-2&senderGatewayStatus=processed")).toEqual(["T-2"]);
  expect(await ids("_sort=createdAt.desc")).toEqual(["T-3", "T-2", "T-1"]);
  const times = fixture.sandbox.payments.map(({ createdAt }) => createdAt);
  expect(times).toEqual(["000", "001", "002"].map((micros) => `2023-11-14T22:13:20.000${micros}Z`));
});

it("wants signatures for exactly the operations that its options name", async () => {
  const { fixture, alfa, intent } = await openMarket({ signedOperations: ["paymentGateways.update", "payments.list"] });
  const update = async (options = {}) =>
    (await fixture.send("PUT", `/payment-gateways/${alfa.id}`, {}, options)).body?.error;
  expect(await update()).toBe("missing_signature");
  expect(await update({ keys: otherKeys })).toBe("invalid_signature");
  expect(await update({ keys })).toBeUndefined();
  expect((await fixture.send("GET", "/payments", undefined, { keys })).status).toBe(200);
  const payment = await fixture.create("/payments", paymentOf(intent));
  expect(payment.creationRequestSignatureBase64).toBe("");
});

it("changes a payment's receiver status and its time of update, and nothing else", async () => {
  const { fixture, intent } = await openMarket();
  const { sandbox } = fixture;
  const payment = await fixture.create("/payments", paymentOf(intent), { keys });
  const reverted = sandbox.setReceiverStatus(payment.id, "reverted");
  expect(reverted).toEqual({ ...payment, receiverGatewayStatus: "reverted", updatedAt: reverted.updatedAt });
  expect(reverted.updatedAt > payment.updatedAt).toBe(true);
  const { receiverGatewayTransactionId } = sandbox.setReceiverStatus(payment.id, "processed");
  expect(receiverGatewayTransactionId).not.toBe("");
  expect(sandbox.setReceiverStatus(payment.id, "processed")).toMatchObject({ receiverGatewayTransactionId });
  expect(() => sandbox.setReceiverStatus("none", "processed")).toThrow(InvalidArgumentError);
  expect(() => sandbox.setReceiverStatus(payment.id, "canceled")).toThrow(InvalidArgumentError);
});
