import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { RetryBudget } from "../../src/http/report.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { calls, errorOf, json, payment, paymentRecord, recordOf, scriptedClient } from "./scripted-transport.js";

const intent = recordOf(paymentIntents.get.record);

describe("what is sent", () => {
  it("is a list with paging before the filter, the cap of lists, and no cache", async () => {
    const { client, transport } = scriptedClient([json([])]);
    const paging = { _size: 2, _after: "7", _before: undefined, _sort: "id.asc" };
    await client.call(exchangeRates.list, ["lp"], { paging, query: { buyPriceN: 3 } });
    // Compression is left to a transport that asks for it by itself.
    const headers = { accept: "application/json", authorization: "Bearer token-1", "cache-control": "no-cache" };
    expect(transport.sent[0]).toMatchObject({
      path: "/gw/liquidity-providers/lp/exchange-rates?_size=2&_after=7&_sort=id.asc&buyPriceN=3",
      repeatable: true,
      maxResponseBytes: 5000,
    });
    expect(transport.sent[0]?.headers).toStrictEqual(headers);
    Object.assign(transport, { acceptEncoding: "gzip, br" });
    await client.call(exchangeRates.list, ["lp"], {}, { headers: { "Cache-Control": "max-stale=60" } });
    expect(transport.sent[1]?.headers).toMatchObject({
      "accept-encoding": "gzip, br",
      "cache-control": "no-cache",
    });
  });

  it("is signed over the path and the very bytes where the description asks for it", async () => {
    const { client, transport, signer } = scriptedClient([json(paymentRecord())]);
    await calls.signed(client);
    const [sent] = transport.sent;
    expect(sent?.headers["x-service-signature-base64"]).toBe(`signature of /gw/payments ${sent?.body}`);
    expect(signer.sign).toHaveBeenCalledOnce();
  });
});

describe("what comes back", () => {
  it("is the record as it came, and changes no prototype", async () => {
    const record = { ...intent, extras: null, memo: null, unknownField: [1] };
    expect(await calls.read(scriptedClient([json(record)]).client)).toEqual(record);
    const text = `{"id":"1","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`;
    const polluting = await calls.read(scriptedClient([{ text }]).client);
    expect(Object.hasOwn(polluting, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("comes with status, headers and request id by withResponse, which sends nothing again", async () => {
    const { client, transport } = scriptedClient([
      { status: 503, headers: { "x-request-id": "r-0" } },
      json(intent, 201, { "x-request-id": "r-1", "x-a": "b" }),
      { status: 503, headers: { "x-request-id": "r-2" } },
      json(intent),
    ]);
    const call = calls.read(client);
    const response = { status: 201, headers: { "x-request-id": "r-1", "x-a": "b" }, requestId: "r-1" };
    expect(await call.withResponse()).toEqual({ data: intent, response });
    expect(await call).toEqual(intent);
    expect(transport.sent).toHaveLength(2);
    expect((await calls.read(client).withResponse()).response).toStrictEqual({ status: 200, headers: {} });
  });
});

describe("validation", () => {
  const different = { ...intent, id: 12, senderAmount: "1e3", memo: "", colour: "blue" };

  it("reports a field that differs once for each operation, and never its value", async () => {
    const { client, events } = scriptedClient([json(different)]);
    await calls.read(client);
    await calls.read(client);
    const operation = "paymentIntents.get";
    expect(events.mismatch.mock.calls.map(([event]) => event)).toEqual([
      { operation, field: "id", expected: "a string", found: "a number" },
      { operation, field: "senderAmount", expected: 'a decimal string such as "1500.00"', found: "a string" },
      { operation, field: "colour", expected: "a field of the description", found: "a string" },
    ]);
    await calls.repeatable(client);
    expect(events.mismatch).toHaveBeenCalledTimes(6);
  });

  it.each<[string, object, string]>([
    ["an account of another type", { receiverAccount: 99887766 }, "receiverAccount is not a string but a number"],
    ["an unknown field", { colour: "blue" }, "colour is not a field of the description but a string"],
    ["a field named by the token", { "token-1": 1 }, "(unprintable) is not a field of the description but a number"],
  ])("throws each time when it is strict, on %s, and returns it otherwise", async (_, more, problem) => {
    const record = { ...intent, ...more };
    const strict = scriptedClient([json(record)], { validation: "strict", maxRetries: 0 });
    for (const _ of [1, 2]) {
      const error = await errorOf(calls.read(strict.client));
      expect(error).toMatchObject({ name: "UnexpectedResponseError", effect: "none", status: 200 });
      expect(error.message).toContain(problem);
      expect(error.message).not.toContain("99887766");
      expect(error).toHaveProperty("response.text", JSON.stringify(record));
    }
    expect(await calls.read(scriptedClient([json(record)]).client)).toEqual(record);
    const off = scriptedClient([json(record)], { validation: "off" });
    expect(await calls.read(off.client)).toEqual(record);
    expect(off.events.mismatch).not.toHaveBeenCalled();
  });

  it("remembers 1,000 fields and reports no more", async () => {
    const letters = (index: number) => [...String(index)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    const unknown = (step: number) =>
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x_${letters(step * 20 + index)}`, 1]));
    const steps = Array.from({ length: 60 }, (_, step) => json({ ...intent, ...unknown(step) }));
    const { client, events } = scriptedClient(steps);
    for (const _ of steps) await calls.read(client);
    expect(new Set(events.mismatch.mock.calls.map(([event]) => event.field)).size).toBe(1000);
    expect(events.mismatch).toHaveBeenCalledTimes(1000);
  });
});

describe("the error of a response", () => {
  it.each([
    [{ error: "insufficient_funds", message: "Too little" }, "insufficient_funds"],
    [{ error: "first", code: "second" }, "first"],
    [{ error: "Bad Request" }, "Bad Request"],
    [{ error: "ungültig" }, "ungültig"],
    [{ error: "a".repeat(256) }, "a".repeat(256)],
    [{ error: "a".repeat(257) }, undefined],
    [{ error: "", code: "second" }, "second"],
    [{ error: "two\nlines", code: "second" }, "second"],
    [{ error: { nested: true } }, undefined],
    [{ error: "no GB29 NWBK 6016 1331 9268 19", code: "GB29NWBK60161331926819" }, undefined],
    [{ error: "E1234567" }, "E1234567"],
    [{ error: `no ${payment.senderAccount}`, code: "second" }, "second"],
    [[], undefined],
    ["text", undefined],
    [null, undefined],
  ])("has a code of the library and the service's own of %j", async (body, serviceCode) => {
    const { client } = scriptedClient([json(body, 400)]);
    const error = await errorOf(calls.signed(client));
    expect(error.code).toBe("http_400");
    expect(error.serviceCode).toBe(serviceCode);
    expect("serviceCode" in error).toBe(serviceCode !== undefined);
  });

  it("has the service's message as it came, but not in its own message, in print or in JSON", async () => {
    const kept = `No account ${payment.senderAccount}\r\n of\u0000 ${payment.senderName} with token-1`.padEnd(
      4096,
      "a",
    );
    const message = `${kept}b`;
    const { client } = scriptedClient([json({ error: "bad_request", message }, 400)]);
    const error = await errorOf(calls.signed(client));
    expect(error.serviceMessage).toBe(kept);
    expect(error).toHaveProperty("response.text", expect.stringContaining(payment.senderAccount));
    for (const shown of [JSON.stringify(error), error.message, error.stack, inspect(error, { depth: 9 })]) {
      expect(shown).not.toMatch(/No account|DE11222233334444|Erika|token-1/);
    }
  });

  it("says what was signed, for a signed call only", async () => {
    const { client, signer, transport } = scriptedClient([{ status: 400 }]);
    const signed = { path: "/gw/payments", bodySha256: "body", publicKeySha256: "key" };
    expect(await errorOf(calls.signed(client))).toHaveProperty("signed", signed);
    const [path, body] = (signer.describe.mock.calls[0] ?? []) as unknown[];
    expect([path, String(Buffer.from(body as Uint8Array))]).toEqual(["/gw/payments", transport.sent[0]?.body]);
    expect(await errorOf(calls.create(client))).not.toHaveProperty("signed");
  });
});

describe("input that is refused before anything is sent, signed or asked for", () => {
  it("a lone surrogate in a query", async () => {
    const { client, transport, tokens } = scriptedClient([json({})]);
    const error = await errorOf(client.call(payments.list, [], { query: { memo: "\ud800" } }));
    expect(error).toMatchObject({ name: "InvalidArgumentError", effect: "none" });
    expect(error.message).toMatch(/^payments.list: .*lone surrogate/);
    expect([transport.sent, tokens.current.mock.calls]).toEqual([[], []]);
  });

  it("a signed operation without a key", async () => {
    const { client, transport, tokens } = scriptedClient([json({})], { signer: undefined });
    for (const signed of [calls.signed(client), client.sign(payments.create, [], { body: payment })]) {
      const error = await errorOf(signed);
      expect(error).toMatchObject({ name: "ConfigError", operation: "payments.create" });
      expect(error.message).toBe("payments.create is signed, and the client was built without a signingKey");
    }
    expect(() => client.assertCallable(payments.create)).toThrow(ConfigError);
    expect(() => client.assertCallable(paymentIntents.create)).not.toThrow();
    expect([transport.sent, tokens.current.mock.calls]).toEqual([[], []]);
  });
});

describe("a promise of the data", () => {
  type Read = ReturnType<typeof calls.read>;
  it.each<[string, (call: Read) => PromiseLike<unknown>[]]>([
    ["only awaited", (call) => [call]],
    ["only taken with its response", (call) => [call.withResponse()]],
    ["taken both ways", (call) => [call, call.withResponse()]],
  ])("rejects where it is awaited, and is never unhandled besides, when %s", async (_, take) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    for (const promise of take(calls.read(scriptedClient([{ status: 400 }]).client))) await errorOf(promise);
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

it("begins to load its libraries once, when it is made, and needs no source of tokens that is told of a 401", async () => {
  const preload = vi.fn();
  const tokens = { current: () => "token-1", renew: async () => "token-2", preload };
  const { client, transport } = scriptedClient([{ status: 401 }], { tokens });
  expect(transport.sent).toEqual([]);
  expect(await errorOf(calls.read(client, { maxRetries: 0 }))).toMatchObject({ code: "http_401", attempts: 1 });
  client.derive({ timeoutMs: 1000, maxRetries: 0, headers: {}, validation: "off", reporter: client.reporter });
  expect(preload).toHaveBeenCalledOnce();
});

describe("the retry budget", () => {
  it("ends the retries of all calls in a long outage", async () => {
    const { client, transport } = scriptedClient([{ status: 503 }, json({ status: "maintenance" })]);
    for (let index = 0; index < 1000; index++) await errorOf(calls.read(client));
    expect(transport.sent.length).toBeLessThanOrEqual(1300);
    expect(transport.sent.length).toBeGreaterThan(1000);
  });

  it("has one retry again after five successes, and after a second, and never more than at first", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const budget = new RetryBudget(1);
    const { client } = scriptedClient([json(intent)], { budget });
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    for (let success = 0; success < 4; success++) await calls.read(client);
    expect(budget.take()).toBe(false);
    await calls.read(client);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    vi.advanceTimersByTime(1001);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    for (let success = 0; success < 50; success++) budget.giveBack(0.2);
    vi.advanceTimersByTime(10_000);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
  });
});
