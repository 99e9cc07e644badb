import { type ClientOptions, ConfigError, CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { type Harness, harnesses, prepareCorridor } from "../contract/harness.js";
import { Bank } from "../flows/flow-fixture.js";

function logOf(level: string) {
  const written: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void written.push(line) });
  const lines = () => written.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  return { logger, lines, text: () => written.join("") };
}

const request = {
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAccount: "DE89370400440532013000",
  receiverGatewayId: "beta-mobile",
  receiverCurrency: "KES",
  receiverAccount: "KE7002-5550-1234",
  receiverAmount: "15000.00",
  memo: "school fees of Ada",
};

function flowOf({ options }: Harness, more: Partial<ClientOptions>) {
  const bank = new Bank();
  const client = new CrossBorderClient({ ...options, ...more });
  const flow = new PaymentFlow({
    client,
    journal: new MemoryJournal(),
    takeFunds: bank.takeFunds,
    releaseFunds: bank.releaseFunds,
    readBackDelayMs: 1,
    readBacks: 2,
  });
  return { flow, client };
}

describe.each(harnesses)("a logger with $name", ({ open }) => {
  it("gets a line for the token and for each call, and none of their secrets", async () => {
    const sent: string[] = [];
    await using harness = await open({
      onRequest({ headers }) {
        for (const name of ["authorization", "x-service-signature-base64"]) sent.push(headers.get(name) ?? "");
        return undefined;
      },
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines, text } = logOf("trace");
    const client = harness.client({ logger, signingKey: keys.privateKey });
    await client.pay(request, async () => ({ senderGatewayTransactionId: "TX-77-1234567" }));
    await client.payments.list({ filter: { senderAccount: request.senderAccount } });
    await client.paymentIntents.get("no-such-intent").catch(() => {});
    expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
      [20, "an access token was obtained"],
      [20, "paymentIntents.create: 200"],
      [20, "payments.create: 200"],
      [20, "payments.list: 200"],
      [20, "paymentIntents.get: http_400, nothing was done"],
    ]);
    const tokens = sent.filter((value) => value !== "").map((value) => value.replace("Bearer ", ""));
    expect(tokens.length).toBeGreaterThan(4);
    const { username, password } = harness.sandbox.credentials;
    const values = ["DE89370400440532013000", "KE7002", "school", "15000.00", "TX-77", "no-such-intent", "alpha-bank"];
    for (const value of [...tokens, ...values, username, password]) expect(text()).not.toContain(value);
  });

  it("gets a warning with status and code when a payment is refused, and no error", async () => {
    await using harness = await open({
      onRequest: ({ operation }) =>
        operation === "payments.create"
          ? Response.json({ error: "limit_exceeded", message: "DE89370400440532013000 is over it" }, { status: 400 })
          : undefined,
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines, text } = logOf("debug");
    const { flow, client } = flowOf(harness, { logger, signingKey: keys.privateKey });
    expect((await flow.run("order-1", request)).status).toBe("rejected");
    const steps = lines().filter((line) => "cross_border.flow.key" in line);
    const refusal = { "http.response.status_code": 400, "cross_border.service_code": "limit_exceeded" };
    expect(steps).toMatchObject([
      { level: 20, msg: "a flow is funds-requested" },
      { level: 20, msg: "a flow is claimed" },
      { level: 20, msg: "a flow is unknown", ...refusal },
      { level: 20, msg: "a flow is refused", ...refusal },
      { level: 40, msg: "a flow is rejected", ...refusal },
    ]);
    expect(lines().filter(({ level }) => Number(level) > 20)).toHaveLength(1);
    expect(lines().some((line) => "cross_border.effect" in line && line["cross_border.effect"] !== "none")).toBe(false);
    expect(text()).not.toMatch(/DE8937|KE7002|TX-1|is over it/);
    await flow.close();
    await client.close();
  });

  it("gets a warning when an intent is refused, without a code that is a sentence", async () => {
    await using harness = await open({
      onRequest: ({ operation }) =>
        operation === "paymentIntents.create"
          ? Response.json({ error: "Ada Lovelace is not known here", message: "no" }, { status: 400 })
          : undefined,
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines, text } = logOf("warn");
    const { flow, client } = flowOf(harness, { logger, signingKey: keys.privateKey });
    expect((await flow.run("order-1", request)).status).toBe("rejected");
    expect(lines()).toMatchObject([{ level: 40, msg: "a flow is rejected", "http.response.status_code": 400 }]);
    expect(text()).not.toMatch(/service_code|Lovelace/);
    await flow.close();
    await client.close();
  });

  it("gets an error when a refused payment can't be looked for, and says what was refused", async () => {
    await using harness = await open({
      onRequest({ operation }) {
        if (operation === "payments.create") return Response.json({ error: "no", message: "no" }, { status: 400 });
        return undefined;
      },
      onResponse: ({ operation }, response) => (operation === "payments.list" ? Response.json([{}]) : response),
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines } = logOf("error");
    const { flow, client } = flowOf(harness, { logger, signingKey: keys.privateKey });
    expect((await flow.run("order-1", request)).status).toBe("held");
    expect(lines()).toMatchObject([
      { msg: "a flow is held", "http.response.status_code": 400, "cross_border.service_code": "no" },
    ]);
    await flow.close();
    await client.close();
  });

  it("gets a warning with the code of what keeps a flow from going on", async () => {
    await using harness = await open({
      onRequest: ({ operation }) =>
        operation === "payments.create"
          ? Response.json({ error: "slow_down", message: "no" }, { status: 429, headers: { "retry-after": "3600" } })
          : undefined,
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines } = logOf("warn");
    const { flow, client } = flowOf(harness, { logger, signingKey: keys.privateKey });
    await expect(flow.run("order-1", request)).rejects.toMatchObject({ code: "flow_paused" });
    expect(lines().at(-1)).toMatchObject({ level: 40, msg: "a flow is unknown", "error.type": "flow_throttled" });
    await flow.close();
    await client.close();
  });

  it("gets an error when a payment's outcome is unknown, and when a flow is held", async () => {
    await using harness = await open({
      onResponse: ({ operation }, response) => (operation === "payments.create" ? Response.error() : response),
      onRequest: ({ operation }) => (operation === "payments.list" ? Response.json([]) : undefined),
    });
    const { keys } = await prepareCorridor(harness);
    const { logger, lines, text } = logOf("warn");
    const { flow, client } = flowOf(harness, { logger, signingKey: keys.privateKey });
    const outcome = await flow.run("order-1", request);
    expect(outcome.status).toBe("held");
    const errors = lines().filter(({ level }) => level === 50);
    expect(errors.map(({ msg }) => msg)).toEqual([
      "payments.create: outcome_unknown, it may have been done all the same",
      "a flow is unknown",
      "a flow is held",
    ]);
    expect(errors.at(-1)).toMatchObject({ "cross_border.flow.key": "order-1", "cross_border.effect": "possible" });
    expect(text()).not.toMatch(/DE8937|KE7002|TX-1/);
    await flow.close();
    await client.close();
  });
});

it("is refused where it is none", () => {
  const auth = { authUrl: "https://login.test", realm: "r", clientId: "c", username: "u", password: "p" };
  const logger = { debug: () => {}, warn: () => {} } as unknown as typeof console;
  const build = () => new CrossBorderClient({ baseUrl: "https://service.test", auth, logger });
  expect(build).toThrow(ConfigError);
  expect(build).toThrow("logger must be a logger: an object with the methods debug, warn and error");
  expect(() => new CrossBorderClient({ baseUrl: "https://service.test", auth, logger: console })).not.toThrow();
});
