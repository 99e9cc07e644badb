import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { RequestOptions } from "../../src/api/request-options.js";
import { later, now } from "../../src/core/clock.js";
import { SigningError } from "../../src/core/errors.js";
import type { HttpClient } from "../../src/http/http-client.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { payments } from "../../src/resources/payments.js";
import { errorOf, json, ownError, payment, paymentRecord, scriptedClient, unsent } from "./scripted-transport.js";

const sign = (client: HttpClient, options?: RequestOptions) =>
  client.sign(payments.create, [], { body: payment }, options);
const checkPayment = (client: HttpClient, options?: RequestOptions) =>
  client.check(payments.create, [], { body: payment }, options);
const checkProvider = (client: HttpClient, body: object, options?: RequestOptions) =>
  client.check(liquidityProviders.create, [], { body }, options);
const earlier = { path: "/gw/payments?dry=1&of=a?b", body: JSON.stringify(payment), signature: "made-earlier" };
const sendEarlier = (client: HttpClient) => client.send(payments.create, earlier, later(now(), 60_000));

describe("a check of a call that is not made", () => {
  it("makes one trial signature in the life of the client, for a signed operation, and sends nothing", async () => {
    const { client, transport, tokens, signer } = scriptedClient([]);
    await checkProvider(client, { firstName: "Ada" });
    expect(signer.sign).not.toHaveBeenCalled();
    await checkPayment(client);
    await checkPayment(client);
    expect(signer.sign.mock.calls.map(([path]) => path)).toEqual(["/"]);
    expect([transport.sent, tokens.current.mock.calls]).toEqual([[], []]);
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

  it.each<[string, (client: HttpClient) => Promise<void>, string]>([
    ["an input", (client) => checkProvider(client, { nick: "x" }), 'Unknown field "nick"'],
    ["an option", (client) => checkProvider(client, {}, { timeoutMs: 0 }), "timeoutMs must be"],
  ])("refuses what a call would refuse: %s", async (_, check, message) => {
    const { client } = scriptedClient([]);
    expect((await errorOf(check(client))).message).toContain(message);
  });

  it.each([checkPayment, (client: HttpClient) => checkProvider(client, {})])(
    "refuses what a closed client would refuse, also after its trial signature: %#",
    async (check) => {
      const { client } = scriptedClient([]);
      await checkPayment(client);
      await client.close();
      expect(await errorOf(check(client))).toMatchObject({ code: "client_closed", effect: "none" });
    },
  );
});

describe("a request that is signed for later", () => {
  it("has an empty signature where the operation is not signed", async () => {
    const { client, signer } = scriptedClient([]);
    const body = { firstName: "Ada" };
    const signed = { path: "/gw/liquidity-providers", body: JSON.stringify(body), signature: "" };
    expect(await client.sign(liquidityProviders.create, [], { body })).toEqual(signed);
    expect(signer.sign).not.toHaveBeenCalled();
  });

  it("is signed by nobody once the caller has ended that, and its accounts are in no error", async () => {
    const { client, signer, events } = scriptedClient([]);
    const aborted = { name: "AbortedError", effect: "none" };
    expect(await errorOf(sign(client, { signal: AbortSignal.abort() }))).toMatchObject(aborted);
    expect(signer.sign).not.toHaveBeenCalled();
    const cause = new Error(`no signature for ${payment.senderAccount}`);
    signer.sign.mockRejectedValue(new SigningError("the signer failed", { cause }));
    const error = await errorOf(sign(client));
    const failed = { code: "signing_failed", operation: "payments.create", effect: "none", attempts: 0 };
    expect(error).toMatchObject(failed);
    expect(inspect(error)).not.toContain(payment.senderAccount);
    expect(events.failure).toHaveBeenCalledTimes(2);
  });

  it.each([sign, checkPayment])("leaves no timer behind, whether a signature is made or not: %#", async (work) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { client, signer } = scriptedClient([]);
    signer.sign.mockRejectedValueOnce(new RangeError("no signature today"));
    await Promise.allSettled([work(client), work(client)]);
    expect(signer.sign).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a request that was signed earlier", () => {
  it("is sent with the same bytes and signature, without being signed again", async () => {
    const { client, transport, signer } = scriptedClient([json(paymentRecord())]);
    const signed = await sign(client);
    expect(transport.sent).toEqual([]);
    expect(signed).toMatchObject({ path: "/gw/payments", signature: `signature of /gw/payments ${signed.body}` });
    await client.send(payments.create, signed, later(now(), 60_000));
    expect(transport.sent[0]).toMatchObject({ path: signed.path, body: signed.body });
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe(signed.signature);
    expect(signer.sign).toHaveBeenCalledOnce();
  });

  it("is sent again where it certainly did not leave", async () => {
    const { client, transport } = scriptedClient([unsent, json(paymentRecord())]);
    expect(await sendEarlier(client)).toMatchObject({ id: "payment-1" });
    expect(transport.sent).toHaveLength(2);
    expect(transport.sent[1]).toEqual(transport.sent[0]);
  });

  it.each([
    [false, "/gw/payments"],
    [true, earlier.path],
  ])("says which path was signed when it is refused, with the query: %s", async (signQuery, path) => {
    const { client, transport } = scriptedClient([ownError(400)], { signQuery });
    const signed = { path, bodySha256: "body", publicKeySha256: "key" };
    expect(await errorOf(sendEarlier(client))).toHaveProperty("signed", signed);
    expect(transport.sent[0]?.path).toBe(earlier.path);
  });

  it("is refused as any other by a client that has no key itself", async () => {
    const { client, transport } = scriptedClient([ownError(400)], { signer: undefined });
    const error = await errorOf(sendEarlier(client));
    expect(error.name).toBe("BadRequestError");
    expect(error).not.toHaveProperty("signed");
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe("made-earlier");
  });

  it("is never sent once its time is over", async () => {
    const { client, transport } = scriptedClient([json(paymentRecord())]);
    const sending = client.send(payments.create, earlier, now());
    expect(await errorOf(sending)).toMatchObject({ name: "TimeoutError", effect: "none" });
    expect(transport.sent).toEqual([]);
  });

  it("is not sent again by itself, not even after the service's own 429", async () => {
    const { client, transport } = scriptedClient([ownError(429)]);
    expect(await errorOf(sendEarlier(client))).toMatchObject({ name: "RateLimitError", effect: "none", attempts: 1 });
    expect(transport.sent).toHaveLength(1);
  });
});
