import { describe, expect, it } from "vitest";
import {
  AbortedError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  type CrossBorderError,
  type Effect,
  NotFoundError,
  OutcomeUnknownError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
  TimeoutError,
  TokenError,
  UnexpectedResponseError,
  UnprocessableEntityError,
} from "../../src/errors/errors.js";
import { RetryBudget } from "../../src/http/retry-budget.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { Ended } from "../../src/timing/deadline.js";
import { WireFailure } from "../../src/wire/wire-failure.js";
import {
  broken,
  calls,
  errorOf,
  json,
  payment,
  recordOf,
  type Step,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

type Kind = keyof typeof calls;
type ErrorClass = new (...args: never) => CrossBorderError;
type Outcome = readonly [attempts: number, error: ErrorClass, effect: Effect, code: string] | "done";
type Row = readonly [what: string, step: Step, read: Outcome, update: Outcome, create: Outcome];

const failure = (sent: boolean, permanent = false) => new WireFailure({ sent, permanent, reason: "REASON" });
const unknown: Outcome = [1, OutcomeUnknownError, "possible", "outcome_unknown"];
const readable = [3, UnexpectedResponseError, "none", "unexpected_response"] as const;
const done: Outcome = [1, UnexpectedResponseError, "done", "unexpected_response"];
const same = (outcome: Outcome) => [outcome, outcome, outcome] as const;

const rows: readonly Row[] = [
  ["unsent", failure(false), ...same([3, ConnectionError, "none", "connection_failed"])],
  ["unsent for good", failure(false, true), ...same([1, ConnectionError, "none", "connection_untrusted"])],
  [
    "broken after it may have been sent",
    failure(true),
    [3, ConnectionError, "none", "connection_failed"],
    [3, OutcomeUnknownError, "possible", "outcome_unknown"],
    unknown,
  ],
  ["deadline, maybe sent", new Ended("timeout", true), [1, TimeoutError, "none", "timeout"], unknown, unknown],
  ["deadline, unsent", new Ended("timeout", false), ...same([1, TimeoutError, "none", "timeout"])],
  ["abort, maybe sent", new Ended("abort", true), [1, AbortedError, "none", "aborted"], unknown, unknown],
  ["abort, unsent", new Ended("abort", false), ...same([1, AbortedError, "none", "aborted"])],
  ["401", json({}, 401), ...same([2, AuthenticationError, "none", "http_401"])],
  ...(
    [
      [400, BadRequestError],
      [402, ApiError],
      [403, PermissionDeniedError],
      [404, NotFoundError],
      [405, ApiError],
      [413, ApiError],
      [415, ApiError],
      [422, UnprocessableEntityError],
      [499, ApiError],
    ] as const
  ).map(([status, Class]): Row => [`${status}`, json({}, status), ...same([1, Class, "none", `http_${status}`])]),
  [
    "409",
    json({}, 409),
    [1, ConflictError, "none", "http_409"],
    [1, ConflictError, "possible", "http_409"],
    [1, ConflictError, "possible", "http_409"],
  ],
  ...[408, 500, 502, 503, 504, 599, 600, 999].map((status): Row => {
    const Class = status === 408 ? ApiError : ServerError;
    const code = `http_${status}`;
    return [
      `${status}`,
      json({}, status),
      [3, Class, "none", code],
      [3, Class, "possible", code],
      [1, Class, "possible", code],
    ];
  }),
  ["429", json({}, 429), ...same([3, RateLimitError, "none", "http_429"])],
  ...[300, 301, 302, 304, 307, 308].map((status): Row => {
    const code = `http_${status}`;
    return [
      `${status}`,
      { status },
      [1, ApiError, "none", code],
      [1, ApiError, "possible", code],
      [1, ApiError, "possible", code],
    ];
  }),
  [
    "303",
    { status: 303 },
    [1, ApiError, "none", "http_303"],
    [1, ApiError, "done", "http_303"],
    [1, ApiError, "done", "http_303"],
  ],
  ["2xx broken off", { status: 201, text: '{"id":', broken: "cut-short" }, readable, "done", done],
  [
    "2xx over the cap",
    { text: "[[[", broken: "too-large" },
    [1, UnexpectedResponseError, "none", "unexpected_response"],
    "done",
    done,
  ],
  ["2xx that is not UTF-8", { text: '{"a":"\ufffd"}', broken: "not-utf8" }, readable, "done", done],
  ["2xx that is compressed", { text: "", broken: "encoded" }, readable, "done", done],
  ["2xx until the deadline", { text: "{", broken: "timeout" }, [1, TimeoutError, "none", "timeout"], "done", done],
  ["2xx until the abort", { text: "{", broken: "abort" }, [1, AbortedError, "none", "aborted"], "done", done],
  ["2xx with no body", { status: 204, text: "" }, readable, "done", done],
  ["2xx that is HTML", { text: "<!doctype html><p>proxy" }, readable, "done", done],
  ["2xx that is another shape", json([1]), readable, "done", done],
  ["2xx that is null", json(null), readable, "done", done],
  ["2xx that is a text", json("ok"), readable, "done", done],
];

const cells = rows.flatMap(([what, step, read, update, create]) =>
  (["read", "update", "create", "signed"] as const).map((kind) => {
    const outcome = { read, update, create, signed: create }[kind];
    return { what, step, kind, outcome };
  }),
);

describe("a call that fails for good", () => {
  it.each(cells)("$kind: $what", async ({ step, kind, outcome }) => {
    const { client, transport, tokens, signer } = scriptedClient([step]);
    if (outcome === "done") {
      expect(await calls[kind](client)).toBeUndefined();
      expect(transport.sent).toHaveLength(1);
      return;
    }
    const [attempts, Class, effect, code] = outcome;
    const error = await errorOf(calls[kind](client));
    expect(error.constructor).toBe(Class);
    expect({ attempts: error.attempts, effect: error.effect, code: error.code }).toEqual({ attempts, effect, code });
    expect(error.operation).toBe(operations[kind]);
    expect(transport.sent).toHaveLength(attempts);
    // Each attempt repeats the first one; only a renewed token differs.
    const authorization = expect.stringMatching(/^Bearer token-1(-renewed)?$/);
    const [first] = transport.sent;
    for (const sent of transport.sent) {
      expect(sent).toEqual({ ...first, headers: { ...first?.headers, authorization } });
    }
    expect(signer.sign).toHaveBeenCalledTimes(kind === "signed" ? 1 : 0);
    expect(tokens.renew).toHaveBeenCalledTimes(code === "http_401" ? 1 : 0);
  });

  it.each(cells)("is tried once where maxRetries is 0, $kind: $what", async ({ step, kind, outcome }) => {
    const { client, transport, tokens } = scriptedClient([step]);
    const call = calls[kind](client, { maxRetries: 0 });
    if (outcome === "done") expect(await call).toBeUndefined();
    else expect((await errorOf(call)).attempts).toBe(1);
    expect(transport.sent).toHaveLength(1);
    expect(tokens.renew).not.toHaveBeenCalled();
  });
});

const operations: Readonly<Record<Kind, string>> = {
  read: "paymentIntents.get",
  update: "liquidityProviders.update",
  create: "liquidityProviders.create",
  signed: "payments.create",
};

const well: Readonly<Record<Kind, Step>> = {
  read: json(recordOf(paymentIntents.get.record)),
  update: { status: 200, text: "OK" },
  create: json(recordOf(liquidityProviders.list.record)),
  signed: json(recordOf(payments.list.record)),
};

describe("a call that succeeds in the end", () => {
  it.each(["read", "update", "create", "signed"] as const)(
    "%s: after two attempts that were not sent",
    async (kind) => {
      const { client, transport, events } = scriptedClient([unsent, unsent, well[kind]]);
      await calls[kind](client);
      expect(transport.sent).toHaveLength(3);
      expect(transport.sent[2]).toEqual(transport.sent[0]);
      expect(events.retry.mock.calls.map(([event]) => event)).toEqual([
        { operation: operations[kind], attempt: 1, reason: "ECONNREFUSED", delayMs: 0 },
        { operation: operations[kind], attempt: 2, reason: "ECONNREFUSED", delayMs: 0 },
      ]);
    },
  );

  it.each(["read", "update", "create", "signed"] as const)(
    "%s: with a renewed token and the same signature",
    async (kind) => {
      const { client, transport, tokens, signer } = scriptedClient([{ status: 401 }, well[kind]]);
      await calls[kind](client);
      expect(transport.sent.map(({ headers }) => headers.authorization)).toEqual([
        "Bearer token-1",
        "Bearer token-1-renewed",
      ]);
      expect(transport.sent.map(({ body }) => body)).toEqual([transport.sent[0]?.body, transport.sent[0]?.body]);
      expect(tokens.renew.mock.calls.map(([used]) => used)).toEqual(["token-1"]);
      const signatures = transport.sent.map(({ headers }) => headers["x-service-signature-base64"]);
      expect(new Set(signatures).size).toBe(1);
      expect(signer.sign).toHaveBeenCalledTimes(kind === "signed" ? 1 : 0);
    },
  );

  it.each(["read", "update"] as const)("%s: after a reset and a 503", async (kind) => {
    const { client, transport } = scriptedClient([broken, { status: 503 }, well[kind]]);
    await calls[kind](client);
    expect(transport.sent).toHaveLength(3);
  });
});

describe("what earlier attempts may have done", () => {
  it("is not undone by a connection that is refused later", async () => {
    const { client } = scriptedClient([{ status: 503 }, unsent]);
    const error = await errorOf(calls.update(client));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect([error.effect, error.attempts]).toEqual(["possible", 3]);
    expect(error.cause).toBeInstanceOf(ConnectionError);
  });

  it("is not undone by a refusal", async () => {
    const { client } = scriptedClient([broken, json({ error: "bad", message: "no" }, 400)]);
    const error = await errorOf(calls.update(client));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ effect: "possible", attempts: 2, code: "http_400", serviceCode: "bad" });
    expect(error.message).toContain("it may have been done all the same");
  });

  it("is not undone by a token that can't be obtained", async () => {
    const { client, tokens } = scriptedClient([broken, { status: 401 }]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    const error = await errorOf(calls.update(client));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.cause).toBeInstanceOf(TokenError);
    expect(error).toMatchObject({ effect: "possible", attempts: 2 });
  });

  it("is nothing where a create was refused before", async () => {
    const { client } = scriptedClient([unsent, json({}, 400)]);
    expect(await errorOf(calls.signed(client))).toMatchObject({ effect: "none", attempts: 2, status: 400 });
  });
});

describe("an OutcomeUnknownError", () => {
  it("has the exact request for reconciliation, and shows it nowhere", async () => {
    const { client, transport } = scriptedClient([broken]);
    const error = await errorOf(calls.signed(client));
    if (!(error instanceof OutcomeUnknownError)) throw error;
    const [sent] = transport.sent;
    expect(error.request).toEqual({
      path: "/gw/payments",
      body: sent?.body,
      signature: sent?.headers["x-service-signature-base64"],
    });
    expect(JSON.parse(error.request.body)).toEqual(payment);
    expect(JSON.stringify(error)).not.toContain(payment.senderAccount);
    expect(error.message).toBe(
      "payments.create: the connection to https://service.test broke (ECONNRESET), after the request may have been sent; it may have been done all the same: look for it before doing it again",
    );
  });
});

describe("the 401 of a call", () => {
  it("renews the token only once in a row", async () => {
    const { client, transport, tokens } = scriptedClient([{ status: 401 }, { status: 401 }, well.read]);
    expect(await errorOf(calls.read(client))).toBeInstanceOf(AuthenticationError);
    expect(transport.sent).toHaveLength(2);
    expect(tokens.renew).toHaveBeenCalledTimes(1);
  });

  it("ends the call where no other token can be obtained", async () => {
    const { client, transport, tokens } = scriptedClient([{ status: 401 }]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "login_refused" }));
    expect(await errorOf(calls.signed(client))).toMatchObject({ name: "TokenError", effect: "none" });
    expect(transport.sent).toHaveLength(1);
  });
});

describe("the retry budget", () => {
  it("ends the retries of all calls in a long outage", async () => {
    const budget = new RetryBudget();
    const { client, transport } = scriptedClient([{ status: 503 }], { budget });
    for (let index = 0; index < 300; index++) await errorOf(calls.read(client));
    expect(transport.sent.length).toBeLessThanOrEqual(330);
    expect(transport.sent.length).toBeGreaterThan(300);
  });

  it("is given back by responses", async () => {
    const budget = new RetryBudget(5);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    const { client } = scriptedClient([well.read], { budget });
    for (let index = 0; index < 10; index++) await calls.read(client);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
  });
});
