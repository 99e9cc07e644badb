import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { SandboxOptions } from "../../src/sandbox/index.js";
import {
  intentRequest,
  type Json,
  keysOf,
  openFixture,
  paymentOf,
  registerGateways,
  registerRate,
  signatureOf,
} from "./sandbox-fixture.js";

const keys = keysOf("gateway");
const otherKeys = keysOf("stranger");

async function openMarket(options: SandboxOptions = {}) {
  const fixture = await openFixture(options);
  const gateways = await registerGateways(fixture, keys);
  const rate = await registerRate(fixture, { buyPrice: "1.2", sellPrice: "1.1" });
  return { fixture, ...gateways, rate };
}

it("computes what the sender pays for the receiver amount and the fee, rounded up", async () => {
  const { fixture } = await openMarket({ fee: ({ receiverAmount }) => (receiverAmount === "100.00" ? "1.50" : "3") });
  fixture.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada" });
  fixture.sandbox.accounts.add({ gatewayId: "bravo", account: "B-1", name: "Bob" });
  const intent = await fixture.create("/payment-intents", intentRequest);
  expect(intent).toEqual({
    ...intentRequest,
    id: expect.any(String),
    // 101.50 / 1.1 = 92.2727…
    senderAmount: "92.28",
    senderName: "Ada",
    receiverName: "Bob",
    receivingGatewayFee: "1.50",
    extras: null,
  });
  expect((await fixture.send("GET", `/payment-intents/${intent.id}`)).body).toEqual(intent);
});

it("takes gateways by record id as well as by institutionId", async () => {
  const { fixture, alfa, bravo } = await openMarket();
  const byId = { ...intentRequest, senderGatewayId: alfa.id, receiverGatewayId: bravo.id };
  fixture.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada" });
  expect(await fixture.create("/payment-intents", byId)).toMatchObject({ senderAmount: "90.91", senderName: "Ada" });
});

it("leaves unknown names empty, or refuses unknown accounts where they are required", async () => {
  const lenient = await openMarket();
  const intent = await lenient.fixture.create("/payment-intents", intentRequest);
  expect(intent).toMatchObject({ senderName: "", receiverName: "" });
  const strict = await openMarket({ requireAccounts: true });
  const refused = await strict.fixture.send("POST", "/payment-intents", intentRequest);
  expect(refused).toMatchObject({ status: 400, body: { error: "unknown_account" } });
});

it.each([
  ["an unknown sending gateway", { senderGatewayId: "none" }, "unknown_gateway"],
  ["an unknown receiving gateway", { receiverGatewayId: "none" }, "unknown_gateway"],
  ["currencies without a rate", { receiverCurrency: "GBP" }, "no_exchange_rate"],
  ["a receiver amount of zero", { receiverAmount: "0.00" }, "invalid_value"],
  ["a receiver amount that is no numeral", { receiverAmount: "1,00" }, "invalid_value"],
  ["a sender amount of the caller's own", { senderAmount: "1" }, "unknown_field"],
])("refuses an intent with %s", async (_, change, error) => {
  const { fixture } = await openMarket();
  const refused = await fixture.send("POST", "/payment-intents", { ...intentRequest, ...change });
  expect(refused).toMatchObject({ status: 400, body: { error, message: expect.any(String) } });
  expect(fixture.sandbox.ledger.paymentIntents).toEqual([]);
});

it("stores a signed payment together with the request that created it", async () => {
  const { fixture } = await openMarket({ now: () => Date.UTC(2024, 0, 2, 3, 4, 5, 678) });
  const intent = await fixture.create("/payment-intents", intentRequest);
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

it("signs over the query only where that is set", async () => {
  for (const signQuery of [false, true]) {
    const { fixture } = await openMarket({ signQuery });
    const text = JSON.stringify(paymentOf(await fixture.create("/payment-intents", intentRequest)));
    const signedBy = (path: string) => ({ "x-service-signature-base64": signatureOf(path + text, keys) });
    const without = await fixture.send("POST", "/payments?a=1", text, { headers: signedBy("/payments") });
    const within = await fixture.send("POST", "/payments?a=1", text, { headers: signedBy("/payments?a=1") });
    expect([without.status, within.status]).toEqual(signQuery ? [400, 200] : [200, 400]);
    expect(fixture.sandbox.payments[0]?.creationRequestUrl).toBe(signQuery ? "/payments?a=1" : "/payments");
  }
});

const signatures: readonly (readonly [string, (text: string) => string | undefined, string])[] = [
  ["no signature", () => undefined, "missing_signature"],
  ["another gateway's signature", (text) => signatureOf(`/payments${text}`, otherKeys), "invalid_signature"],
  ["the signature of another body", (text) => signatureOf(`/payments${text} `, keys), "invalid_signature"],
  ["the signature of another path", (text) => signatureOf(`/payment${text}`, keys), "invalid_signature"],
  ["a signature that is no Base64", () => "%%%", "invalid_signature"],
  ["a signature in base64url", (text) => urlSafe(signatureOf(`/payments${text}`, keys)), "invalid_signature"],
];

it.each(signatures)("refuses a payment with %s", async (_, sign, error) => {
  const { fixture } = await openMarket();
  const text = JSON.stringify(paymentOf(await fixture.create("/payment-intents", intentRequest)));
  const signature = sign(text);
  const headers = signature === undefined ? {} : { "x-service-signature-base64": signature };
  expect(await fixture.send("POST", "/payments", text, { headers })).toMatchObject({ status: 400, body: { error } });
  expect(fixture.sandbox.payments).toEqual([]);
});

it.each([
  ["without the transaction id", { senderGatewayTransactionId: undefined }, "missing_field"],
  ["with an empty transaction id", { senderGatewayTransactionId: "" }, "missing_field"],
  ["of an unknown intent", { id: "none" }, "unknown_intent"],
  ["with another amount than the intent's", { senderAmount: "0.01" }, "intent_mismatch"],
  ["to another account than the intent's", { receiverAccount: "B-2" }, "intent_mismatch"],
  ["with a number for an amount", { senderAmount: 90.91 }, "invalid_value"],
  ["by an unknown gateway", { senderGatewayId: "none" }, "unknown_gateway"],
  ["with a status of the caller's own", { senderGatewayStatus: "processed" }, "unknown_field"],
])("refuses a payment %s", async (_, change, error) => {
  const { fixture } = await openMarket();
  const payment = { ...paymentOf(await fixture.create("/payment-intents", intentRequest)), ...change };
  expect(await fixture.send("POST", "/payments", payment, { keys })).toMatchObject({ status: 400, body: { error } });
  expect(fixture.sandbox.payments).toEqual([]);
});

it("takes amounts that are written in other digits and mean the same", async () => {
  const { fixture } = await openMarket();
  const intent = await fixture.create("/payment-intents", intentRequest);
  const payment = { ...paymentOf(intent), receiverAmount: "100", receivingGatewayFee: "0.00" };
  expect((await fixture.send("POST", "/payments", payment, { keys })).status).toBe(200);
});

it("filters payments by their fields, and gives payments of one instant rising timestamps", async () => {
  const { fixture } = await openMarket({ now: () => 1_700_000_000_000 });
  const intent = await fixture.create("/payment-intents", intentRequest);
  for (const id of ["T-1", "T-2", "T-3"]) await fixture.create("/payments", paymentOf(intent, id), { keys });
  const ids = async (query: string) =>
    (await fixture.send("GET", `/payments?${query}`)).body.map((payment: Json) => payment.senderGatewayTransactionId);
  expect(await ids("senderGatewayTransactionId=T-2&senderGatewayStatus=processed")).toEqual(["T-2"]);
  expect(await ids("_sort=createdAt.desc")).toEqual(["T-3", "T-2", "T-1"]);
  expect((await fixture.send("GET", "/payments?colour=red")).body.error).toBe("invalid_query");
  const times = fixture.sandbox.payments.map(({ createdAt }) => createdAt);
  expect(times).toEqual(["000", "001", "002"].map((micros) => `2023-11-14T22:13:20.000${micros}Z`));
});

it("stores a signed deposit together with the request that created it", async () => {
  const { fixture } = await openMarket();
  const path = `/liquidity-providers/${fixture.sandbox.ledger.liquidityProviders[0]?.id}/deposits`;
  const body = JSON.stringify({ paymentGatewayId: "alfa", amount: "500", currency: "EUR" });
  expect(await fixture.create(path, body, { keys })).toMatchObject({
    ...{ requestUri: path, requestBody: body, requestSignatureBase64: signatureOf(path + body, keys) },
    ...{ paymentGatewayPublicKeyBase64: keys.publicKeyBase64, amount: "500" },
  });
  expect((await fixture.send("POST", path, body, { keys: otherKeys })).body.error).toBe("invalid_signature");
});

it("wants signatures for exactly the operations that its options name", async () => {
  const { fixture, alfa } = await openMarket({ signedOperations: ["paymentGateways.update", "payments.list"] });
  const path = `/payment-gateways/${alfa.id}`;
  expect((await fixture.send("PUT", path, { name: "Alfa" })).body.error).toBe("missing_signature");
  expect((await fixture.send("PUT", path, { name: "Alfa" }, { keys: otherKeys })).body.error).toBe("invalid_signature");
  expect((await fixture.send("PUT", path, { name: "Alfa" }, { keys })).status).toBe(200);
  expect((await fixture.send("GET", "/payments")).status).toBe(400);
  expect((await fixture.send("GET", "/payments", undefined, { keys })).status).toBe(200);
  const intent = await fixture.create("/payment-intents", intentRequest);
  const payment = await fixture.create("/payments", paymentOf(intent));
  expect(payment.creationRequestSignatureBase64).toBe("");
});

it("changes a payment's receiver status and its time of update, and nothing else", async () => {
  const { fixture } = await openMarket();
  const { sandbox } = fixture;
  const intent = await fixture.create("/payment-intents", intentRequest);
  const payment = await fixture.create("/payments", paymentOf(intent), { keys });
  const reverted = sandbox.setReceiverStatus(payment.id, "reverted");
  expect(reverted).toEqual({ ...payment, receiverGatewayStatus: "reverted", updatedAt: reverted.updatedAt });
  expect(reverted.updatedAt > payment.updatedAt).toBe(true);
  const processed = sandbox.setReceiverStatus(payment.id, "processed");
  expect(processed.receiverGatewayTransactionId).not.toBe("");
  sandbox.setReceiverStatus(payment.id, "error");
  expect(sandbox.setReceiverStatus(payment.id, "processed").receiverGatewayTransactionId).toBe(
    processed.receiverGatewayTransactionId,
  );
  expect(() => sandbox.setReceiverStatus("none", "processed")).toThrow(InvalidArgumentError);
  expect(() => sandbox.setReceiverStatus(payment.id, "canceled")).toThrow(/one of pending, processed, error, reverted/);
});

function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
