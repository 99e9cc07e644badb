import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { paymentFromIntent } from "../../src/flows/funds.js";
import type { PaymentIntent } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { intent } from "./gateway-client.js";

const taken = { senderGatewayTransactionId: "tx-1" };

describe("paymentFromIntent", () => {
  it("is the intent with the transaction id", () => {
    expect(paymentFromIntent(intent, "tx-1")).toEqual({ ...intent, ...taken });
  });

  it("has every field that the payment needs, and none that it does not know", () => {
    const { required, fields } = payments.create.body ?? { required: [], fields: {} };
    const names = Object.keys(paymentFromIntent(intent, "tx-1"));
    expect(names).toEqual(expect.arrayContaining([...required]));
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(names));
  });

  it("keeps unknown fields, and has no extras if the intent has none", () => {
    const { extras: _, ...bare } = { ...intent, unknownField: [1] };
    expect(paymentFromIntent(bare as unknown as PaymentIntent, "tx-1")).toStrictEqual({ ...bare, ...taken });
  });

  it("keeps extras and amounts as they are, and the intent untouched", () => {
    const given = Object.freeze({ ...intent, senderAmount: "9.250000000000000000000000000001", extras: { a: [1] } });
    const payment = paymentFromIntent(given, "tx-1");
    expect([payment.senderAmount, payment.extras]).toEqual(["9.250000000000000000000000000001", { a: [1] }]);
  });

  it.each([
    ...[undefined, null, "", 5].map(
      (id) => [intent, id, /senderGatewayTransactionId must be .* that is not empty/] as const,
    ),
    ...[undefined, null, "pi-1"].map((given) => [given, "tx-1", /the intent must be the record that/] as const),
  ])("refuses %o with the transaction id %o", (given, id, message) => {
    const refused = () => paymentFromIntent(given as PaymentIntent, id as string);
    expect(refused).toThrow(InvalidArgumentError);
    expect(refused).toThrow(message);
  });
});
