import { expect, it } from "vitest";
import { operations } from "../../src/resources/catalogue.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { host, openFixture, pair, registerGateways, responseOf } from "./sandbox-fixture.js";

const keys = signingKeysOf("gateway");

async function openProvider() {
  const fixture = await openFixture();
  const gateways = await registerGateways(fixture, keys);
  const provider = await fixture.create("/liquidity-providers", { firstName: "Lia", lastName: "P", email: "l@p.test" });
  return { fixture, ...gateways, provider, base: `/liquidity-providers/${provider.id}` };
}

it("wants an access token for each operation", async () => {
  const sandbox = createSandbox();
  for (const { method, path } of operations.values()) {
    const target = host + path.text.replace(/\{\w+\}/g, "x");
    for (const headers of [undefined, { authorization: "Bearer wrong" }, { authorization: "Basic abc" }]) {
      const response = await responseOf(await sandbox.fetch(target, { method, ...(headers && { headers }) }));
      expect(response.status, `${method} ${path.text}`).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
    }
  }
});

it.each([
  ["0.125", 125, 1000],
  ["1", 1, 1],
  ["0.000001", 1, 1_000_000],
  ["9007199254740991", 9007199254740991, 1],
])("writes the price %s as %d over %d", async (sellPrice, sellPriceN, sellPriceD) => {
  const { fixture, base } = await openProvider();
  const { id } = await fixture.create(`${base}/exchange-rates`, { ...pair, buyPrice: "1.10", sellPrice: "1.00" });
  await fixture.send("PUT", `${base}/exchange-rates/${id}`, { sellPrice });
  const read = (await fixture.send("GET", `${base}/exchange-rates/${id}`)).body;
  expect(read).toMatchObject({ buyPriceN: 110, buyPriceD: 100, sellPriceN, sellPriceD });
});

it("refuses a single read with code and message, and everything else with error and message", async () => {
  const { fixture, base } = await openProvider();
  const get = await fixture.send("GET", `${base}/deposits/none`);
  expect(get).toMatchObject({ status: 400, body: { code: "not_found", message: expect.any(String) } });
  for (const [method, path, body] of [
    ["PUT", `${base}/deposits/none`, {}],
    ["GET", "/liquidity-providers/none/deposits", undefined],
    ["POST", "/liquidity-providers/none/transfers", { from: "wallet", to: "wallet", amount: "1" }],
    ["GET", "/payment-gateways/none/withdrawals", undefined],
  ] as const) {
    const response = await fixture.send(method, path, body);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ error: "not_found", message: expect.any(String) });
  }
});

const wallets = { from: "wallet", to: "wallet", amount: "1" };

it.each([
  ["a body that is not JSON", "deposits", "{", "invalid_json"],
  ["a body that is no object", "deposits", "[]", "invalid_body"],
  ["an unknown field", "transfers", { ...wallets, nickname: "x" }, "unknown_field"],
  ["a field named like a method of objects", "transfers", { ...wallets, constructor: "x" }, "unknown_field"],
  ["a field that only responses have", "transfers", { ...wallets, id: "x" }, "unknown_field"],
  ["a wrong type", "transfers", { ...wallets, amount: 7 }, "invalid_value"],
  ["null for a text", "transfers", { ...wallets, gatewayId: null }, "invalid_value"],
  ["an amount that is no numeral", "transfers", { ...wallets, amount: "1e3" }, "invalid_value"],
  ["a negative amount", "transfers", { ...wallets, amount: "-1" }, "invalid_value"],
  ["an unknown end of a transfer", "transfers", { ...wallets, from: "bank" }, "invalid_value"],
  ["a missing field", "transfers", { from: "wallet", to: "wallet" }, "missing_field"],
  ["an unknown rate", "transfers", { ...wallets, from: "exchange-rate" }, "unknown_exchange_rate"],
  ["an unknown gateway", "withdrawals", { paymentGatewayId: "x", amount: "1", currency: "EUR" }, "unknown_gateway"],
  ["a price of zero", "exchange-rates", { ...pair, buyPrice: "0", sellPrice: "1" }, "invalid_value"],
  ["a price beyond 2^53", "exchange-rates", { ...pair, buyPrice: "1", sellPrice: "9007199254740993" }, "invalid_value"],
])("refuses %s", async (_, resource, body, error) => {
  const { fixture, base } = await openProvider();
  expect(await fixture.send("POST", `${base}/${resource}`, body)).toMatchObject({ status: 400, body: { error } });
  const { deposits, transfers, withdrawals, exchangeRates } = fixture.sandbox.ledger;
  expect([deposits, transfers, withdrawals, exchangeRates]).toEqual([[], [], [], []]);
});

it("leaves a record as it was when an update is refused", async () => {
  const { fixture, base } = await openProvider();
  const { id } = await fixture.create(`${base}/exchange-rates`, { ...pair, buyPrice: "1.10", sellPrice: "1.00" });
  const path = `${base}/exchange-rates/${id}`;
  const before = (await fixture.send("GET", path)).body;
  expect((await fixture.send("PUT", path, { buyPrice: "2", baseGatewayId: "none" })).status).toBe(400);
  expect((await fixture.send("GET", path)).body).toEqual(before);
});

it("refuses a second gateway with the same institutionId, and lets a gateway keep its own", async () => {
  const { fixture, alfa, bravo } = await openProvider();
  const second = await fixture.send("POST", "/payment-gateways", { institutionId: "alfa" });
  expect(second).toMatchObject({ status: 400, body: { error: "duplicate_institution_id" } });
  expect((await fixture.send("PUT", `/payment-gateways/${bravo.id}`, { institutionId: "alfa" })).status).toBe(400);
  expect((await fixture.send("PUT", `/payment-gateways/${alfa.id}`, { institutionId: "alfa" })).status).toBe(200);
});

it("responds 404 to paths that the description does not have", async () => {
  const fixture = await openFixture({ basePath: "/gw" });
  for (const path of ["/payments", "/gw/no-such-resource/1", "/gw/no-such-resource/"]) {
    expect((await fixture.send("GET", path)).status).toBe(404);
  }
});
