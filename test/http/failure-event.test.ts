import { expect, it } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import { ConfigError, SigningError, TokenError } from "../../src/core/errors.js";
import type { FailureEvent } from "../../src/events/events.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { Schemas } from "../../src/http/schema.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { broken, calls, errorOf, json, payment, type Step, scriptedClient, unsent } from "./scripted-transport.js";

const withId = { "x-request-id": "r-7" };
const tokenRefused = () => Promise.reject(new TokenError("no token", { code: "login_refused", status: 401 }));
const noZod = () => Promise.reject(new ConfigError("what reads records can't be loaded"));
const noSignature = () => Promise.reject(new SigningError("the signer failed"));

/** The path of each kind of call, with its parameters unfilled. */
const paths = {
  read: "/payment-intents/{paymentIntentId}",
  update: "/liquidity-providers/{liquidityProviderId}",
  create: "/liquidity-providers",
  repeatable: "/payment-intents",
  signed: "/payments",
} as const satisfies Record<keyof typeof calls, string>;

type Row = [
  what: string,
  steps: readonly Step[],
  kind: keyof typeof calls,
  event: Partial<FailureEvent>,
  overrides?: Partial<HttpClientOptions>,
];

const failures: Row[] = [
  [
    "a refusal",
    [json({ error: "invalid", message: "no" }, 400, withId)],
    "signed",
    { code: "http_400", effect: "none", attempts: 1, status: 400, requestId: "r-7" },
  ],
  ["a 503 on a read", [{ status: 503 }], "read", { code: "http_503", effect: "none", attempts: 3, status: 503 }],
  [
    "a 503 on a payment",
    [{ status: 503 }],
    "signed",
    { code: "http_503", effect: "possible", attempts: 1, status: 503 },
  ],
  ["a lost response", [broken], "signed", { code: "outcome_unknown", effect: "possible", attempts: 1 }],
  ["a refused connection", [unsent], "signed", { code: "connection_failed", effect: "none", attempts: 3 }],
  ["a deadline", [new Ended("timeout", true)], "read", { code: "timeout", effect: "none", attempts: 1 }],
  ["an abort", [new Ended("abort", true)], "create", { code: "outcome_unknown", effect: "possible", attempts: 1 }],
  [
    "a response that is not readable",
    [{ text: "<html>", headers: withId }],
    "read",
    { code: "unexpected_response", status: 200, requestId: "r-7" },
  ],
  [
    "a refused login",
    [json({})],
    "read",
    { code: "login_refused", effect: "none", attempts: 0, status: 401 },
    { tokens: { current: tokenRefused, renew: tokenRefused } },
  ],
  [
    "a signature that was not made",
    [json({})],
    "signed",
    { code: "signing_failed", effect: "none", attempts: 0 },
    { signer: { sign: noSignature, describe: noSignature } },
  ],
  [
    "a file that reads records, which can't be loaded",
    [json({})],
    "signed",
    { code: "invalid_config", effect: "none", attempts: 0 },
    { schemas: Object.assign(new Schemas(), { load: noZod }) },
  ],
  [
    "a failure of the client's own",
    [json({})],
    "read",
    { code: "unexpected_failure", effect: "none", attempts: 0 },
    { tokens: { current: () => Promise.reject(new RangeError("a bug")), renew: tokenRefused } },
  ],
];

it.each<Row>(failures)("tells %s once", async (_, steps, kind, expected, overrides) => {
  const { client, events } = scriptedClient(steps, overrides);
  const error = await errorOf(calls[kind](client));
  expect(events.failure).toHaveBeenCalledOnce();
  const event: FailureEvent = events.failure.mock.calls[0]?.[0];
  expect(event).toEqual({
    operation: error.operation,
    method: kind === "read" ? "GET" : "POST",
    path: paths[kind],
    effect: error.effect,
    attempts: error.attempts,
    durationMs: expect.any(Number),
    ...expected,
  });
  expect(event.durationMs).toBeGreaterThanOrEqual(0);
  expect([error.code, error.requestId]).toEqual([expected.code, expected.requestId]);
});

it("tells nothing of a call that succeeds after a retry", async () => {
  const { client, events } = scriptedClient([{ status: 503 }, broken, json({ id: "1" })]);
  await calls.read(client);
  expect(events.failure).not.toHaveBeenCalled();
  expect(events.success.mock.calls).toMatchObject([[{ path: paths.read, status: 200, attempts: 3 }]]);
  expect(events.response).toHaveBeenCalledTimes(2);
  expect(events.retry).toHaveBeenCalledTimes(2);
});

it("tells nothing of arguments that are refused before the call begins", async () => {
  const { client, events } = scriptedClient([json({})], { signer: undefined });
  await errorOf(calls.read(client, { timeoutMs: -1 }));
  await errorOf(calls.signed(client));
  await client.close();
  expect((await errorOf(calls.read(client))).code).toBe("client_closed");
  expect(events.failure).not.toHaveBeenCalled();
});

it("has the request id of the last response that had one, also where a later attempt got none", async () => {
  const steps = [{ status: 503, headers: withId }, { status: 503, headers: {} }, broken];
  const { client, events } = scriptedClient(steps);
  const error = await errorOf(calls.update(client));
  expect(error).toMatchObject({ code: "outcome_unknown", requestId: "r-7", attempts: 3 });
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ requestId: "r-7", operation: "liquidityProviders.update" });
  expect(events.failure.mock.calls).toMatchObject([[{ requestId: "r-7", effect: "possible" }]]);
  expect(events.response.mock.calls.map(([event]) => event.requestId)).toEqual(["r-7", undefined]);
});

it("has the request id of a 401 where no other token is to be had", async () => {
  const { client } = scriptedClient([{ status: 401, headers: withId }], {
    tokens: { current: () => "token-1", renew: tokenRefused },
  });
  expect(await errorOf(calls.signed(client))).toMatchObject({ code: "login_refused", requestId: "r-7", attempts: 1 });
});

it.each([
  ["as it came", "{0HMVB8:00 01}", "{0HMVB8:00 01}"],
  ["not where it is an account number", "DE11222233334444", undefined],
  ["not where it is the token", "id-token-1", undefined],
  ["not where it is too long", "a".repeat(129), undefined],
  ["not where it is not ASCII", "a\u009bb", undefined],
])("shows a request id %s", async (_, sent, shown) => {
  const { client } = scriptedClient([{ status: 400, headers: { "x-request-id": sent } }]);
  expect((await errorOf(calls.signed(client))).requestId).toBe(shown);
  const reading = scriptedClient([json({ id: "1" }, 200, { "x-request-id": sent })]);
  const { response } = await reading.client
    .call(paymentIntents.get, ["1"], { query: { senderAccount: payment.senderAccount } })
    .withResponse();
  expect(response.requestId).toBe(sent === "id-token-1" ? undefined : shown);
});

it("never says that no response came where one did", async () => {
  for (const steps of [
    [{ status: 503 }, new Ended("timeout", false)],
    [{ status: 503 }, unsent],
    [{ status: 503 }, { status: 401 }],
    [{ status: 500 }],
  ] satisfies Step[][]) {
    const { client } = scriptedClient(steps, { tokens: { current: () => "t-1234", renew: tokenRefused } });
    for (const kind of ["update", "signed", "create"] as const) {
      expect((await errorOf(calls[kind](client))).message).not.toMatch(/no (response|answer)/);
    }
  }
});
