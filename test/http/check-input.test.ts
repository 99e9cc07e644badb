import { expect, it } from "vitest";
import { checkBody, checkQuery } from "../../src/http/check-input.js";
import { deposits } from "../../src/resources/deposits.js";
import { payments } from "../../src/resources/payments.js";

it("names each field of a body that is at fault, and none of its values", () => {
  const { body } = deposits.create;
  if (body === undefined) throw new Error("the row has no body");
  const value = { amount: "12,50", currency: 5, paymentGatewayId: "secret", colour: "secret" };
  expect(() => checkBody(deposits.create, body, value)).toThrow(
    'liquidityProviders.deposits.create: the body needs amount to be a decimal numeral in a string, such as "12.50"; found another string; needs currency to be a string; found a number; has no field "colour" (it has paymentGatewayId, paymentGatewayTransactionId, amount, currency, blockchainTransactionId)',
  );
});

it("lets any filter through where the description does not show them", () => {
  expect(checkQuery(payments.list, { anything: "x", memo: undefined })).toEqual({ anything: "x" });
});
