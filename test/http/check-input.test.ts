import { expect, it } from "vitest";
import { checkBody, checkQuery } from "../../src/http/check-input.js";
import { operations } from "../../src/resources/catalogue.js";
import { deposits } from "../../src/resources/deposits.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { expectToTellNothingOf, thrownBy } from "../signing/test-keys.js";
import { payment } from "./scripted-transport.js";

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

const account = "DE89370400440532013000";
const quoting = () => {
  throw new Error(`no handler for ${account}`);
};
const intent = Object.fromEntries(Object.keys(paymentIntents.create.body?.fields ?? {}).map((field) => [field, "1"]));

it.each([
  [
    "a getter in front of it",
    Object.defineProperty({ ...intent }, "senderGatewayId", { enumerable: true, get: quoting }),
  ],
  ["a getter behind it", Object.defineProperty({ ...intent }, "memo", { enumerable: true, get: quoting })],
])("tells why a body can't be read, but not the account that the reason quotes: %s", (_, given) => {
  const { body } = paymentIntents.create;
  if (body === undefined) throw new Error("the row has no body");
  const error = thrownBy(() =>
    checkBody(paymentIntents.create, body, Object.defineProperty(given, "senderAccount", { value: account })),
  );
  expect(error).toMatchObject({ name: "InvalidArgumentError", cause: { message: "no handler for [redacted]" } });
  expectToTellNothingOf(account, error);
});

it("copies extras as JSON would", () => {
  const { body } = payments.create;
  if (body === undefined) throw new Error("the row has no body");
  const asked: string[] = [];
  const named = {
    toJSON(name: string) {
      asked.push(name);
      return { name, toJSON: () => "asked twice" };
    },
  };
  const own = {
    x: 1,
    toJSON() {
      return this;
    },
  };
  const extras = { named, list: [named, new Date(0)], own, none: { toJSON: () => undefined } };
  const copy = checkBody(payments.create, body, { ...payment, extras });
  expect(asked).toEqual(["named", "0"]);
  expect(JSON.stringify(copy.extras)).toBe(JSON.stringify(extras));
  expect(checkBody(payments.create, body, { ...payment, extras: { toJSON: () => undefined } })).not.toHaveProperty(
    "extras",
  );
});

const updates = [...operations.values()].filter(({ verb }) => verb === "update");

it.each(updates)("refuses an update with nothing in it: $name", (row) => {
  const { body } = row;
  if (body === undefined) throw new Error("the row has no body");
  const [field = ""] = Object.keys(body.fields);
  for (const given of [{}, { [field]: undefined }]) {
    expect(() => checkBody(row, body, given)).toThrow(
      `${row.name}: the body has nothing to update: give it at least one of ${field}`,
    );
  }
});
