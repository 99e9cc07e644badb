import { describe, expect, it, vi } from "vitest";
import {
  ApiError,
  CrossBorderError,
  InvalidArgumentError,
  OutcomeUnknownError,
  SigningError,
} from "../../src/core/errors.js";
import { pay, type TakeFunds } from "../../src/flows/funds.js";
import { errorOf } from "../support/error-of.js";
import { flowFixture, request } from "./flow-fixture.js";
import { gatewayClient, intent, intentRequest } from "./gateway-client.js";

/** Takes the money a moment later. */
const taking = (steps: string[] = []) =>
  vi.fn<TakeFunds>(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    steps.push("takeFunds");
    return { senderGatewayTransactionId: "tx-1" };
  });

const failing = (error: Error) => (): never => {
  throw error;
};

const refusal = () =>
  ApiError.of("payments.create: the service responded with 400", {
    code: "http_400",
    response: { status: 400, headers: {}, text: "" },
  });

const lost = (path: string) => new OutcomeUnknownError("lost", { request: { path, body: "{}" } });

it("creates the intent, takes the money, then creates the payment", async () => {
  const { client, steps, asked } = gatewayClient();
  const takeFunds = taking(steps);
  const outcome = await pay(client, intentRequest, takeFunds, undefined);
  expect(outcome).toEqual({ status: "paid", intent, payment: { id: "p-1", senderGatewayStatus: "processed" } });
  expect(steps).toEqual(["paymentIntents.create", "takeFunds", "payments.create"]);
  expect(takeFunds.mock.calls).toEqual([[intent, { signal: undefined }]]);
  expect(asked[0]?.body).toEqual(intentRequest);
});

it("makes no payment when the sender declines", async () => {
  const { client, steps } = gatewayClient();
  expect(await pay(client, intentRequest, () => null, undefined)).toEqual({ status: "declined", intent });
  expect(steps).toEqual(["paymentIntents.create"]);
});

describe("the sender's money is not touched", () => {
  const ended = new AbortController();
  const endedMeanwhile = () => {
    ended.abort();
    return intent;
  };
  interface Case extends NonNullable<Parameters<typeof gatewayClient>[0]> {
    readonly name: string;
    readonly signal?: AbortSignal;
    readonly is: object;
    readonly asks?: number;
  }
  it.each<Case>([
    {
      name: "the client can't sign, and no intent is created",
      unsigned: true,
      is: { code: "invalid_config" },
      asks: 0,
    },
    { name: "the payment can't be built or signed", signer: failing(new SigningError("no")), is: { effect: "none" } },
    { name: "the intent is refused", intent: failing(refusal()), is: { effect: "none" } },
    {
      name: "the response to the intent was lost",
      intent: failing(lost("/payment-intents")),
      is: { effect: "possible" },
    },
    {
      name: "the signal ended the call while the intent was made",
      intent: endedMeanwhile,
      signal: ended.signal,
      is: {
        code: "aborted",
        effect: "none",
        operation: "pay",
        message: expect.stringMatching(/signal ended the call before the money was taken/),
      },
    },
  ])("where $name", async ({ signal, is, asks = 1, ...responses }) => {
    const { client, steps } = gatewayClient(responses);
    const takeFunds = taking();
    const error = await errorOf(pay(client, intentRequest, takeFunds, signal && { signal }));
    expect(error).toMatchObject(is);
    expect(error).not.toHaveProperty("funds");
    expect([takeFunds.mock.calls.length, steps.length]).toEqual([0, asks]);
  });

  it.each([undefined, null, {}, "take"])("where takeFunds is %o, and no intent is created", async (takeFunds) => {
    const { client, steps } = gatewayClient();
    const error = await errorOf(pay(client, intentRequest, takeFunds as TakeFunds, undefined));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^pay: takeFunds must be a function/) });
    expect(steps).toEqual([]);
  });

  it.each([
    ["null instead of options", null],
    ["headers that are null", { headers: null }],
  ])("where a request would refuse its options, and none is made: %s", async (_, options) => {
    const { client, sandbox } = await flowFixture();
    const before = sandbox.requests.length;
    const takeFunds = taking();
    const error = await errorOf(client.pay(request, takeFunds, options as never));
    expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
    expect([takeFunds.mock.calls, sandbox.requests.length]).toEqual([[], before]);
  });
});

describe("an intent that answers another request", () => {
  it.each([
    ["senderGatewayId", { senderGatewayId: "gamma" }],
    ["senderCurrency", { senderCurrency: "GBP" }],
    ["senderAccount", { senderAccount: "DE00000000000000" }],
    ["receiverGatewayId", { receiverGatewayId: "gamma" }],
    ["receiverCurrency", { receiverCurrency: "KES" }],
    ["receiverAmount", { receiverAmount: "10.000000000000000000000000000000001" }],
    [
      "senderCurrency, receiverAccount, receiverAmount",
      { senderCurrency: "G", receiverAccount: "U", receiverAmount: "1" },
    ],
  ])("is not paid, and the error names %s", async (fields, changes) => {
    const { client, steps } = gatewayClient({ intent: () => ({ ...intent, ...changes }) });
    const takeFunds = taking();
    const error = await errorOf(pay(client, intentRequest, takeFunds, undefined));
    expect(error).toMatchObject({ code: "intent_mismatch", effect: "none", operation: "paymentIntents.create" });
    expect(error.message).toMatch(new RegExp(`differs in ${fields}; [^0-9]*$`));
    expect([takeFunds.mock.calls, steps]).toEqual([[], ["paymentIntents.create"]]);
  });

  it.each(["10", "10.0", "010.0000"])("is not one that writes the same amount as %s", async (receiverAmount) => {
    const { client } = gatewayClient({ intent: () => ({ ...intent, receiverAmount, memo: "RENT" }) });
    expect(await pay(client, intentRequest, taking(), undefined)).toMatchObject({ status: "paid" });
  });
});

describe("what is paid is what was asked for and intended", () => {
  it("whatever takeFunds does with the intent", async () => {
    const { client, asked } = gatewayClient({ intent: () => ({ ...intent, extras: { to: ["KE-1"] } }) });
    const takeFunds = vi.fn<TakeFunds>((given) => {
      given.receiverAccount = "KE-2";
      (given.extras as { to: string[] }).to.push("KE-2");
      return { senderGatewayTransactionId: "tx-1" };
    });
    await pay(client, intentRequest, takeFunds, undefined);
    expect(takeFunds).toHaveBeenCalledTimes(1);
    expect(asked[1]?.body).toEqual({ ...intent, extras: { to: ["KE-1"] }, senderGatewayTransactionId: "tx-1" });
  });

  it("whatever becomes of the request and the options during the call", async () => {
    const { client, asked } = gatewayClient();
    const request = { ...intentRequest };
    const options = { timeoutMs: 5000, headers: { "x-a": "1" } };
    const outcome = pay(
      client,
      request,
      () => {
        options.headers["x-a"] = "2";
        options.timeoutMs = 1;
        return { senderGatewayTransactionId: "tx-1" };
      },
      options,
    );
    request.receiverAccount = "KE-2";
    expect(await outcome).toMatchObject({ status: "paid" });
    expect(asked[0]?.body).toEqual(intentRequest);
    expect(asked[1]?.options).toEqual({ timeoutMs: 5000, headers: { "x-a": "1" } });
  });
});

describe("once the money is taken", () => {
  it("the caller's signal no longer ends the call, and the other options still count", async () => {
    const abort = new AbortController();
    const { client, asked } = gatewayClient();
    const takeFunds: TakeFunds = (_, { signal }) => {
      expect(signal).toBe(abort.signal);
      abort.abort();
      return { senderGatewayTransactionId: "tx-1" };
    };
    const options = { signal: abort.signal, timeoutMs: 5000, maxRetries: 1, headers: { "x-a": "1" } };
    expect(await pay(client, intentRequest, takeFunds, options)).toMatchObject({ status: "paid" });
    expect(asked.map((call) => call.options)).toEqual([
      options,
      { timeoutMs: 5000, maxRetries: 1, headers: { "x-a": "1" } },
    ]);
  });

  it.each([
    ["refused", refusal(), "none"],
    ["lost", lost("/payments"), "possible"],
  ])("the error of a payment that is %s names the intent and the transaction", async (_, failure, effect) => {
    const { client, steps } = gatewayClient({ payment: failing(failure) });
    const error = await errorOf(pay(client, intentRequest, taking(), undefined));
    expect(error).toBe(failure);
    expect(error).toMatchObject({ effect, funds: { intentId: "pi-1", senderGatewayTransactionId: "tx-1" } });
    expect(steps).toEqual(["paymentIntents.create", "payments.create"]);
  });

  it.each([
    [undefined, "undefined"],
    ["tx-1", "a string"],
    [{}, "an object whose senderGatewayTransactionId is undefined"],
    [{ senderGatewayTransactionId: "" }, "an object whose senderGatewayTransactionId is an empty string"],
    [{ senderGatewayTransactionId: 5 }, "an object whose senderGatewayTransactionId is a number"],
  ])("no payment is made of %j, and the error says what to do", async (returned, found) => {
    const { client, steps } = gatewayClient();
    const error = await errorOf(pay(client, intentRequest, () => returned as never, undefined));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({
      effect: "none",
      message: `takeFunds must return { senderGatewayTransactionId }, with your id of the transaction, or null; it returned ${found}. No payment was made; if the sender's money was taken, give it back`,
    });
    expect(steps).toEqual(["paymentIntents.create"]);
  });
});

it("throws what takeFunds throws, and makes no payment", async () => {
  const { client, steps } = gatewayClient();
  const failure = new Error("the ledger is down");
  expect(await errorOf(pay(client, intentRequest, () => Promise.reject(failure), undefined))).toBe(failure);
  expect(failure).not.toBeInstanceOf(CrossBorderError);
  expect(steps).toEqual(["paymentIntents.create"]);
});
