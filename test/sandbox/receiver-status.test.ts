import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { intentRequest, keysOf, openFixture, paymentOf, registerGateways, registerRate } from "./sandbox-fixture.js";

const keys = keysOf("gateway");

async function payOnce() {
  const fixture = await openFixture();
  await registerGateways(fixture, keys);
  await registerRate(fixture, { buyPrice: "1.2", sellPrice: "1.1" });
  const intent = await fixture.create("/payment-intents", intentRequest);
  const payment = await fixture.create("/payments", paymentOf(intent), { keys });
  const list = async () => (await fixture.send("GET", "/payments")).body;
  return { fixture, payment, list };
}

it("moves a payment's receiver status and its time of update, and nothing else", async () => {
  const { fixture, payment, list } = await payOnce();
  const reverted = fixture.sandbox.setReceiverStatus(payment.id, "reverted");
  expect(reverted).toEqual({ ...payment, receiverGatewayStatus: "reverted", updatedAt: reverted.updatedAt });
  expect(reverted.updatedAt > payment.updatedAt).toBe(true);
  expect(await list()).toEqual([reverted]);
});

it("gives a transaction id of the receiving gateway with the first processed, and keeps it", async () => {
  const { fixture, payment } = await payOnce();
  const processed = fixture.sandbox.setReceiverStatus(payment.id, "processed");
  expect(processed.receiverGatewayTransactionId).not.toBe("");
  fixture.sandbox.setReceiverStatus(payment.id, "error");
  const again = fixture.sandbox.setReceiverStatus(payment.id, "processed");
  expect(again.receiverGatewayTransactionId).toBe(processed.receiverGatewayTransactionId);
});

it.each([
  ["an unknown payment", () => "p-none", "processed", /no payment with this id/],
  ["an unknown status", (id: string) => id, "cancelled", /one of pending, processed, error, reverted/],
])("refuses %s", async (_, idOf, status, message) => {
  const { fixture, payment, list } = await payOnce();
  const move = () => fixture.sandbox.setReceiverStatus(idOf(payment.id), status);
  expect(move).toThrow(InvalidArgumentError);
  expect(move).toThrow(message);
  expect(await list()).toEqual([payment]);
});
