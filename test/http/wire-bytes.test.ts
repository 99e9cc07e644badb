import { verify } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { CrossBorderClient } from "cross-border-payments";
import { expect, it, onTestFinished } from "vitest";
import { keyPairOf, signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";

const { publicKeyBase64: key } = signingKeysOf("gateway");
const gateway = { rsaPublicKeyBase64: key, name: "Bänk", institutionId: "alpha-bank", countryCode: "TZ" };
const person = { email: "q@example.com", lastName: "O'Neill", firstName: "Zoë" };
const deposit = {
  currency: "KES",
  amount: "10.00",
  paymentGatewayTransactionId: "TX-1",
  paymentGatewayId: "beta-mobile",
} as const;
const withdrawal = { status: "requested", fee: "0.10", currency: "KES", amount: "10", paymentGatewayId: "beta-mobile" };
const rate = {
  sellPrice: "0.0067",
  buyPrice: "0.0066",
  baseCurrency: "KES",
  baseGatewayId: "b",
  counterCurrency: "EUR",
};
const transfer = { to: "wallet", from: "exchange-rate", amount: "6.00", currency: "KES", gatewayId: "g" } as const;
const intent = {
  memo: "school fees / №1",
  receiverAmount: "1500.00",
  receiverCurrency: "KES",
  receiverAccount: "KE-7002",
  receiverGatewayId: "beta-mobile",
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  senderGatewayId: "alpha-bank",
};
const payment = {
  ...intent,
  id: "PI-1",
  senderAmount: "11.00",
  senderName: "Ada",
  receiverName: "Baraka",
  receivingGatewayFee: "1.00",
  senderGatewayTransactionId: "TX-1",
  extras: { b: [1, null], a: "x" },
  somethingNew: null,
};

const id = "7/é'";
const provider = "/gw/v1/liquidity-providers/7%2F%C3%A9%27";
const gatewayBody = '{"countryCode":"TZ","institutionId":"alpha-bank","name":"Bänk","rsaPublicKeyBase64":"KEY"}';
const depositBody =
  '{"paymentGatewayId":"beta-mobile","paymentGatewayTransactionId":"TX-1","amount":"10.00","currency":"KES"}';

type Row = readonly [line: string, body: string, call: (client: CrossBorderClient) => PromiseLike<unknown>];

/** Request line and body as version 0.3.0 sent them, of calls whose input is in another order than the description's. */
const rows: readonly Row[] = [
  ["POST /gw/v1/payment-gateways", gatewayBody, (client) => client.paymentGateways.create(gateway)],
  [
    "GET /gw/v1/payment-gateways?_sort=name.asc&name=a%20b%26c%27",
    "",
    (client) => client.paymentGateways.list({ filter: { name: "a b&c'" }, sort: "name.asc" }),
  ],
  [
    "GET /gw/v1/payment-gateways/7%2F%C3%A9%27?currency=KES",
    "",
    (client) => client.paymentGateways.get(id, { query: { currency: "KES" } }),
  ],
  ["PUT /gw/v1/payment-gateways/7%2F%C3%A9%27", gatewayBody, (client) => client.paymentGateways.update(id, gateway)],
  [
    "POST /gw/v1/liquidity-providers",
    `{"firstName":"Zoë","lastName":"O'Neill","email":"q@example.com"}`,
    (client) => client.liquidityProviders.create(person),
  ],
  [`POST ${provider}/deposits`, depositBody, (client) => client.liquidityProviders.deposits(id).create(deposit)],
  [
    `GET ${provider}/deposits?_size=10&_after=5`,
    "",
    (client) => client.liquidityProviders.deposits(id).list({ after: "5", size: 10 }),
  ],
  [`PUT ${provider}/deposits/8`, depositBody, (client) => client.liquidityProviders.deposits(id).update("8", deposit)],
  [
    `POST ${provider}/withdrawals`,
    '{"paymentGatewayId":"beta-mobile","amount":"10","fee":"0.10","currency":"KES","status":"requested"}',
    (client) => client.liquidityProviders.withdrawals(id).create(withdrawal),
  ],
  [
    `POST ${provider}/exchange-rates`,
    '{"baseGatewayId":"b","counterGatewayId":"c","baseCurrency":"KES","counterCurrency":"EUR","buyPrice":"0.0066","sellPrice":"0.0067"}',
    (client) => client.liquidityProviders.exchangeRates(id).create({ ...rate, counterGatewayId: "c" }),
  ],
  [
    `POST ${provider}/transfers`,
    '{"from":"exchange-rate","to":"wallet","exchangeRateId":"","gatewayId":"g","currency":"KES","amount":"6.00"}',
    (client) => client.liquidityProviders.transfers(id).create({ ...transfer, exchangeRateId: "" }),
  ],
  [
    "PUT /gw/v1/payment-gateways/7%2F%C3%A9%27/withdrawals/8",
    '{"amount":"10.00","status":"processed"}',
    (client) => client.paymentGateways.withdrawals(id).update("8", { status: "processed", amount: "10.00" }),
  ],
  [
    "POST /gw/v1/payment-intents",
    '{"senderGatewayId":"alpha-bank","senderCurrency":"EUR","senderAccount":"DE-0001","receiverGatewayId":"beta-mobile","receiverAccount":"KE-7002","receiverCurrency":"KES","receiverAmount":"1500.00","memo":"school fees / №1"}',
    (client) => client.paymentIntents.create(intent),
  ],
  [
    "POST /gw/v1/payments",
    '{"id":"PI-1","senderGatewayId":"alpha-bank","senderAmount":"11.00","senderCurrency":"EUR","senderAccount":"DE-0001","senderName":"Ada","receiverGatewayId":"beta-mobile","receiverAmount":"1500.00","receiverCurrency":"KES","receiverAccount":"KE-7002","receiverName":"Baraka","receivingGatewayFee":"1.00","memo":"school fees / №1","senderGatewayTransactionId":"TX-1","extras":{"b":[1,null],"a":"x"},"somethingNew":null}',
    (client) => client.payments.create(payment),
  ],
  [
    "GET /gw/v1/payments?_sort=createdAt.desc%2Cid.asc&x=1",
    "",
    (client) => client.payments.list({ sort: ["createdAt.desc", "id.asc"], filter: { other: { x: "1" } } }),
  ],
];

it.each(rows)("sends the bytes that were recorded: %s", async (line, body, call) => {
  const isList = line.startsWith("GET") && !line.includes("gateways/7");
  const seen: { line: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const received = await text(request);
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: received });
    response.end(isList ? "[]" : JSON.stringify({ ...(received !== "" && JSON.parse(received)), id: "made" }));
  });
  const baseUrl = `${await originInTest(server)}/gw/v1/`;
  const signingKey = signingKeysOf("gateway").privateKey;
  const headers = { "X-Tenant": "t1" };
  const auth = { accessToken: () => "token-1" };
  const client = new CrossBorderClient({ baseUrl, auth, signingKey, headers, validation: "off" });
  onTestFinished(() => client.close());
  await call(client);
  const [request, ...more] = seen;
  if (request === undefined || more.length > 0) throw new Error(`${seen.length} requests`);
  const { "user-agent": agent, host, "x-service-signature-base64": signature, ...others } = request.headers;
  expect([request.line, request.body.replace(key, "KEY")]).toEqual([line, body]);
  expect(others).toEqual({
    accept: "application/json",
    authorization: "Bearer token-1",
    connection: "keep-alive",
    "x-tenant": "t1",
    "accept-encoding": "identity",
    ...(isList && { "accept-encoding": "gzip, br", "cache-control": "no-cache" }),
    ...(body !== "" && {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(request.body)),
    }),
  });
  expect([agent, host]).toEqual([expect.any(String), expect.any(String)]);
  const isSigned = /^POST .*[/](?:payments|deposits)$/.test(line);
  expect(signature !== undefined).toBe(isSigned);
  if (!isSigned) return;
  const signed = Buffer.from(`${line.split(" ")[1]}${request.body}`);
  expect(verify("sha256", signed, keyPairOf("gateway").publicKey, Buffer.from(String(signature), "base64"))).toBe(true);
});
