import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import type { FailureEvent } from "../../src/events/events.js";
import { createReporter } from "../../src/events/reporter.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { Schemas } from "../../src/http/read.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { RecordedTracing } from "../events/recorded-tracing.js";
import {
  broken,
  calls,
  errorOf,
  failing,
  json,
  ownError,
  payment,
  paymentRecord,
  type Step,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

const withId = { "x-request-id": "r-7" };
const durationMs = expect.any(Number);

/** The path of each kind of call, with its parameters unfilled. */
const paths = {
  read: "/payment-intents/{paymentIntentId}",
  update: "/liquidity-providers/{liquidityProviderId}",
  create: "/liquidity-providers",
  repeatable: "/payment-intents",
  signed: "/payments",
} as const satisfies Record<keyof typeof calls, string>;

it.each<
  [
    what: string,
    steps: readonly Step[],
    kind: keyof typeof calls,
    event: Partial<FailureEvent>,
    overrides?: Partial<HttpClientOptions>,
  ]
>([
  [
    "a refusal",
    [json({ error: "invalid", message: "no" }, 400, withId)],
    "signed",
    { code: "http_400", status: 400, requestId: "r-7" },
  ],
  ["a 503 on a read", [{ status: 503 }], "read", { code: "http_503", attempts: 3, status: 503 }],
  ["a lost response", [broken], "signed", { code: "outcome_unknown", effect: "possible" }],
  ["a deadline", [new Ended("timeout", true)], "read", { code: "timeout" }],
  [
    "a response that is not readable",
    [{ text: "<html>", headers: withId }],
    "read",
    { code: "unexpected_response", attempts: 3, status: 200, requestId: "r-7" },
  ],
  ["a refused login", [], "read", { code: "login_refused", attempts: 0, status: 401 }, { tokens: failing.tokens }],
  ["a signature that was not made", [], "signed", { code: "signing_failed", attempts: 0 }, { signer: failing.signer }],
  [
    "a library that can't be loaded",
    [],
    "signed",
    { code: "invalid_config", attempts: 0 },
    { schemas: failing.schemas },
  ],
  [
    "a failure of the client's own",
    [],
    "read",
    { code: "unexpected_failure", attempts: 0 },
    { tokens: { current: () => Promise.reject(new RangeError("a bug")), renew: failing.tokens.renew } },
  ],
])("tells %s once", async (_, steps, kind, expected, overrides) => {
  const { client, events } = scriptedClient(steps, overrides);
  const error = await errorOf(calls[kind](client));
  const { operation, code, requestId } = error;
  const method = kind === "read" ? "GET" : "POST";
  const event = { operation, method, path: paths[kind], effect: "none", attempts: 1, durationMs, ...expected };
  expect(events.failure.mock.calls).toStrictEqual([[event]]);
  expect([code, requestId]).toEqual([expected.code, expected.requestId]);
});

it("tells nothing of arguments that are refused before the call begins", async () => {
  const { client, events } = scriptedClient([json({})], { signer: undefined });
  await errorOf(calls.read(client, { timeoutMs: -1 }));
  await errorOf(calls.signed(client));
  await client.close();
  expect((await errorOf(calls.read(client))).code).toBe("client_closed");
  expect(events.failure).not.toHaveBeenCalled();
});

it("tells each response, each retry, and the success at last", async () => {
  const { client, events } = scriptedClient([{ status: 503 }, broken, json({ id: "1" }, 200, withId)]);
  await calls.read(client);
  const named = { operation: "paymentIntents.get", method: "GET", path: paths.read };
  expect(events.failure).not.toHaveBeenCalled();
  expect(events.retry).toHaveBeenCalledTimes(2);
  expect(events.response.mock.calls).toStrictEqual([
    [{ ...named, status: 503, attempt: 1, durationMs }],
    [{ ...named, status: 200, attempt: 3, durationMs, requestId: "r-7" }],
  ]);
  expect(events.success.mock.calls).toStrictEqual([
    [{ ...named, status: 200, attempts: 3, durationMs, requestId: "r-7" }],
  ]);
});

it("tells how long the attempt took, and how long the whole call", async () => {
  await new Schemas().load();
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  onTestFinished(() => void vi.useRealTimers());
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const { transport } = scriptedClient([json({ id: "1" }), ownError(400)]);
  const { client, events } = scriptedClient([], {
    tokens: { current: () => wait(300).then(() => "token-1"), renew: async () => "token-2" },
    transport: { send: (...given) => wait(40).then(() => transport.send(...given)), close: async () => {} },
  });
  for (const end of ["success", "failure"] as const) {
    const running = Promise.allSettled([calls.read(client)]);
    await vi.advanceTimersByTimeAsync(340);
    await running;
    expect(events.response.mock.lastCall).toMatchObject([{ durationMs: 40 }]);
    expect(events[end].mock.calls).toMatchObject([[{ durationMs: 340 }]]);
  }
});

describe("a request id", () => {
  it("is that of the last response, also where a later attempt got none", async () => {
    const { client, events } = scriptedClient([{ status: 503 }, { status: 503, headers: withId }, broken]);
    const error = await errorOf(calls.update(client));
    const known = { requestId: "r-7", operation: "liquidityProviders.update" };
    expect(error).toMatchObject({ code: "outcome_unknown", attempts: 3, ...known });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject(known);
    expect(events.failure.mock.calls).toMatchObject([[{ requestId: "r-7", effect: "possible" }]]);
    expect(events.response.mock.calls.map(([event]) => event.requestId)).toEqual([undefined, "r-7"]);
  });

  it.each([
    ["as it came", "{0HMVB8:00 01}", "{0HMVB8:00 01}"],
    ["with a word that is no secret", "alpha:beta:rent", "alpha:beta:rent"],
    ["with another header", "id-t-12345", "id-t-12345"],
    ["not where it is a credential", "id-k-12345", undefined],
    ["not where it has an account number", "id-DE11222233334444", undefined],
    ["not where it is the token", "id-token-1", undefined],
    ["not where it is too long", "a".repeat(129), undefined],
    ["not where it is not ASCII", "a\u009bb", undefined],
  ])("is shown %s", async (_, sent, shown) => {
    const headers = { "x-api-key": "k-12345", "x-trace": "t-12345" };
    const { client } = scriptedClient([{ status: 400, headers: { "x-request-id": sent } }]);
    expect((await errorOf(calls.signed(client, { headers }))).requestId).toBe(shown);
    const reading = scriptedClient([json({ id: "1" }, 200, { "x-request-id": sent })]).client;
    const query = { senderAccount: payment.senderAccount };
    const call = reading.call(paymentIntents.get, ["1"], { query }, { headers });
    expect((await call.withResponse()).response.requestId).toBe(shown);
  });
});

/** A client whose calls are followed, and their parts. */
function followedClient(steps: readonly Step[]) {
  const tracing = new RecordedTracing();
  return { ...scriptedClient(steps, { reporter: createReporter([], tracing) }), parts: tracing.parts };
}

it("has a part for the call, for its signature and for each attempt, with templates and no ids", async () => {
  const { client, parts } = followedClient([unsent, json(paymentRecord())]);
  expect(await calls.signed(client)).toMatchObject({ id: "payment-1" });
  const request = { "http.request.method": "POST", "url.template": "/payments" };
  const attempt = { ...request, "server.address": "service.test", "server.port": 443 };
  const again = { "http.response.status_code": 200, "http.request.resend_count": 1 };
  expect(parts).toEqual([
    { name: "payments.create", kind: "internal", attributes: request },
    { name: "signature", kind: "internal", attributes: {} },
    { name: "POST /payments", kind: "client", attributes: { ...attempt, "error.type": "ECONNREFUSED" } },
    { name: "POST /payments", kind: "client", attributes: { ...attempt, ...again } },
  ]);
});

it.each<[string, Step, string | undefined]>([
  ["a success", { status: 200, text: '{"id":"1"}' }, undefined],
  ["a redirect", { status: 302 }, "302"],
  ["a page", { status: 200, text: "<html>" }, "unreadable"],
  ["a failure", ownError(503), "503"],
  ["a reset", broken, "ECONNRESET"],
  ["a deadline", new Ended("timeout", true), "timeout"],
])("says if an attempt ended with an error: %s", async (_, step, type) => {
  const { client, parts } = followedClient([step]);
  await Promise.allSettled([calls.create(client)]);
  expect(parts.at(-1)?.attributes["error.type"]).toBe(type);
});
