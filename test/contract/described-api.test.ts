import { sign } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { bodies } from "./calls.js";
import { type Harness, harnesses, openPayer } from "./harness.js";

const gateway = '{"institutionId":"a"}';
const { paymentIntents: intent } = bodies;
const { memo: _, ...noMemo } = intent;
const payment = {
  ...{ ...intent, senderAmount: "1.00", senderName: "A", receiverName: "B" },
  ...{ receivingGatewayFee: "0", senderGatewayTransactionId: "TX-1" },
};
const deposit = { paymentGatewayId: "beta-mobile", amount: "1.00" };

interface Wrong {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The text to sign. */
  readonly signed?: string;
}

let harness: Harness;
let authorization: string;
let origin: string;
beforeEach(async () => {
  harness = await (harnesses[0] ?? expect.unreachable()).open({ basePath: "/gw" });
  await openPayer(harness);
  origin = new URL(harness.options.baseUrl).origin;
  authorization = harness.requests.at(-1)?.headers.get("authorization") ?? "";
});

async function send(path: string, { method, body, headers, signed }: Wrong): Promise<Response> {
  const { privateKey } = keyPairOf("gateway");
  const signature = signed === undefined ? undefined : sign("RSA-SHA256", Buffer.from(signed), privateKey);
  return fetch(origin + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    ...(body !== undefined && { body }),
    headers: {
      authorization,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(signature !== undefined && { "x-service-signature-base64": signature.toString("base64") }),
      ...headers,
    },
  });
}

const json = JSON.stringify;
const payments = "/gw/payments";

it.each<[string, string, Wrong, number]>([
  ["there is no such path", "/gw/payment-gateway", {}, 404],
  ["there is no such path", "/payments", {}, 404],
  ["the path has no PUT", payments, { method: "PUT", body: "{}" }, 404],
  ["the header Authorization is missing", payments, { headers: { authorization: "" } }, 401],
  ["the header Authorization has no bearer token", payments, { headers: { authorization: "Basic YTpi" } }, 401],
  ["no grant returned this access token", payments, { headers: { authorization: "Bearer other" } }, 401],
  ["the query parameter size is not described", `${payments}?size=1`, {}, 400],
  ["the query parameter _size is not described", "/gw/payment-gateways/1?_size=1", {}, 400],
  ["the query parameter _size comes twice", `${payments}?_size=1&_size=2`, {}, 400],
  ['the query parameter _size can\'t be "all"', `${payments}?_size=all`, {}, 400],
  ['the query parameter _sort can\'t be "id.asc,"', `${payments}?_sort=id.asc,`, {}, 400],
  ['the query parameter _sort can\'t be "created.asc"', `${payments}?_sort=created.asc`, {}, 400],
  ['the query parameter buyPriceN can\'t be "1.5"', "/gw/liquidity-providers/1/exchange-rates?buyPriceN=1.5", {}, 400],
  [
    "Content-Type must be application/json",
    "/gw/payment-gateways",
    { body: gateway, headers: { "content-type": "text/plain" } },
    400,
  ],
  ["the body is not a JSON object", "/gw/payment-gateways", { body: "[]" }, 400],
  ["the field id is not described", "/gw/payment-gateways", { body: '{"id":"1"}' }, 400],
  ["the field name must be a string", "/gw/payment-gateways", { body: '{"name":null}' }, 400],
  [
    "the field buyPriceN is not described",
    "/gw/liquidity-providers/1/exchange-rates",
    { body: '{"buyPriceN":1}' },
    400,
  ],
  [
    "the field amount must be a decimal numeral",
    "/gw/liquidity-providers/1/withdrawals",
    { body: '{"amount":"1,0"}' },
    400,
  ],
  [
    "the field from must be wallet or exchange-rate",
    "/gw/liquidity-providers/1/transfers",
    { body: '{"from":"a","to":"wallet"}' },
    400,
  ],
  ["the field memo is missing", "/gw/payment-intents", { body: json(noMemo) }, 400],
  ["the field senderAmount is missing", payments, { body: json(intent), signed: payments + json(intent) }, 400],
  ["X-SERVICE-SIGNATURE-BASE64 is missing", payments, { body: json(payment) }, 400],
  ["X-SERVICE-SIGNATURE-BASE64 is missing", "/gw/liquidity-providers/1/deposits", { body: json(deposit) }, 400],
  [
    "the signature is not Base64 on a single line",
    payments,
    { body: json(payment), headers: { "x-service-signature-base64": "abc_" } },
    400,
  ],
  ["no gateway with a key is named", payments, { body: json({ ...payment, senderGatewayId: "x" }), signed: "" }, 400],
  ...[json(payment), `/payments${json(payment)}`, `https://host${payments}${json(payment)}`, payments].map(
    (signed): [string, string, Wrong, number] => [
      "the signature is not the gateway's over path and body",
      payments,
      { body: json(payment), signed },
      400,
    ],
  ),
])("says that %s: %s %j", async (problem, path, wrong, status) => {
  const response = await send(path, wrong);
  expect(response.status).toBe(status);
  const method = wrong.method ?? (wrong.body === undefined ? "GET" : "POST");
  expect(harness.problems.splice(0)).toEqual([`${method} ${path.replace(/\?.*/, "")}: ${problem}`]);
});

it.each([
  ["there is no such grant_type", "grant_type=client_credentials&client_id=a"],
  [
    "the form has client_id grant_type password username, and not client_id client_secret grant_type password username",
    "grant_type=password&username=gateway&password=p&client_id=a",
  ],
  [
    "the form has client_id client_secret grant_type refresh_token, and not client_id grant_type refresh_token",
    "grant_type=refresh_token&client_id=a&client_secret=&refresh_token=r",
  ],
])("says that %s", async (problem, body) => {
  const path = "/auth/realms/all%20gateways/protocol/openid-connect/token";
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(harness.options.auth.authUrl + path, { method: "POST", body, headers });
  expect([response.status, harness.problems.splice(0)]).toEqual([400, [`POST ${path}: ${problem}`]]);
});

it("takes a payment that is as described", async () => {
  const response = await send(payments, { body: json(payment), signed: payments + json(payment) });
  expect(response.status).toBe(200);
});
