import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { checkBody, checkQuery } from "../../src/http/input.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { transfers } from "../../src/resources/transfers.js";
import { thrownBy } from "../signing/test-keys.js";
import { intent, payment } from "./scripted-transport.js";

/** Checks the body of a row that has one, and the query of another. */
function check(row: Operation, given: unknown): object {
  return { ...(row.body === undefined ? checkQuery(row, given) : checkBody(row, row.body, given)) };
}

/** What is said of an input that is refused, without the name of the operation. */
function refusalOf(row: Operation, given: unknown): string {
  const error = thrownBy(() => check(row, given));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  const { message } = error as InvalidArgumentError;
  expect(message.slice(0, row.name.length + 2)).toBe(`${row.name}: `);
  return message.slice(row.name.length + 2);
}

const { create, update } = liquidityProviders;
const mark = "-----BEGIN PRIVATE KEY-----";
const amount = 'amount must be a decimal string such as "1500.00"; got';
const allowed = "Allowed: firstName, lastName, email";

describe("a body that is refused", () => {
  const refused: readonly [row: Operation, body: object, message: string][] = [
    [deposits.create, { amount: "1,500.00" }, `${amount} "1,500.00"`],
    [deposits.create, { amount: "1'500" }, `${amount} "1'500"`],
    [deposits.create, { amount: "1e3" }, `${amount} another string`],
    [deposits.create, { amount: "DE89 3704 0044" }, `${amount} another string`],
    [deposits.create, { amount: "4111 1111 1111 1111" }, `${amount} another string`],
    [deposits.create, { amount: "" }, `${amount} an empty string`],
    [deposits.create, { amount: 1500 }, `${amount} a number`],
    [deposits.create, { amount: null }, `${amount} null`],
    [deposits.create, { amount: 1 / 3 }, `${amount} a number that JavaScript can't hold exactly`],
    [deposits.create, { paymentGatewayTransactionId: 5 }, "paymentGatewayTransactionId must be a string; got a number"],
    [paymentIntents.create, { ...intent, receiverAccount: 5 }, "receiverAccount must be a string; got a number"],
    [
      create,
      { firstName: "a\ud800b" },
      "firstName must be a string; got a text with half of a surrogate pair, which has no encoding",
    ],
    [transfers.create, { from: "bank" }, 'from must be "wallet" or "exchange-rate"; got another string'],
    [create, { currency: "EUR" }, `Unknown field "currency" in the body. ${allowed}`],
    [create, { firstname: "L" }, 'Unknown field "firstname" in the body. Did you mean firstName?'],
    [create, { [`DE89${"3704".repeat(4)}`]: 1 }, `Unknown field with a name of 20 characters in the body. ${allowed}`],
    [
      create,
      { id: "1", firstName: 1 },
      `firstName must be a string; got a number. Unknown field "id" in the body. ${allowed}`,
    ],
    [payments.create, { ...payment, memo: undefined }, "memo must be a string; got undefined"],
    [
      payments.create,
      { ...payment, senderGatewayId: undefined },
      "senderGatewayId must be a string; got undefined (is an environment variable unset?)",
    ],
    [
      payments.create,
      { ...payment, senderGatewayTransactionId: 5 },
      "senderGatewayTransactionId must be a string; got a number",
    ],
    [
      payments.create,
      { ...payment, recieverName: "R" },
      'Unknown field "recieverName" in the body. Did you mean receiverName?',
    ],
    [payments.create, { ...payment, limits: { of: 1n } }, "limits.of must be a JSON value; got a bigint"],
    [
      payments.create,
      { ...payment, extras: [2 ** 53] },
      "extras[0] must be a JSON value; got a number that JavaScript can't hold exactly",
    ],
    [
      update,
      {},
      "there is nothing to update. Give at least one of firstName, lastName, email; null and other fields are left out",
    ],
    [
      update,
      { id: "1", email: null, colour: "red", lastName: undefined },
      "there is nothing to update. Give at least one of firstName, lastName, email; null and other fields are left out",
    ],
    [update, { emial: "x" }, 'Unknown field "emial" in the body. Did you mean email?'],
    [update, { email: { at: 1 } }, "email must be a string; got an object"],
    [
      paymentGateways.update,
      { rsaPublicKeyBase64: "-----BEGIN PUBLIC KEY-----" },
      "rsaPublicKeyBase64 must be Base64 of the PEM public key, as publicKeyToBase64 makes it; got PEM text: give it to publicKeyToBase64 first",
    ],
    [
      paymentGateways.create,
      { rsaPublicKeyBase64: mark },
      "rsaPublicKeyBase64 must be Base64 of the PEM public key, as publicKeyToBase64 makes it; got a private key, which must never be sent",
    ],
  ];

  it.each(refused.map(([row, body, message]) => ({ row, body, message })))(
    "$row.name: $message",
    ({ row, body, message }) => {
      expect(refusalOf(row, body)).toBe(message);
    },
  );

  it("is told ten of its faults, and how many more there are", () => {
    const faults = (count: number) =>
      refusalOf(create, Object.fromEntries(Array.from("abcdefghijkl".slice(0, count), (name) => [name, 1])));
    const ten = Array.from("abcdefghij", (name) => `Unknown field "${name}" in the body. ${allowed}`).join(". ");
    expect(faults(10)).toBe(ten);
    expect(faults(12)).toBe(`${ten}. And 2 more`);
  });
});

describe("a body that is taken", () => {
  it.each<[what: string, row: Operation, body: object, sent: object]>([
    ["an empty one", create, {}, {}],
    ["a text with a whole pair", create, { firstName: "a\ud83d\ude00b" }, { firstName: "a😀b" }],
    ["a long text", create, { firstName: "x".repeat(5000) }, { firstName: "x".repeat(5000) }],
    ["a short text about keys", create, { firstName: `${mark} was seen` }, { firstName: `${mark} was seen` }],
    ["an unknown field that is undefined", create, { email: "e", colour: undefined }, { email: "e" }],
    ["an id of a record that is a number", deposits.create, { paymentGatewayId: 17 }, { paymentGatewayId: 17 }],
    ["unknown fields of an update", update, { email: "e", account: "x", top: 1 }, { email: "e" }],
    ["a new field near none", deposits.update, { currency: "EUR", account: "x" }, { currency: "EUR" }],
    ["nulls and numbers of an update", deposits.update, { amount: 12.5, currency: null }, { amount: 12.5 }],
    ["a status that creation does not allow", transfers.update, { from: "bank" }, { from: "bank" }],
  ])("%s", (_, row, body, sent) => {
    expect(check(row, body)).toEqual(sent);
  });

  it("needs a required field that may be anything, null included", () => {
    const body = { fields: { extras: "any" }, required: ["extras"] } as const;
    expect(checkBody(payments.create, body, { extras: null })).toEqual({ extras: null });
    expect(() => checkBody(payments.create, body, {})).toThrow(
      "extras must be any value, null included; got undefined",
    );
  });

  it("has fields in the description's order, then new ones", () => {
    const { memo, ...rest } = payment;
    const extras = { at: new Date(0) };
    const sent = check(payments.create, { zeta: null, extras, memo, ...rest });
    expect(JSON.stringify(sent)).toBe(JSON.stringify({ ...payment, extras, zeta: null }));
  });
});

describe("a query", () => {
  it.each<[query: object, row: Operation]>([
    [{}, liquidityProviders.list],
    [{ amount: "12.%" }, deposits.list],
    [{ senderAmount: ">12", anything: "x" }, payments.list],
    [{ senderAmount: 12.5, anything: 5 }, payments.list],
    [{ buyPriceN: 5, id: 17 }, exchangeRates.list],
  ])("may have parts, patterns, and numbers of records: %o", (query, row) => {
    expect(check(row, { ...query, memo: undefined })).toEqual(query);
  });

  it.each<[message: string, row: Operation, query: object]>([
    ["amount must be a string; got a number that JavaScript can't hold exactly", deposits.list, { amount: 2 ** 53 }],
    ["extras must be a string; got an object", payments.list, { extras: { a: 1 } }],
    [
      "buyPriceN must be a whole number that JavaScript holds exactly; got another string",
      exchangeRates.list,
      { buyPriceN: "5" },
    ],
    [
      "buyPriceN must be a whole number that JavaScript holds exactly; got a number",
      exchangeRates.list,
      { buyPriceN: 1.5 },
    ],
    ['Unknown field "emails" in the query. Did you mean email?', liquidityProviders.list, { emails: "x" }],
    ["the query must be an object with fields; got a Map", liquidityProviders.get, new Map()],
  ])("is refused: %s", (message, row, query) => {
    expect(refusalOf(row, query)).toBe(message);
  });
});
