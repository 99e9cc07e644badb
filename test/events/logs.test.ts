import { CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import type { SandboxOptions } from "cross-border-payments/sandbox";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { Bank } from "../flows/flow-fixture.js";
import { intentRequest } from "../support/corridor.js";
import { harnesses, prepareCorridor } from "../support/sandbox-harness.js";

function logOf(level: string) {
  const written: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void written.push(line) });
  const lines = () => written.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  return { logger, lines, text: () => written.join("") };
}

const accounts = { senderAccount: "DE89370400440532013000", receiverAccount: "KE7002-5550-1234" };
const request = { ...intentRequest, ...accounts, memo: "school fees of Ada" };

/** A flow at a service with these hooks, and what is logged of it from the level on. */
async function loggedFlow(level: string, hooks: SandboxOptions) {
  const [{ open } = expect.fail("there is no harness")] = harnesses;
  const harness = await open(hooks);
  const { keys } = await prepareCorridor(harness);
  const { logger, lines, text } = logOf(level);
  const { takeFunds, releaseFunds } = new Bank();
  const client = new CrossBorderClient({ ...harness.options, logger, signingKey: keys.privateKey });
  const journal = new MemoryJournal();
  const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds, readBackDelayMs: 1, readBacks: 2 });
  onTestFinished(async () => {
    await flow.close();
    await client.close();
    await harness[Symbol.asyncDispose]();
  });
  return { run: () => flow.run("order-1", request), lines, text };
}

const responding = (operation: string, response: () => Response): SandboxOptions => ({
  onRequest: (seen) => (seen.operation === operation ? response() : undefined),
});

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
});

describe("of a flow a logger", () => {
  it("gets a warning with status and code when a payment is refused, and no error", async () => {
    const said = { error: "limit_exceeded", message: "DE89370400440532013000 is over it" };
    const refuse = () => Response.json(said, { status: 400 });
    const { run, lines, text } = await loggedFlow("debug", responding("payments.create", refuse));
    expect((await run()).status).toBe("rejected");
    const steps = lines().filter((line) => "cross_border.flow.key" in line);
    const refusal = { "http.response.status_code": 400, "cross_border.service_code": "limit_exceeded" };
    expect(steps).toMatchObject([
      { level: 20, msg: "a flow is funds-requested" },
      { level: 20, msg: "a flow is claimed" },
      { level: 20, msg: "a flow is refused", ...refusal },
      { level: 40, msg: "a flow is rejected", ...refusal },
    ]);
    expect(lines().filter(({ level }) => Number(level) > 20)).toHaveLength(1);
    expect(lines().some((line) => "cross_border.effect" in line && line["cross_border.effect"] !== "none")).toBe(false);
    expect(text()).not.toMatch(/DE8937|KE7002|TX-1|is over it/);
  });

  it("gets an error when a payment's outcome is unknown, and when a flow is held", async () => {
    const { run, lines, text } = await loggedFlow("warn", {
      ...responding("payments.list", () => Response.json([])),
      onResponse: ({ operation }, response) => (operation === "payments.create" ? Response.error() : response),
    });
    expect((await run()).status).toBe("held");
    const errors = lines().filter(({ level }) => level === 50);
    expect(errors.map(({ msg }) => msg)).toEqual([
      "payments.create: outcome_unknown, it may have been done",
      "a flow is unknown",
      "a flow is held",
    ]);
    expect(errors.at(-1)).toMatchObject({ "cross_border.flow.key": "order-1", "cross_border.effect": "possible" });
    expect(text()).not.toMatch(/DE8937|KE7002|TX-1/);
  });
});
