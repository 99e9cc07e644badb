import { describe, expect, it, vi } from "vitest";
import type { RequestOptions } from "../../src/api/request-options.js";
import { createReporter } from "../../src/events/reporter.js";
import type { HttpClient } from "../../src/http/http-client.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { calls, errorOf, json, payment, recordOf, scriptedClient } from "./scripted-transport.js";

const intentRecord = recordOf(paymentIntents.get.record);

describe("a check of a call that is not made", () => {
  const checkPayment = (client: HttpClient, options?: RequestOptions) =>
    client.check(payments.create, [], { body: payment }, options);

  it("makes one trial signature in the life of the client, and sends nothing", async () => {
    const { client, transport, tokens, signer } = scriptedClient([]);
    await checkPayment(client);
    await checkPayment(client);
    expect(signer.sign.mock.calls.map(([path, body]) => [path, body.length])).toEqual([["/", 2]]);
    expect([transport.sent, tokens.current.mock.calls]).toEqual([[], []]);
  });

  it("needs no signature where the operation is not signed", async () => {
    const { client, signer } = scriptedClient([]);
    await client.check(liquidityProviders.create, [], { body: { firstName: "Ada" } });
    expect(signer.sign).not.toHaveBeenCalled();
    await checkPayment(client);
    expect(signer.sign).toHaveBeenCalledOnce();
  });

  it("says that no signature can be made, each time", async () => {
    const { client, signer, events } = scriptedClient([]);
    signer.sign.mockRejectedValue(new RangeError("no signature today"));
    for (const times of [1, 2]) {
      expect(await errorOf(checkPayment(client))).toMatchObject({ operation: "payments.create", effect: "none" });
      expect(events.failure).toHaveBeenCalledTimes(times);
    }
    signer.sign.mockResolvedValue("signature");
    await checkPayment(client);
    expect(signer.sign).toHaveBeenCalledTimes(3);
  });

  const checkProvider = (client: HttpClient, body: object, options?: RequestOptions) =>
    client.check(liquidityProviders.create, [], { body }, options);

  it.each<[string, (client: HttpClient) => Promise<void>, string]>([
    ["an input", (client) => checkProvider(client, { nick: "x" }), 'Unknown field "nick"'],
    ["an option", (client) => checkProvider(client, {}, { timeoutMs: 0 }), "timeoutMs must be"],
    ["a header", (client) => checkProvider(client, {}, { headers: { host: "x" } }), "host is set by the client itself"],
    ["a payment without a key", checkPayment, "built without a signingKey"],
  ])("refuses what a call would refuse: %s", async (_, check, message) => {
    const { client } = scriptedClient([], { signer: undefined });
    expect((await errorOf(check(client))).message).toContain(message);
  });

  it.each([
    ["signed", checkPayment],
    ["unsigned", (client: HttpClient) => checkProvider(client, {})],
  ])("refuses what a closed client would refuse, also after its trial signature: %s", async (_, check) => {
    const { client } = scriptedClient([]);
    await checkPayment(client);
    await client.close();
    expect(await errorOf(check(client))).toMatchObject({ code: "client_closed", effect: "none" });
  });

  it.each(["is made", "is not made"])("leaves no timer behind when its trial signature %s", async (made) => {
    vi.useFakeTimers();
    try {
      const { client, signer } = scriptedClient([]);
      if (made === "is not made") signer.sign.mockRejectedValue(new RangeError("no signature today"));
      await Promise.allSettled([checkPayment(client)]);
      expect(signer.sign).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("begins to load its libraries when it is made, once, and sends nothing", async () => {
  const preload = vi.fn();
  const tokens = { current: () => "token-1", renew: async () => "token-2", preload };
  const { client, transport } = scriptedClient([json(intentRecord)], { tokens });
  expect(transport.sent).toEqual([]);
  await calls.read(client);
  client.derive({ timeoutMs: 1000, maxRetries: 0, headers: {}, validation: "off", reporter: client.reporter });
  expect(preload).toHaveBeenCalledOnce();
});

describe("the query of a single read", () => {
  it("is sent where the options have one", async () => {
    const { client, transport } = scriptedClient([json(intentRecord)]);
    await client.call(paymentIntents.get, ["pi-1"], {}, { query: { memo: "rent" } } as RequestOptions);
    expect(transport.sent[0]?.path).toBe("/gw/payment-intents/pi-1?memo=rent");
  });
});

it("reports to whom it was told to", () => {
  const reporter = createReporter([]);
  expect(scriptedClient([], { reporter }).client.reporter).toBe(reporter);
});

it("tells its base URL without a slash at its end", () => {
  const { client } = scriptedClient([], { origin: "https://service.example", basePath: "/base" });
  expect(client.baseUrl).toBe("https://service.example/base");
});
