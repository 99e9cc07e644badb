import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { checkHeaders, prepareRequest } from "../../src/http/prepare.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import { payments } from "../../src/resources/payments.js";
import { base64, thrownBy } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";
import { payment } from "./scripted-transport.js";

/** Prepares the body of a row that has one, and the query of another. */
function check(row: Operation, given: unknown): object {
  const ids = row.path.parameters.map(() => "1");
  const input = row.body === undefined ? { query: given as object } : { body: given };
  return { ...prepareRequest({ basePath: "", signQuery: false }, row, ids, input).values };
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
const rsaPublicKeyBase64 = base64(keyPairOf("gateway").publicKey.export({ type: "spki", format: "der" }));
const mark = "-----BEGIN PRIVATE KEY-----";
const amount = 'amount must be a decimal string such as "1500.00"; got';
const allowed = "Allowed: firstName, lastName, email";
const nothing = "there is nothing to update. Give at least one of firstName, lastName, email";
const json = "the body must be a JSON value, without bigints, NaN, rounded numbers, functions, maps, or cycles";
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

describe("a body that is refused", () => {
  const refused: readonly (readonly [row: Operation, body: object, message: string])[] = [
    ...(
      [
        ["1,500.00", '"1,500.00"'],
        ["1'500", '"1\'500"'],
        ["1e3", "a string"],
        ["DE89 3704 0044", "a string"],
        ["4111 1111 1111 1111", "a string"],
        ["", "an empty string"],
        [".5", '".5"'],
        ...[" 1", "1 ", "+1", "0x1", "NaN", "1\n", "١"].map((text) => [text, "a string"] as const),
        [1500, "a number"],
        [1n, "a bigint"],
        [null, "null"],
      ] as const
    ).map(([value, got]) => [deposits.create, { amount: value }, `${amount} ${got}`] as const),
    [deposits.create, { paymentGatewayTransactionId: 5 }, "paymentGatewayTransactionId must be a string; got a number"],
    [create, { currency: "EUR" }, `Unknown field "currency" in the body. ${allowed}`],
    [create, { firstname: "L" }, 'Unknown field "firstname" in the body. Did you mean firstName?'],
    [create, { [`DE89${"3704".repeat(4)}`]: 1 }, `Unknown field of a name of 20 characters in the body. ${allowed}`],
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
    ...[
      { a: [new Map()] },
      Promise.resolve(),
      { a: () => 1 },
      { a: Symbol("s") },
      { list: [undefined] },
      new Array(1),
      [1, 1n],
      [Number.NaN],
      [2 ** 53],
      { own: { toJSON: () => 1n } },
      cycle,
    ].map((extras) => [payments.create, { ...payment, extras }, json] as const),
    [payments.create, { ...payment, limits: { of: 1n } }, json],
    [update, {}, nothing],
    [update, { id: "1", email: null, colour: "red", lastName: undefined }, nothing],
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
});

describe("a body that is taken", () => {
  it.each<[what: string, row: Operation, body: object, sent: object]>([
    ["an empty one", create, {}, {}],
    ["a public key in Base64 of DER", paymentGateways.update, { rsaPublicKeyBase64 }, { rsaPublicKeyBase64 }],
    ["a short text about keys", create, { firstName: `${mark} was seen` }, { firstName: `${mark} was seen` }],
    ["an unknown field that is undefined", create, { email: "e", colour: undefined }, { email: "e" }],
    ["an id of a record that is a number", deposits.create, { paymentGatewayId: 17 }, { paymentGatewayId: 17 }],
    ["nulls and numbers of an update", deposits.update, { amount: 12.5, currency: null }, { amount: 12.5 }],
  ])("%s", (_, row, body, sent) => {
    expect(check(row, body)).toEqual(sent);
  });

  it.each([[null], [[{ a: undefined }, new Date(0)]], [{ own: { toJSON: () => "1" } }]])(
    "has extras that JSON carries: %#",
    (extras) => {
      expect(check(payments.create, { ...payment, extras })).toHaveProperty("extras", extras);
    },
  );

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
    [{ rsaPublicKeyBase64: "" }, paymentGateways.list],
    [{ senderAmount: ">12", anything: "x" }, payments.list],
    [{ senderAmount: 12.5, anything: 5 }, payments.list],
    [{ buyPriceN: 5, id: 17 }, exchangeRates.list],
  ])("may have parts, patterns, and numbers of records: %o", (query, row) => {
    expect(check(row, { ...query, memo: undefined })).toEqual(query);
  });

  it.each<[message: string, row: Operation, query: object]>([
    ["amount must be a string; got a number", deposits.list, { amount: 2 ** 53 }],
    ["extras must be a string; got an object", payments.list, { extras: { a: 1 } }],
    ['Unknown field "emails" in the query. Did you mean email?', liquidityProviders.list, { emails: "x" }],
    ["the query must be an object with fields; got a Map", liquidityProviders.get, new Map()],
  ])("is refused: %s", (message, row, query) => {
    expect(refusalOf(row, query)).toBe(message);
  });
});

describe("headers", () => {
  it.each([
    ["a header must have a name and a text that HTTP allows", { "x-api-key: sk_live_51H": "" }],
    ["a header must have a name", { "": "a" }],
    ["a header must have a name and a text", { sk_live_5123456: 1 }],
    ["x-page-12-34 must have a name and a text", { "x-page-12-34": "a\nb" }],
    ["x-a must have a name and a text", { "x-a": "€" }],
    ["host is set by the client itself", { Host: "a" }],
  ])("are refused without their values: %s", (message, headers) => {
    expect(() => checkHeaders(headers as unknown as Record<string, string>)).toThrow(message);
  });

  it("may be any text of Latin-1 characters on one line, and get names in lower case", () => {
    const headers = { "X-Trace": "00-abc\t~", "X-Name": "Zoë", "X-Empty": "" };
    expect(checkHeaders(headers)).toEqual({ "x-trace": "00-abc\t~", "x-name": "Zoë", "x-empty": "" });
  });
});
