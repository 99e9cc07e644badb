import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { paymentFromIntent } from "../../src/flows/payment-from-intent.js";
import type { PaymentIntent } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { intent } from "./gateway-client.js";

describe("paymentFromIntent", () => {
  it("is the intent with the transaction id", () => {
    expect(paymentFromIntent(intent, "tx-1")).toEqual({ ...intent, senderGatewayTransactionId: "tx-1" });
  });

  it("has every field that the payment needs, and none that it does not know", () => {
    const { required, fields } = payments.create.body ?? { required: [], fields: {} };
    const names = Object.keys(paymentFromIntent(intent, "tx-1"));
    expect(names).toEqual(expect.arrayContaining([...required]));
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(names));
  });

  it("leaves out fields that are not in the description, and extras that are absent", () => {
    const { extras: _, ...bare } = intent;
    const payment = paymentFromIntent({ ...bare, unknownField: 1 } as unknown as PaymentIntent, "tx-1");
    expect(payment).toStrictEqual({ ...bare, senderGatewayTransactionId: "tx-1" });
  });

  it("keeps extras and amounts as they are, and the intent untouched", () => {
    const given = Object.freeze({ ...intent, senderAmount: "9.250000000000000000000000000001", extras: { a: [1] } });
    const payment = paymentFromIntent(given, "tx-1");
    expect([payment.senderAmount, payment.extras]).toEqual(["9.250000000000000000000000000001", { a: [1] }]);
  });

  it.each(Object.keys(intent).filter((field) => field !== "extras"))("refuses an intent without %s", (field) => {
    expect(() => paymentFromIntent({ ...intent, [field]: undefined }, "tx-1")).toThrow(
      new InvalidArgumentError(`the intent's ${field} is not a string: a payment can't be made of it`),
    );
  });

  it.each([
    ["an account number", '{"account":12345678901234567890}', false],
    ["one in a list", '[0,[{"a":-9007199254740993}]]', false],
    ["one that is too large for any", '{"limit":1e400}', false],
    ["a number that is exact", '{"account":9007199254740991,"rate":1.25,"of":null}', true],
  ])("sends extras as they came, or not at all: %s", (_, text, isExact) => {
    const given = { ...intent, extras: JSON.parse(text) as unknown };
    const send = () => JSON.stringify(paymentFromIntent(given, "TX-1").extras);
    if (isExact) expect(send()).toBe(text);
    else expect(send).toThrow("extras hold a number");
  });

  it.each(["senderAmount", "receiverAmount", "receivingGatewayFee"])(
    "refuses an intent whose %s is no numeral, without showing it",
    (field) => {
      const refused = () => paymentFromIntent({ ...intent, [field]: "12,5-secret" }, "tx-1");
      expect(refused).toThrow(`the intent's ${field} is not a decimal numeral: a payment can't be made of it`);
    },
  );

  it.each([undefined, null, "", 5])("refuses %o as the transaction id", (id) => {
    const refused = () => paymentFromIntent(intent, id as string);
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow(/senderGatewayTransactionId must be .* a string that is not empty/);
  });

  it.each([undefined, null, "pi-1"])("refuses %o as the intent", (given) => {
    const refused = () => paymentFromIntent(given as unknown as PaymentIntent, "tx-1");
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow(/the intent must be the record that paymentIntents\.create returned/);
  });
});
