import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import type { Operation, TypedOperation } from "../../src/api/operation.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import { ApiError, ConfigError, InvalidArgumentError, UnexpectedResponseError } from "../../src/core/errors.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { calls, errorOf, json, payment, paymentRecord, recordOf, scriptedClient } from "./scripted-transport.js";

const intent = recordOf(paymentIntents.get.record);

/** A call as plain JavaScript can make it. */
function callWith(
  client: ReturnType<typeof scriptedClient>["client"],
  row: Operation,
  input: unknown,
  options?: unknown,
) {
  const { ids = [], ...rest } = input as { ids?: string[] };
  const anyRow = row as TypedOperation<string, readonly string[], unknown, unknown>;
  return client.call(anyRow, ids, rest, options as RequestOptions);
}

describe("what is sent", () => {
  it("is a read with its query, and no body", async () => {
    const { client, transport } = scriptedClient([json(intent)]);
    const query = { memo: "it's", id: "" };
    await client.call(paymentIntents.get, ["a/b ü"], { query }, { headers: { "X-Trace": "1" } });
    expect(transport.sent).toEqual([
      {
        method: "GET",
        origin: "https://service.test",
        path: "/gw/payment-intents/a%2Fb%20%C3%BC?id=&memo=it%27s",
        headers: {
          "x-trace": "1",
          accept: "application/json",
          authorization: "Bearer token-1",
          "accept-encoding": "identity",
        },
        body: undefined,
        repeatable: true,
        maxResponseBytes: 2000,
      },
    ]);
  });

  it("is a list with paging before the filter, and the cap of lists", async () => {
    const { client, transport } = scriptedClient([json([])]);
    const paging = { _size: 2, _after: "7", _before: undefined, _sort: "id.asc" };
    await client.call(exchangeRates.list, ["lp"], { paging, query: { buyPriceN: 3 } });
    expect(transport.sent[0]).toMatchObject({
      path: "/gw/liquidity-providers/lp/exchange-rates?_size=2&_after=7&_sort=id.asc&buyPriceN=3",
      maxResponseBytes: 5000,
    });
  });

  it("asks for compression in lists only, and leaves that to a transport that asks by itself", async () => {
    const { client, transport } = scriptedClient([json([]), json([]), json({ id: "1" })]);
    await client.call(exchangeRates.list, ["lp"], {});
    Object.assign(transport, { acceptEncoding: "gzip, br" });
    await client.call(exchangeRates.list, ["lp"], {});
    await callWith(client, paymentIntents.get, { ids: ["1"] });
    await callWith(client, liquidityProviders.create, { body: { firstName: "Ada" } });
    expect(transport.sent.map(({ headers }) => headers["accept-encoding"])).toEqual([
      undefined,
      "gzip, br",
      "identity",
      "identity",
    ]);
  });

  it("asks caches for no list, and lets a caller's own cache-control undo nothing", async () => {
    const { client, transport } = scriptedClient([json([]), json([]), json({ id: "1" })]);
    await client.call(exchangeRates.list, ["lp"], {});
    await client.call(exchangeRates.list, ["lp"], {}, { headers: { "Cache-Control": "max-stale=60" } });
    await callWith(client, paymentIntents.get, { ids: ["1"] });
    expect(transport.sent.map(({ headers }) => headers["cache-control"])).toEqual([
      "no-cache",
      "no-cache, max-stale=60",
      undefined,
    ]);
  });

  it("is a body with the described fields in the description's order", async () => {
    const { client, transport } = scriptedClient([json({ id: "1" })]);
    const body = { lastName: "Lovelace", email: undefined, firstName: "Ada" };
    await callWith(client, liquidityProviders.create, { body });
    expect(transport.sent[0]?.body).toBe('{"firstName":"Ada","lastName":"Lovelace"}');
    expect(transport.sent[0]?.headers["content-type"]).toBe("application/json");
  });

  it("is signed over the path and the very bytes where the description asks for it", async () => {
    const { client, transport, signer } = scriptedClient([json(paymentRecord())]);
    await calls.signed(client);
    const [path, body] = signer.sign.mock.calls[0] ?? [];
    expect(path).toBe("/gw/payments");
    expect(Buffer.from(body ?? []).toString()).toBe(transport.sent[0]?.body);
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe(
      `signature of /gw/payments ${transport.sent[0]?.body}`,
    );
  });

  it("is signed where the client's options name the operation, with the query if they say so", async () => {
    const signedOperations = new Set(["paymentIntents.get"]);
    for (const signQuery of [false, true]) {
      const { client, signer } = scriptedClient([json(intent)], { signedOperations, signQuery });
      await client.call(paymentIntents.get, ["1"], { query: { memo: "x" } });
      const path = signer.sign.mock.calls[0]?.[0];
      expect(path).toBe(signQuery ? "/gw/payment-intents/1?memo=x" : "/gw/payment-intents/1");
    }
  });
});

describe("what comes back", () => {
  it("is the record as it came: unknown fields and null are kept", async () => {
    const record = { ...intent, extras: null, memo: null, unknownField: [1] };
    const { client } = scriptedClient([json(record)]);
    expect(await calls.read(client)).toEqual(record);
  });

  it("comes with status, headers and request id by withResponse, which sends nothing again", async () => {
    const { client, transport } = scriptedClient([json(intent, 201, { "x-request-id": "r-1", "x-a": "b" })]);
    const call = calls.read(client);
    const response = { status: 201, headers: { "x-request-id": "r-1", "x-a": "b" }, requestId: "r-1" };
    expect(await call.withResponse()).toEqual({ data: intent, response });
    expect(await call).toEqual(intent);
    expect(transport.sent).toHaveLength(1);
  });

  it("does not change any prototype", async () => {
    const text = `{"id":"1","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`;
    const { client } = scriptedClient([{ text }]);
    const record = await calls.read(client);
    expect(Object.hasOwn(record, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  });
});

describe("validation", () => {
  const different = { ...intent, id: 12, senderAmount: "1e3", memo: "" };

  it("reports a field that differs once for each operation, and never its value", async () => {
    const { client, events } = scriptedClient([json(different)]);
    await calls.read(client);
    await calls.read(client);
    expect(events.mismatch.mock.calls.map(([event]) => event)).toEqual([
      { operation: "paymentIntents.get", field: "id", expected: "a string", found: "a number" },
      {
        operation: "paymentIntents.get",
        field: "senderAmount",
        expected: 'a decimal string such as "1500.00"',
        found: "another string",
      },
    ]);
    await client.call(paymentIntents.create, [], { body: intentRequest() });
    expect(events.mismatch).toHaveBeenCalledTimes(4);
  });

  it("reports a field of a list once, however many records differ", async () => {
    const rates = [{ buyPriceN: 1.5 }, { buyPriceN: "1" }, {}];
    const { client, events } = scriptedClient([json(rates)]);
    expect(await client.call(exchangeRates.list, ["lp"])).toEqual(rates);
    const found = events.mismatch.mock.calls.filter(([event]) => event.field === "buyPriceN");
    expect(found).toEqual([
      [
        {
          operation: "liquidityProviders.exchangeRates.list",
          field: "buyPriceN",
          expected: "a whole number that JavaScript holds exactly",
          found: "a number",
        },
      ],
    ]);
  });

  it("throws when it is strict, with the record on the error and none of it in the message", async () => {
    const { client } = scriptedClient([json({ ...intent, receiverAccount: 99887766 })], {
      validation: "strict",
      maxRetries: 0,
    });
    const error = await errorOf(calls.read(client));
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error.message).toContain("receiverAccount is not a string but a number");
    expect(error.message).not.toContain("99887766");
    expect(error).toHaveProperty("response.text", JSON.stringify({ ...intent, receiverAccount: 99887766 }));
  });

  it.each<[string, object, string]>([
    ["an unknown field", { colour: "blue" }, "colour is not a field of the description but another string"],
    [
      "a field whose name is the token",
      { "token-1": 1 },
      "(unprintable) is not a field of the description but a number",
    ],
  ])("throws on %s when it is strict, and returns it otherwise", async (_, more, problem) => {
    const strict = scriptedClient([json({ ...intent, ...more })], { validation: "strict", maxRetries: 0 });
    const error = await errorOf(calls.read(strict.client));
    expect(error).toMatchObject({ code: "unexpected_response", effect: "none", status: 200 });
    expect(error.message).toContain(problem);
    const reporting = scriptedClient([json({ ...intent, ...more })]);
    expect(await calls.read(reporting.client)).toEqual({ ...intent, ...more });
    expect(reporting.events.mismatch).toHaveBeenCalledOnce();
  });

  it("throws on an Unknown field each time when it is strict, and reports one once otherwise", async () => {
    const responses = [1, 2, 3].map(() => json({ ...intent, colour: "blue" }));
    const strict = scriptedClient(responses, { validation: "strict", maxRetries: 0 });
    for (const _ of responses) expect(await errorOf(calls.read(strict.client))).toBeInstanceOf(UnexpectedResponseError);
    const reporting = scriptedClient(responses);
    for (const _ of responses) await calls.read(reporting.client);
    expect(reporting.events.mismatch).toHaveBeenCalledOnce();
  });

  it("throws on a new status when it is strict, and says that the payment was made", async () => {
    const record = { ...recordOf(payments.create.record), ...payment, receiverGatewayStatus: "settled" };
    const { client } = scriptedClient([json(record)], { validation: "strict" });
    const error = await errorOf(calls.signed(client));
    expect(error).toMatchObject({ code: "unexpected_response", effect: "done" });
    expect(error.message).toContain("receiverGatewayStatus is not pending, processed, error or reverted but another");
  });

  it("remembers 1,000 fields and reports no more", async () => {
    const letters = (index: number) => [...String(index)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    const steps = Array.from({ length: 60 }, (_, step) =>
      json({
        ...intent,
        ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x_${letters(step * 20 + index)}`, 1])),
      }),
    );
    const { client, events } = scriptedClient(steps, { maxRecordBytes: 10_000 });
    for (const _ of steps) await calls.read(client);
    expect(events.mismatch).toHaveBeenCalledTimes(1000);
    const fields = events.mismatch.mock.calls.map(([event]) => event.field);
    expect(new Set(fields).size).toBe(1000);
  });

  it("does not look where it is off", async () => {
    const { client, events } = scriptedClient([json(different)], { validation: "off" });
    expect(await calls.read(client)).toEqual(different);
    expect(events.mismatch).not.toHaveBeenCalled();
  });

  it.each([
    ["a record where a list is wanted", {}],
    ["an array with something else in it", [{ id: "1" }, "x"]],
    ["an array with null in it", [null]],
    ["an array of arrays", [[]]],
    ["null", null],
  ])("refuses %s even where it is off", async (_, data) => {
    const { client } = scriptedClient([json(data)], { validation: "off", maxRetries: 0 });
    const error = await errorOf(client.call(payments.list, []));
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error.message).toContain("it is not an array of records");
  });
});

describe("the error of a response", () => {
  it.each([
    [{ error: "insufficient_funds", message: "Too little" }, "insufficient_funds"],
    [{ code: "not.found", message: "None" }, "not.found"],
    [{ error: "first", code: "second" }, "first"],
    [{ error: "Bad Request" }, "Bad Request"],
    [{ error: "ungültig" }, "ungültig"],
    [{ code: "NOT FOUND" }, "NOT FOUND"],
    [{ error: "a".repeat(256) }, "a".repeat(256)],
    [{ error: "a".repeat(257) }, undefined],
    [{ error: "", code: "second" }, "second"],
    [{ error: "two\nlines", code: "second" }, "second"],
    [{ error: null, code: "second" }, "second"],
    [{ error: { nested: true } }, undefined],
    [{ error: true }, undefined],
    [{ error: `no ${payment.senderAccount}` }, undefined],
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
    expect(Reflect.get(error, "serviceCode")).toBe(serviceCode);
    expect("serviceCode" in error).toBe(serviceCode !== undefined);
  });

  it("has the service's message as it came, but not in its own message, in print or in JSON", async () => {
    const message = `No account ${payment.senderAccount}\r\n of\u0000 ${payment.senderName} with token-1`;
    const { client } = scriptedClient([json({ error: "bad_request", message }, 400)]);
    const error = await errorOf(calls.signed(client));
    if (!(error instanceof ApiError)) throw error;
    expect(error.serviceMessage).toBe(message);
    expect(error.message).not.toContain("account");
    expect(error.response.text).toContain(payment.senderAccount);
    for (const shown of [JSON.stringify(error), error.stack, String(error), inspect(error, { depth: 9 })]) {
      expect(shown).not.toMatch(/No account|DE11222233334444|Erika|token-1/);
    }
  });

  it("keeps 4,096 characters of the service's message", async () => {
    const { client } = scriptedClient([json({ error: "e", message: "a".repeat(5000) }, 400)]);
    expect(await errorOf(calls.read(client))).toHaveProperty("serviceMessage", "a".repeat(4096));
  });

  it("says what was signed, for a signed call only", async () => {
    const { client } = scriptedClient([{ status: 400 }]);
    const signed = { path: "/gw/payments", bodySha256: "body", publicKeySha256: "key" };
    expect(await errorOf(calls.signed(client))).toHaveProperty("signed", signed);
    expect(await errorOf(calls.create(client))).not.toHaveProperty("signed");
  });

  it("shows nothing of an HTML page", async () => {
    const { client } = scriptedClient([{ status: 502, text: "<html>internal-host-17</html>" }], { maxRetries: 0 });
    const error = await errorOf(calls.read(client));
    expect(error.message).not.toContain("internal-host");
    expect(error.code).toBe("http_502");
    expect(error).not.toHaveProperty("serviceCode");
  });
});

describe("input that is refused before anything is sent, signed or asked for", () => {
  const wrong: readonly (readonly [string, Operation, unknown, string])[] = [
    [
      "an id in the body of a create",
      liquidityProviders.create,
      { body: { id: "x" } },
      'Unknown field "id" in the body',
    ],
    [
      "a response-only field",
      deposits.create,
      { ids: ["lp"], body: { requestUri: "x" } },
      'Unknown field "requestUri" in the body',
    ],
    [
      "a missing field of a payment",
      payments.create,
      { body: { ...payment, memo: undefined } },
      "memo must be a string; got undefined",
    ],
    ...["", "1,5", "1e3", " 1", "1 ", "1.", ".5", "+1", "0x1", "NaN", "1\n", "١", 1, 1n].map(
      (amount) =>
        [
          `the amount ${JSON.stringify(String(amount))} (${typeof amount})`,
          deposits.create,
          { ids: ["lp"], body: { amount } },
          'amount must be a decimal string such as "1500.00"; got ',
        ] as const,
    ),
    ["the id filter of deposits", deposits.list, { ids: ["1"], query: { id: "x" } }, 'Unknown field "id" in the query'],
    ["a lone surrogate in a query", payments.list, { query: { memo: "\ud800" } }, "lone surrogate"],
    ["no id", paymentIntents.get, { ids: [] }, "paymentIntentId must be a string; got undefined"],
  ];

  it.each(wrong)("%s", async (_, row, input, message) => {
    const { client, transport, tokens, signer } = scriptedClient([json({})]);
    const error = await errorOf(callWith(client, row, input));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain(message);
    expect(error.message).toContain(row.name);
    expect(error.effect).toBe("none");
    expect([transport.sent, tokens.current.mock.calls, signer.sign.mock.calls]).toEqual([[], [], []]);
  });

  it("a signed operation without a key", async () => {
    const { client, transport, tokens } = scriptedClient([json({})], { signer: undefined });
    const error = await errorOf(calls.signed(client));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).toBe("payments.create is signed, and the client was built without a signingKey");
    expect(() => client.assertCallable(payments.create)).toThrow(ConfigError);
    expect(() => client.assertCallable(paymentIntents.create)).not.toThrow();
    expect([transport.sent, tokens.current.mock.calls]).toEqual([[], []]);
  });

  it("a call of a client that is closed", async () => {
    const { client, transport } = scriptedClient([json(intent)]);
    await client.close();
    const message = "paymentIntents.get: the client is closed";
    expect(await errorOf(calls.read(client))).toMatchObject({ code: "client_closed", effect: "none", message });
    expect([transport.sent, transport.closed]).toEqual([[], 1]);
  });
});

describe("a promise of the data", () => {
  it.each([
    ["only awaited", (call: ReturnType<typeof calls.read>) => [call]],
    ["only taken with its response", (call: ReturnType<typeof calls.read>) => [call.withResponse()]],
    ["taken both ways", (call: ReturnType<typeof calls.read>) => [call, call.withResponse()]],
  ])("rejects where it is awaited, and is never unhandled besides, when %s", async (_, take) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    try {
      const { client } = scriptedClient([{ status: 400 }]);
      for (const promise of take(calls.read(client))) await errorOf(promise);
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  it("reports the caller's mistakes by rejecting, never by throwing", async () => {
    const { client } = scriptedClient([json(intent)]);
    const call = callWith(client, paymentIntents.get, { ids: [""] }, { maxRetries: -1 });
    expect(call).toBeInstanceOf(Promise);
    await expect(call).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});

function intentRequest() {
  const { senderGatewayId, senderCurrency, senderAccount, receiverGatewayId, receiverAccount, receiverCurrency } =
    payment;
  const { receiverAmount, memo } = payment;
  const sender = { senderGatewayId, senderCurrency, senderAccount };
  return { ...sender, receiverGatewayId, receiverAccount, receiverCurrency, receiverAmount, memo };
}
