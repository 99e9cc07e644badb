import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { checkBody, checkQuery } from "../../src/http/check-input.js";
import { operations } from "../../src/resources/catalogue.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
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

/** Checks the body of a row that has one, and the query of another. */
function check(row: Operation, given: unknown): unknown {
  return row.body === undefined ? checkQuery(row, given) : checkBody(row, row.body, given);
}

/** What is said of an input that is refused, without the name of the operation. */
function refusalOf(row: Operation, given: unknown): string {
  const error = thrownBy(() => check(row, given));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  const { message } = error as InvalidArgumentError;
  const start = `${row.name}: the ${row.body === undefined ? "query" : "body"} `;
  expect(message.slice(0, start.length)).toBe(start);
  return message.slice(start.length);
}

const names = "(it has firstName, lastName, email)";

describe("a body", () => {
  const { create, update } = liquidityProviders;

  it("may be empty where no field is required, and nothing is updated", () => {
    expect(check(create, {})).toEqual({});
    expect(() => check(payments.create, {})).toThrow("needs senderGatewayId to be a string; found undefined");
  });

  it("is told ten of its faults, and how many more there are", () => {
    const faults = (count: number) =>
      refusalOf(create, Object.fromEntries(Array.from("abcdefghijkl".slice(0, count), (name) => [name, 1])));
    const ten = Array.from("abcdefghij", (name) => `has no field "${name}" ${names}`).join("; ");
    expect(faults(10)).toBe(ten);
    expect(faults(11)).toBe(`${ten}; and 1 more`);
    expect(faults(12)).toBe(`${ten}; and 2 more`);
  });

  it("is told which fields an update may have, where it has none of them", () => {
    expect(refusalOf(update, {})).toBe("has nothing to update: give it at least one of firstName, lastName, email");
    expect(refusalOf(update, { id: "1" })).toBe(`has only fields that can't be updated, such as id ${names}`);
  });

  it("is told of an unknown field of an update, and not that there is nothing to update", () => {
    expect(refusalOf(update, { colour: 1 })).toBe(`has no field "colour" ${names}`);
  });

  it("is told of an empty text in the place of a numeral", () => {
    expect(refusalOf(deposits.create, { amount: "" })).toMatch(
      /^needs amount to be a decimal numeral.*; found an empty string$/,
    );
  });

  it("needs a required field that may be anything, null included", () => {
    const body = { fields: { extras: "any" }, required: ["extras"] } as const;
    expect(checkBody(payments.create, body, { extras: null })).toEqual({ extras: null });
    expect(() => checkBody(payments.create, body, {})).toThrow(
      "payments.create: the body needs extras to be any value, null included; found undefined",
    );
  });

  it("has no text that has no encoding", () => {
    expect(refusalOf(create, { firstName: "a\ud800b" })).toBe(
      "needs firstName to be a string; found a string that contains a lone surrogate, which has no encoding",
    );
    expect(check(create, { firstName: "a\ud83d\ude00b" })).toEqual({ firstName: "a😀b" });
  });

  const mark = "-----BEGIN PRIVATE KEY-----";

  it("has no private key in the place of a public one, however short, and no public one that is still PEM", () => {
    const wanted = "needs rsaPublicKeyBase64 to be Base64 of the PEM public key, as publicKeyToBase64 makes it; found";
    expect(refusalOf(paymentGateways.create, { rsaPublicKeyBase64: mark })).toBe(
      `${wanted} a private key, which must never be sent`,
    );
    expect(refusalOf(paymentGateways.create, { rsaPublicKeyBase64: "-----BEGIN PUBLIC KEY-----" })).toBe(
      `${wanted} PEM text: give it to publicKeyToBase64 first`,
    );
    expect(refusalOf(paymentGateways.create, { rsaPublicKeyBase64: "cHVibGlj" })).toBe(
      `${wanted} Base64 of something that is not a public key`,
    );
  });
});

describe("a query", () => {
  it("may be empty", () => {
    expect(check(liquidityProviders.list, {})).toEqual({});
  });

  it("may be an instance of a class that has getters for the fields of a record, where any filter goes", () => {
    class OfMemo {
      get memo() {
        return "rent";
      }
    }
    expect(check(payments.list, new OfMemo())).toEqual({ memo: "rent" });
  });

  it("may have a part of a numeral, or a pattern of the service's own", () => {
    expect(check(deposits.list, { amount: "12.%" })).toEqual({ amount: "12.%" });
    expect(check(payments.list, { senderAmount: ">12" })).toEqual({ senderAmount: ">12" });
  });

  it("has only texts and whole numbers", () => {
    expect(refusalOf(deposits.list, { amount: 5 })).toBe("needs amount to be a string; found a number");
    expect(refusalOf(payments.list, { extras: { a: 1 } })).toBe("needs extras to be a string; found an object");
    expect(refusalOf(payments.list, { anything: 5 })).toBe("needs anything to be a string; found a number");
    expect(check(exchangeRates.list, { buyPriceN: 5 })).toEqual({ buyPriceN: 5 });
    expect(refusalOf(exchangeRates.list, { buyPriceN: "5" })).toContain("needs buyPriceN to be a whole number");
  });

  it("has no field called __proto__, where any other goes", () => {
    expect(refusalOf(payments.list, JSON.parse('{"__proto__":"x"}'))).toMatch(/^has no field "__proto__"/);
  });
});
