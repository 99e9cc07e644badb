import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resource } from "../../src/api/resource.js";
import { sourcesOf } from "../../src/cli/lists/sources.js";
import type { CrossBorderClient } from "../../src/index.js";
import { catalogue } from "../../src/resources/catalogue.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { originInTest } from "../support/origin-of.js";
import { environmentOf, registeredClient, requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const secret = "a secret of the gateway";
let server: SandboxServer;
let client: CrossBorderClient;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startSandbox();
  client = await registeredClient(server, () => ({
    name: "The \u001b[2Jbank",
    accountVerificationBearerToken: secret,
  }));
  env = environmentOf(server);
});
afterAll(async () => {
  await client.close();
  await server.close();
});

async function firstGateway() {
  const [gateway] = await client.paymentGateways.list().toArray({ max: 10 });
  if (gateway === undefined) throw new Error("no gateway");
  return gateway;
}

describe("a record", () => {
  it("is JSON for programs, as the service has it, but for credentials", async () => {
    const { accountVerificationBearerToken: _, ...gateway } = await firstGateway();
    for (const more of [{}, { width: 80 }]) {
      const { code, stdout } = await run(["payment-gateways", "show", gateway.id, "--json"], { env, ...more });
      expect({ code, shown: JSON.parse(stdout) }).toEqual({ code: 0, shown: gateway });
    }
  });

  it("is a line a field at a terminal, which it can't steer", async () => {
    const { id } = await firstGateway();
    const { code, stdout } = await run(["payment-gateways", "show", id], { env, width: 100 });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^id +${id}$`, "m"));
    expect(stdout).toMatch(/^name +The {2}\[2Jbank$/m);
    expect(stdout).not.toMatch(/[^\n\P{Cc}]/u);
  });

  it("can be a provider, an intent, and what is kept under a provider or a gateway", async () => {
    const provider = await client.liquidityProviders.create({ firstName: "L", lastName: "Q", email: "l@example.com" });
    const intent = await client.paymentIntents.create(requestOf("5.00"));
    const rate = await client.liquidityProviders.exchangeRates(provider.id).create({
      ...{ baseGatewayId: "alpha-bank", counterGatewayId: "beta-mobile", baseCurrency: "EUR", counterCurrency: "KES" },
      ...{ buyPrice: "150.1", sellPrice: "149.9" },
    });
    for (const [record, ...line] of [
      [provider, "liquidity-providers", "show", provider.id],
      [intent, "payment-intents", "show", intent.id],
      [rate, "exchange-rates", "show", rate.id, "--liquidity-provider", provider.id],
    ] as const) {
      const { code, stdout } = await run(line, { env });
      expect({ code, shown: JSON.parse(stdout) }).toEqual({ code: 0, shown: record });
    }
  });

  it("shows no credential unless it is asked for, wherever one stands", async () => {
    const gateway = await firstGateway();
    const within = { ...gateway, name: { inner: { accountVerificationBearerToken: `${secret} within` } } };
    const nesting = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(within));
    });
    const nested = ["--base-url", await originInTest(nesting)];
    for (const more of [{}, { width: 400 }]) {
      for (const line of [[], nested]) {
        const show = ["payment-gateways", "show", gateway.id, ...line];
        const { code, stdout } = await run(show, { env, ...more });
        expect(code).toBe(0);
        expect(stdout).not.toMatch(/a secret|BearerToken/);
        const { stdout: asked } = await run([...show, "--with-credentials"], { env, ...more });
        expect(asked).toContain(secret);
        expect(asked.includes(`${secret} within`)).toBe(line === nested);
      }
    }
  });

  it("has to be named, and to be there", async () => {
    const nobody = await run(["payment-gateways", "show"], { env });
    expect(nobody).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("missing required argument 'id'"),
    });
    const provider = await run(["deposits", "show", "4711"], { env });
    expect(provider).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'--liquidity-provider <id>' not specified"),
    });
    const unknown = await run(["payment-gateways", "show", "nowhere"], { env });
    expect(unknown).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("paymentGateways.get") });
  });
});

describe("the catalogue", () => {
  it("gives a resource that is added a list, and a show where the service has one", () => {
    const refunds = resource<{ id: string; amount: string }>()(
      "paymentGateways.refundRequests",
      "/payment-gateways/{paymentGatewayId}/refund-requests",
      { fields: { id: "text", amount: "decimal" }, list: true, get: true },
    );
    const deposits = resource<{ id: string }>()("paymentGateways.deposits", "/deposits", {
      fields: { id: "text" },
      list: true,
    });
    const texts = { a: "text", b: "text", c: "text", d: "text", e: "text", f: "text", g: "text" } as const;
    const fields = { accountVerificationBearerToken: "secret", ...texts } as const;
    const limit = resource<Record<keyof typeof fields, string>>()(
      "limits",
      "/banks/{bankIdentityId}/regions/{regionId}/limits",
      { fields, get: true },
    );
    const transfers = resource<{ id: string }>()("senders.transfers", "/transfers", {
      fields: { id: "text" },
      list: true,
    });
    const added = sourcesOf([...catalogue, {}, refunds, deposits, transfers, limit]);
    expect(added.slice(-4).map((one) => ({ ...one, columns: one.columns.map(({ title }) => title) }))).toMatchObject([
      {
        ...{ name: "refund-requests", title: "refund requests of a payment gateway", parents: ["payment-gateway"] },
        ...{ columns: ["id", "amount"], fields: { id: "text", amount: "decimal" } },
      },
      { name: "gateway-deposits", title: "deposits of a payment gateway", parents: [] },
      { name: "sender-transfers", title: "transfers of a sender" },
      {
        name: "limits",
        title: "limits",
        parents: ["bank-identity", "region"],
        columns: ["a", "b", "c", "d", "e", "f"],
      },
    ]);
    expect(added.at(-1)?.columns[1]?.cell({ a: 1, b: 2 })).toBe("2");
    expect(sourcesOf([{}])).toEqual([]);
  });
});
