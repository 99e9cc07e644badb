import { verify } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { CrossBorderClient, type OperationName, operationNames } from "cross-border-payments";
import { describe, expect, it, onTestFinished } from "vitest";
import { keyPairOf, signingKeysOf } from "../support/key-pairs.js";

type Client = CrossBorderClient;

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
/** Each operation with input in another order than the description's. */
const calls: Readonly<Record<OperationName, (client: Client) => PromiseLike<unknown>>> = {
  "paymentGateways.create": (client) => client.paymentGateways.create(gateway),
  "paymentGateways.list": (client) => client.paymentGateways.list({ filter: { name: "a b&c'" }, sort: "name.asc" }),
  "paymentGateways.get": (client) => client.paymentGateways.get(id, { query: { currency: "KES" } }),
  "paymentGateways.update": (client) => client.paymentGateways.update(id, gateway),
  "liquidityProviders.create": (client) => client.liquidityProviders.create(person),
  "liquidityProviders.list": (client) => client.liquidityProviders.list(),
  "liquidityProviders.get": (client) => client.liquidityProviders.get(id),
  "liquidityProviders.update": (client) => client.liquidityProviders.update(id, person),
  "liquidityProviders.deposits.create": (client) => client.liquidityProviders.deposits(id).create(deposit),
  "liquidityProviders.deposits.list": (client) => client.liquidityProviders.deposits(id).list({ after: "5", size: 10 }),
  "liquidityProviders.deposits.get": (client) => client.liquidityProviders.deposits(id).get("8"),
  "liquidityProviders.deposits.update": (client) => client.liquidityProviders.deposits(id).update("8", deposit),
  "liquidityProviders.withdrawals.create": (client) => client.liquidityProviders.withdrawals(id).create(withdrawal),
  "liquidityProviders.withdrawals.list": (client) => client.liquidityProviders.withdrawals(id).list({ before: "9" }),
  "liquidityProviders.withdrawals.get": (client) => client.liquidityProviders.withdrawals(id).get("8"),
  "liquidityProviders.withdrawals.update": (client) =>
    client.liquidityProviders.withdrawals(id).update("8", withdrawal),
  "liquidityProviders.exchangeRates.create": (client) =>
    client.liquidityProviders.exchangeRates(id).create({ ...rate, counterGatewayId: "c" }),
  "liquidityProviders.exchangeRates.list": (client) => client.liquidityProviders.exchangeRates(id).list(),
  "liquidityProviders.exchangeRates.get": (client) => client.liquidityProviders.exchangeRates(id).get("8"),
  "liquidityProviders.exchangeRates.update": (client) => client.liquidityProviders.exchangeRates(id).update("8", rate),
  "liquidityProviders.transfers.create": (client) =>
    client.liquidityProviders.transfers(id).create({ ...transfer, exchangeRateId: "" }),
  "liquidityProviders.transfers.list": (client) => client.liquidityProviders.transfers(id).list(),
  "liquidityProviders.transfers.get": (client) => client.liquidityProviders.transfers(id).get("8"),
  "liquidityProviders.transfers.update": (client) => client.liquidityProviders.transfers(id).update("8", transfer),
  "paymentGateways.withdrawals.list": (client) => client.paymentGateways.withdrawals(id).list(),
  "paymentGateways.withdrawals.get": (client) => client.paymentGateways.withdrawals(id).get("8"),
  "paymentGateways.withdrawals.update": (client) =>
    client.paymentGateways.withdrawals(id).update("8", { status: "processed", amount: "10.00" }),
  "paymentIntents.create": (client) => client.paymentIntents.create(intent),
  "paymentIntents.get": (client) => client.paymentIntents.get(id),
  "payments.create": (client) => client.payments.create(payment),
  "payments.list": (client) =>
    client.payments.list({ sort: ["createdAt.desc", "id.asc"], filter: { other: { x: "1" } } }),
};

/** Request line and body of each call above, as version 0.3.0 sent them. */
const recorded: Readonly<Record<OperationName, readonly [line: string, body: string]>> = {
  "paymentGateways.create": [
    "POST /gw/v1/payment-gateways",
    '{"countryCode":"TZ","institutionId":"alpha-bank","name":"Bänk","rsaPublicKeyBase64":"KEY"}',
  ],
  "paymentGateways.list": ["GET /gw/v1/payment-gateways?_sort=name.asc&name=a%20b%26c%27", ""],
  "paymentGateways.get": ["GET /gw/v1/payment-gateways/7%2F%C3%A9%27?currency=KES", ""],
  "paymentGateways.update": [
    "PUT /gw/v1/payment-gateways/7%2F%C3%A9%27",
    '{"countryCode":"TZ","institutionId":"alpha-bank","name":"Bänk","rsaPublicKeyBase64":"KEY"}',
  ],
  "liquidityProviders.create": [
    "POST /gw/v1/liquidity-providers",
    `{"firstName":"Zoë","lastName":"O'Neill","email":"q@example.com"}`,
  ],
  "liquidityProviders.list": ["GET /gw/v1/liquidity-providers", ""],
  "liquidityProviders.get": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27", ""],
  "liquidityProviders.update": [
    "PUT /gw/v1/liquidity-providers/7%2F%C3%A9%27",
    `{"firstName":"Zoë","lastName":"O'Neill","email":"q@example.com"}`,
  ],
  "liquidityProviders.deposits.create": [
    "POST /gw/v1/liquidity-providers/7%2F%C3%A9%27/deposits",
    '{"paymentGatewayId":"beta-mobile","paymentGatewayTransactionId":"TX-1","amount":"10.00","currency":"KES"}',
  ],
  "liquidityProviders.deposits.list": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/deposits?_size=10&_after=5", ""],
  "liquidityProviders.deposits.get": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/deposits/8", ""],
  "liquidityProviders.deposits.update": [
    "PUT /gw/v1/liquidity-providers/7%2F%C3%A9%27/deposits/8",
    '{"paymentGatewayId":"beta-mobile","paymentGatewayTransactionId":"TX-1","amount":"10.00","currency":"KES"}',
  ],
  "liquidityProviders.withdrawals.create": [
    "POST /gw/v1/liquidity-providers/7%2F%C3%A9%27/withdrawals",
    '{"paymentGatewayId":"beta-mobile","amount":"10","fee":"0.10","currency":"KES","status":"requested"}',
  ],
  "liquidityProviders.withdrawals.list": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/withdrawals?_before=9", ""],
  "liquidityProviders.withdrawals.get": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/withdrawals/8", ""],
  "liquidityProviders.withdrawals.update": [
    "PUT /gw/v1/liquidity-providers/7%2F%C3%A9%27/withdrawals/8",
    '{"paymentGatewayId":"beta-mobile","amount":"10","fee":"0.10","currency":"KES","status":"requested"}',
  ],
  "liquidityProviders.exchangeRates.create": [
    "POST /gw/v1/liquidity-providers/7%2F%C3%A9%27/exchange-rates",
    '{"baseGatewayId":"b","counterGatewayId":"c","baseCurrency":"KES","counterCurrency":"EUR","buyPrice":"0.0066","sellPrice":"0.0067"}',
  ],
  "liquidityProviders.exchangeRates.list": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/exchange-rates", ""],
  "liquidityProviders.exchangeRates.get": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/exchange-rates/8", ""],
  "liquidityProviders.exchangeRates.update": [
    "PUT /gw/v1/liquidity-providers/7%2F%C3%A9%27/exchange-rates/8",
    '{"baseGatewayId":"b","baseCurrency":"KES","counterCurrency":"EUR","buyPrice":"0.0066","sellPrice":"0.0067"}',
  ],
  "liquidityProviders.transfers.create": [
    "POST /gw/v1/liquidity-providers/7%2F%C3%A9%27/transfers",
    '{"from":"exchange-rate","to":"wallet","exchangeRateId":"","gatewayId":"g","currency":"KES","amount":"6.00"}',
  ],
  "liquidityProviders.transfers.list": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/transfers", ""],
  "liquidityProviders.transfers.get": ["GET /gw/v1/liquidity-providers/7%2F%C3%A9%27/transfers/8", ""],
  "liquidityProviders.transfers.update": [
    "PUT /gw/v1/liquidity-providers/7%2F%C3%A9%27/transfers/8",
    '{"from":"exchange-rate","to":"wallet","gatewayId":"g","currency":"KES","amount":"6.00"}',
  ],
  "paymentGateways.withdrawals.list": ["GET /gw/v1/payment-gateways/7%2F%C3%A9%27/withdrawals", ""],
  "paymentGateways.withdrawals.get": ["GET /gw/v1/payment-gateways/7%2F%C3%A9%27/withdrawals/8", ""],
  "paymentGateways.withdrawals.update": [
    "PUT /gw/v1/payment-gateways/7%2F%C3%A9%27/withdrawals/8",
    '{"amount":"10.00","status":"processed"}',
  ],
  "paymentIntents.create": [
    "POST /gw/v1/payment-intents",
    '{"senderGatewayId":"alpha-bank","senderCurrency":"EUR","senderAccount":"DE-0001","receiverGatewayId":"beta-mobile","receiverAccount":"KE-7002","receiverCurrency":"KES","receiverAmount":"1500.00","memo":"school fees / №1"}',
  ],
  "paymentIntents.get": ["GET /gw/v1/payment-intents/7%2F%C3%A9%27", ""],
  "payments.create": [
    "POST /gw/v1/payments",
    '{"id":"PI-1","senderGatewayId":"alpha-bank","senderAmount":"11.00","senderCurrency":"EUR","senderAccount":"DE-0001","senderName":"Ada","receiverGatewayId":"beta-mobile","receiverAmount":"1500.00","receiverCurrency":"KES","receiverAccount":"KE-7002","receiverName":"Baraka","receivingGatewayFee":"1.00","memo":"school fees / №1","senderGatewayTransactionId":"TX-1","extras":{"b":[1,null],"a":"x"},"somethingNew":null}',
  ],
  "payments.list": ["GET /gw/v1/payments?_sort=createdAt.desc%2Cid.asc&x=1", ""],
};

interface Seen {
  readonly line: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

async function requestOf(name: OperationName): Promise<Seen> {
  const seen: Seen[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = await text(request);
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
    response.end(answerTo(name, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new CrossBorderClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/gw/v1/`,
    auth: { accessToken: () => "token-1" },
    signingKey: signingKeysOf("gateway").privateKey,
    headers: { "X-Tenant": "t1" },
    validation: "off",
  });
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  await calls[name](client);
  const [request, ...others] = seen;
  if (request === undefined || others.length > 0) throw new Error(`${seen.length} requests`);
  return request;
}

function answerTo(name: OperationName, body: string): string {
  if (name.endsWith(".list")) return "[]";
  if (name.endsWith(".update")) return "";
  return JSON.stringify({ ...(body === "" ? {} : JSON.parse(body)), id: "made" });
}

/** What every request carries besides what its kind adds. */
const common = {
  accept: "application/json",
  authorization: "Bearer token-1",
  connection: "keep-alive",
  "x-tenant": "t1",
};

const headersOf = (name: OperationName, body: string) => ({
  ...common,
  ...(name.endsWith(".list")
    ? { "accept-encoding": "gzip, br", "cache-control": "no-cache" }
    : { "accept-encoding": "identity" }),
  ...(body !== "" && { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
});

describe("the bytes of a request", () => {
  it.each(operationNames)("are those that were recorded: %s", async (name) => {
    const { line, headers, body } = await requestOf(name);
    const { "user-agent": agent, host, "x-service-signature-base64": signature, ...others } = headers;
    expect([line, body.replace(key, "KEY")]).toEqual(recorded[name]);
    expect(others).toEqual(headersOf(name, body));
    expect([agent, host]).toEqual([expect.any(String), expect.any(String)]);
    const isSigned = name === "payments.create" || name === "liquidityProviders.deposits.create";
    expect(signature !== undefined).toBe(isSigned);
    if (!isSigned) return;
    const signed = Buffer.from(`${line.split(" ")[1]}${body}`);
    const { publicKey } = keyPairOf("gateway");
    expect(verify("sha256", signed, publicKey, Buffer.from(String(signature), "base64"))).toBe(true);
  });
});
