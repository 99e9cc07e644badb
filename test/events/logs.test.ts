import pino from "pino";
import { describe, expect, it } from "vitest";
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
