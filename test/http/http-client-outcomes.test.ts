import { describe, expect, it } from "vitest";
import { later, now } from "../../src/core/clock.js";
import { Ended } from "../../src/core/deadline.js";
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
} from "../../src/core/errors.js";
import type { HttpClient } from "../../src/http/http-client.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { WireFailure } from "../../src/wire/transport.js";
import {
  broken,
  calls,
  errorOf,
  json,
  ownError,
  payment,
  paymentRecord,
  recordOf,
  type Step,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";
import { passingRefusals, provingNothing } from "./statuses.js";

type Kind = keyof typeof calls;
type ErrorClass = new (...args: never) => CrossBorderError;
type Outcome = readonly [attempts: number, error: ErrorClass, effect: Effect, code: string] | "done";
type Row = readonly [
  what: string,
  step: Step,
  read: Outcome,
  update: Outcome,
  create: Outcome,
  repeatable: Outcome,
  signed: Outcome,
];

const failure = (sent: boolean, permanent = false) => new WireFailure({ sent, permanent, reason: "REASON" });
const unknown: Outcome = [1, OutcomeUnknownError, "possible", "outcome_unknown"];
const unknownAfterAll: Outcome = [3, OutcomeUnknownError, "possible", "outcome_unknown"];
const unusable = (attempts: number, effect: Effect): Outcome => [
  attempts,
  UnexpectedResponseError,
  effect,
  "unexpected_response",
];
const same = (outcome: Outcome) => [outcome, outcome, outcome, outcome, outcome] as const;
/** Nothing on a read, and anything on a write. */
const open = (Class: ErrorClass, code: string) => {
  const write: Outcome = [1, Class, "possible", code];
  return [[1, Class, "none", code], write, write, write, write] as const;
};
/** The same, where what may be repeated is repeated. */
const passing = (Class: ErrorClass, code: string) => {
  const once: Outcome = [1, Class, "possible", code];
  const often: Outcome = [3, Class, "possible", code];
  const read: Outcome = [3, Class, "none", code];
  return [read, often, once, often, once] as const;
};
const notTheRecord = [
  unusable(3, "none"),
  "done",
  unusable(1, "possible"),
  unusable(3, "possible"),
  unusable(1, "possible"),
] as const;
/** A read may be asked for again only where that can help; of a write nobody knows. */
const orUnknown = (read: Outcome) => [read, unknown, unknown, unknown, unknown] as const;
/** No attempt follows it. */
const unusableOnce = (read: Outcome) => {
  const write = unusable(1, "possible");
  return [read, "done", write, write, write] as const;
};
const page = "<!doctype html><p>proxy";

const statusClasses = new Map<number, ErrorClass>([
  [400, BadRequestError],
  [403, PermissionDeniedError],
  [404, NotFoundError],
  [409, ConflictError],
  [422, UnprocessableEntityError],
]);

const rows: readonly Row[] = [
  ["unsent", failure(false), ...same([3, ConnectionError, "none", "connection_failed"])],
  [
    "unknown host",
    new WireFailure({ sent: false, reason: "ENOTFOUND" }),
    ...same([1, ConnectionError, "none", "connection_failed"]),
  ],
  ["unsent for good", failure(false, true), ...same([1, ConnectionError, "none", "connection_untrusted"])],
  [
    "broken after it may have been sent",
    failure(true),
    [3, ConnectionError, "none", "connection_failed"],
    unknownAfterAll,
    unknown,
    unknownAfterAll,
    unknown,
  ],
  ["deadline, maybe sent", new Ended("timeout", true), ...orUnknown([1, TimeoutError, "none", "timeout"])],
  ["deadline, unsent", new Ended("timeout", false), ...same([1, TimeoutError, "none", "timeout"])],
  ["abort, maybe sent", new Ended("abort", true), ...orUnknown([1, AbortedError, "none", "aborted"])],
  ["abort, unsent", new Ended("abort", false), ...same([1, AbortedError, "none", "aborted"])],
  ["401", ownError(401), ...same([2, AuthenticationError, "none", "http_401"])],
  ["401 of somebody else", { status: 401, text: page }, ...same([2, AuthenticationError, "none", "http_401"])],
  ...[400, 402, 403, 404, 405, 413, 415, 422].flatMap((status): Row[] => {
    const Class = statusClasses.get(status) ?? ApiError;
    return [
      [`${status}`, ownError(status), ...same([1, Class, "none", `http_${status}`])],
      [`${status} as a page`, { status, text: page }, ...open(Class, `http_${status}`)],
      [`${status} without a body`, { status }, ...open(Class, `http_${status}`)],
      [`${status} as somebody else's JSON`, json({ message: "no" }, status), ...open(Class, `http_${status}`)],
    ];
  }),
  ...provingNothing.flatMap((status): Row[] => {
    const Class = statusClasses.get(status) ?? ApiError;
    return [
      [`${status}`, ownError(status), ...open(Class, `http_${status}`)],
      [`${status} as a page`, { status, text: page }, ...open(Class, `http_${status}`)],
    ];
  }),
  ...[...passingRefusals, 500, 502, 503, 504, 599, 600, 999].flatMap((status): Row[] => {
    const Class = status < 500 ? ApiError : ServerError;
    return [
      [`${status}`, ownError(status), ...passing(Class, `http_${status}`)],
      [`${status} as a page`, { status, text: page }, ...passing(Class, `http_${status}`)],
    ];
  }),
  ["429", ownError(429), ...same([3, RateLimitError, "none", "http_429"])],
  [
    "429 of somebody else",
    { status: 429, text: page },
    [3, RateLimitError, "none", "http_429"],
    [3, RateLimitError, "possible", "http_429"],
    [3, RateLimitError, "possible", "http_429"],
    [3, RateLimitError, "possible", "http_429"],
    [1, RateLimitError, "possible", "http_429"],
  ],
  ...[300, 301, 302, 303, 304, 307, 308].map(
    (status): Row => [`${status}`, { status }, ...open(ApiError, `http_${status}`)],
  ),
  ["2xx broken off", { status: 201, text: '{"id":', broken: "cut-short" }, ...notTheRecord],
  ["2xx over the cap", { text: "[[[", broken: "too-large" }, ...unusableOnce(unusable(1, "none"))],
  ["2xx that is not UTF-8", { text: '{"a":"\ufffd"}', broken: "not-utf8" }, ...notTheRecord],
  ["2xx that is compressed", { text: "", broken: "encoded" }, ...notTheRecord],
  ["2xx until the deadline", { text: "{", broken: "timeout" }, ...unusableOnce([1, TimeoutError, "none", "timeout"])],
  ["2xx until the abort", { text: "{", broken: "abort" }, ...unusableOnce([1, AbortedError, "none", "aborted"])],
  ["2xx with no body", { status: 204, text: "" }, ...notTheRecord],
  [
    "2xx that is HTML",
    { text: page },
    unusable(3, "none"),
    unusable(3, "possible"),
    unusable(1, "possible"),
    unusable(3, "possible"),
    unusable(1, "possible"),
  ],
  ["2xx that is another shape", json([1]), ...notTheRecord],
  ["2xx that is a list", json([{ id: "1", senderGatewayTransactionId: "tx-1" }]), ...notTheRecord],
  ["2xx that is null", json(null), ...notTheRecord],
  ["2xx that is a text", json("ok"), ...notTheRecord],
  ["2xx that is {}", json({}), ...notTheRecord],
  ["2xx of a maintenance", json({ status: "maintenance" }), ...notTheRecord],
  ["2xx whose id is null", json({ ...paymentRecord(), id: null }), ...notTheRecord],
  ["2xx whose id is empty", json({ ...paymentRecord(), id: "" }), ...notTheRecord],
  ["2xx whose id is an object", json({ ...paymentRecord(), id: { id: "1" } }), ...notTheRecord],
  ["2xx with the record inside", json({ data: paymentRecord() }), ...notTheRecord],
];

const kinds = ["read", "update", "create", "repeatable", "signed"] as const;
const cells = rows.flatMap(([what, step, ...outcomes]) =>
  kinds.map((kind, index) => ({ what, step, kind, outcome: outcomes[index] ?? "done" })),
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
    expect(tokens.renew).toHaveBeenCalledTimes(Class === AuthenticationError ? 1 : 0);
    // What came is there for the operator who has to find out.
    if (Class === UnexpectedResponseError) expect(Reflect.get(error, "response").text).toBe(Object(step).text);
  });

  it.each(cells)("is tried once where maxRetries is 0, $kind: $what", async ({ step, kind, outcome }) => {
    const { client, transport, tokens } = scriptedClient([step]);
    const call = calls[kind](client, { maxRetries: 0 });
    if (outcome === "done") expect(await call).toBeUndefined();
    else expect(await errorOf(call)).toMatchObject({ attempts: 1, effect: outcome[2] });
    expect(transport.sent).toHaveLength(1);
    expect(tokens.renew).not.toHaveBeenCalled();
  });
});

const operations: Readonly<Record<Kind, string>> = {
  read: "paymentIntents.get",
  update: "liquidityProviders.update",
  create: "liquidityProviders.create",
  repeatable: "paymentIntents.create",
  signed: "payments.create",
};

const _well: Readonly<Record<Kind, Step>> = {
  read: json(recordOf(paymentIntents.get.record)),
  update: { status: 200, text: "OK" },
  create: json(recordOf(liquidityProviders.list.record)),
  repeatable: json(recordOf(paymentIntents.get.record)),
  signed: json(paymentRecord()),
};

const well: Readonly<Record<Kind, Step>> = {
  read: json(recordOf(paymentIntents.get.record)),
  update: { status: 200, text: "OK" },
  create: json(recordOf(liquidityProviders.list.record)),
  repeatable: json(recordOf(paymentIntents.get.record)),
  signed: json(paymentRecord()),
};

describe("a call that succeeds in the end", () => {
  it.each(kinds)("%s: after two attempts that were not sent", async (kind) => {
    const { client, transport, events } = scriptedClient([unsent, unsent, well[kind]]);
    await calls[kind](client);
    expect(transport.sent).toHaveLength(3);
    expect(transport.sent[2]).toEqual(transport.sent[0]);
    const retry = { operation: operations[kind], reason: "ECONNREFUSED", delayMs: 0 };
    expect(events.retry.mock.calls).toEqual([1, 2].map((attempt) => [{ ...retry, attempt }]));
  });

  it.each(kinds)("%s: with a renewed token and the same signature", async (kind) => {
    const { client, transport, tokens, signer } = scriptedClient([{ status: 401 }, well[kind]]);
    await calls[kind](client);
    const [first, second, ...more] = transport.sent;
    expect(second).toEqual({
      ...first,
      headers: { ...first?.headers, authorization: "Bearer token-1-renewed" },
    });
    expect([first?.headers.authorization, more]).toEqual(["Bearer token-1", []]);
    expect(tokens.renew.mock.calls.map(([used]) => used)).toEqual(["token-1"]);
    expect(signer.sign).toHaveBeenCalledTimes(kind === "signed" ? 1 : 0);
  });

  it.each(["read", "update", "repeatable"] as const)("%s: after a reset and a 503", async (kind) => {
    const { client, transport } = scriptedClient([broken, { status: 503 }, well[kind]]);
    await calls[kind](client);
    expect(transport.sent).toHaveLength(3);
  });

  it("does not count a renewed token among the retries", async () => {
    const { client, transport } = scriptedClient([{ status: 401 }, { status: 503 }, well.read]);
    await calls.read(client, { maxRetries: 1 });
    expect(transport.sent).toHaveLength(3);
  });
});

describe("what earlier attempts may have done", () => {
  const lost = { text: '{"id":', broken: "cut-short" } as const;
  it.each<[string, Kind, readonly Step[], object]>([
    ["a connection that is refused later", "update", [{ status: 503 }, unsent], { effect: "possible", attempts: 3 }],
    [
      "a refusal",
      "update",
      [broken, json({ error: "bad", message: "no" }, 400)],
      { name: "BadRequestError", effect: "possible", attempts: 2, code: "http_400", serviceCode: "bad" },
    ],
    ["a token that can't be had", "update", [broken, { status: 401 }], { name: "OutcomeUnknownError", attempts: 2 }],
    ["a token for an intent", "repeatable", [lost, { status: 401 }], { effect: "possible", attempts: 2 }],
    ["a refusal of an intent", "repeatable", [{ status: 503 }, ownError(400)], { effect: "possible", status: 400 }],
    ["a refusal of what was not sent", "signed", [unsent, ownError(400)], { effect: "none", attempts: 2 }],
  ])("is told after %s", async (_, kind, steps, expected) => {
    const { client, tokens } = scriptedClient(steps);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    expect(await errorOf(calls[kind](client))).toMatchObject(expected);
  });

  it("does not matter where a later one brings an intent", async () => {
    const { client, transport } = scriptedClient([{ status: 503 }, lost, well.repeatable]);
    expect(await calls.repeatable(client)).toMatchObject({ id: "text" });
    expect(transport.sent).toHaveLength(3);
  });

  it("stays certain where an intent was certainly made", async () => {
    const { client } = scriptedClient([json({ id: "1" }), { status: 503 }, ownError(400)], { validation: "strict" });
    expect(await errorOf(calls.repeatable(client))).toMatchObject({ effect: "done", attempts: 3 });
  });
});

describe("a 2xx to a payment", () => {
  const ways = [
    ["created", calls.signed],
    [
      "sent as it was signed earlier",
      (client: HttpClient) => {
        const signedEarlier = { path: "/gw/payments", body: JSON.stringify(payment), signature: "s" };
        return client.send(payments.create, signedEarlier, later(now(), 3_600_000));
      },
    ],
  ] as const;

  it.each(ways)("is not this payment's where its transaction is another, %s", async (_, pay) => {
    for (const transaction of ["tx-2", "TX-1", "", null, undefined, ["tx-1"], { toString: "tx-1" }, 1]) {
      const body = { ...paymentRecord(), senderGatewayTransactionId: transaction };
      const { client, transport } = scriptedClient([json(body)]);
      const error = await errorOf(pay(client));
      expect(error).toMatchObject({ name: "UnexpectedResponseError", effect: "possible", attempts: 1 });
      expect(JSON.stringify(error) + error.message).not.toContain("tx-");
      expect(transport.sent).toHaveLength(1);
    }
  });

  it.each(ways)("is this payment's by its id and its transaction alone, %s", async (_, pay) => {
    const other = { creationRequestBody: "{}", creationRequestSignatureBase64: "other", senderAmount: "12.5" };
    for (const more of [{}, other, { id: 7, senderGatewayTransactionId: " tx-1" }]) {
      const record = { ...paymentRecord(), ...more };
      expect(await pay(scriptedClient([json(record, 226)]).client)).toEqual(record);
    }
  });

  it("is this payment's where its transaction comes back as a number", async () => {
    const sent = { ...payment, senderGatewayTransactionId: "17" };
    const pay = (transaction: unknown) => {
      const record = { ...paymentRecord(), senderGatewayTransactionId: transaction };
      return scriptedClient([json(record)]).client.call(payments.create, [], { body: sent });
    };
    expect(await pay(17)).toMatchObject({ id: "payment-1" });
    for (const other of [18, ["17"], "017"]) expect(await errorOf(pay(other))).toMatchObject({ effect: "possible" });
  });

  it("is done under strict validation, where the record alone is not as described", async () => {
    const { client } = scriptedClient([json({ ...paymentRecord(), memo: 1 })], { validation: "strict" });
    expect(await errorOf(calls.signed(client))).toMatchObject({ effect: "done", attempts: 1 });
  });

  it.each(["cut-short", "timeout", "abort", "too-large", "not-utf8"] as const)(
    "leaves open whether it was done, although the payment is in it: %s",
    async (broken) => {
      for (const [, pay] of ways) {
        const { client, transport } = scriptedClient([{ text: JSON.stringify(paymentRecord()), broken }]);
        expect(await errorOf(pay(client))).toMatchObject({ name: "UnexpectedResponseError", effect: "possible" });
        expect(transport.sent).toHaveLength(1);
      }
    },
  );
});

describe("a 2xx to an update", () => {
  const html = { "content-type": "text/html" };
  it.each<Step>([
    ...["", "OK", "{}", "null", "[1]", '{"status":"maintenance"}', '{"id":', "not < html"].map((text) => ({ text })),
    { text: "", headers: html },
  ])("is done with %j", async (step) => {
    expect(await calls.update(scriptedClient([step]).client)).toBeUndefined();
  });

  it.each<Step>([
    { text: page },
    { text: `\ufeff  ${page}` },
    { text: "<html", broken: "cut-short" },
    { text: "", broken: "cut-short", headers: html },
  ])("may not be done where it is a page, and is asked for again: %j", async (step) => {
    const { client, transport } = scriptedClient([step, { text: "" }]);
    expect(await calls.update(client)).toBeUndefined();
    expect(transport.sent).toHaveLength(2);
    const error = { name: "UnexpectedResponseError", effect: "possible", attempts: 3 };
    expect(await errorOf(calls.update(scriptedClient([step]).client))).toMatchObject(error);
  });
});

describe("a 2xx to a list", () => {
  const list = (client: HttpClient) => client.call(liquidityProviders.list, []);

  it.each([[[]], [[{}]], [[{ id: 1 }, { status: "new" }]]])("is a page of records where it is %j", async (records) => {
    expect(await list(scriptedClient([json(records)]).client)).toEqual(records);
  });

  it.each([{}, { items: [] }, [1], [null], [{}, []], "[]", null])(
    "is asked for again where it is %j",
    async (value) => {
      const { client, transport } = scriptedClient([json(value), json([])], { validation: "off" });
      expect(await list(client)).toEqual([]);
      expect(transport.sent).toHaveLength(2);
    },
  );
});

const depositFields = { paymentGatewayTransactionId: "tx-1", amount: "1" };
const ownIdFields = { ...payment, id: "intent-1" };
const emptyRecord = Object.fromEntries(
  Object.keys(payments.create.record).map((name, at) => [name, at % 2 ? null : ""]),
);
const others = {
  ...calls,
  ownId: (client: HttpClient) => client.call(payments.create, [], { body: ownIdFields }),
  deposit: (client: HttpClient) => client.call(deposits.create, ["lp"], { body: depositFields }),
  list: (client: HttpClient) => client.call(exchangeRates.list, ["lp"]),
};

describe("the error of a 2xx that can't be used", () => {
  it.each<[string, keyof typeof others, Step, string]>([
    ["a page in place of an update's response", "update", { text: page }, "it is a page of HTML"],
    ["a page in place of a record", "read", { text: page }, "it is not JSON"],
    ["a list in place of a record", "read", json([]), "it is not a record"],
    ["a record in place of a list", "list", json({}), "it is not an array of records"],
    ["a record without an id", "read", json({ memo: "rent" }), "it is not a record: it has no id"],
    [
      "another's deposit",
      "deposit",
      json({ id: "1", paymentGatewayTransactionId: "tx-2" }),
      "its paymentGatewayTransactionId is not the one that was sent",
    ],
    ["the request", "ownId", json(ownIdFields), "it is the request"],
    [
      "the request, with what it lacks left empty",
      "ownId",
      json({ ...emptyRecord, ...ownIdFields, status: "queued" }),
      "it is the request",
    ],
    ["a response that broke off", "read", { text: '{"id":', broken: "cut-short" }, "the response broke off"],
    ["a large response", "read", { text: "{", broken: "too-large" }, "the response is larger than maxResponseBytes"],
  ])("says what is wrong with it: %s", async (_, kind, step, problem) => {
    const error = await errorOf(others[kind](scriptedClient([step]).client));
    expect(error).toMatchObject({ name: "UnexpectedResponseError", code: "unexpected_response", status: 200 });
    expect(error.message).toContain(`, but ${problem}`);
  });

  it.each(["read", "list", "signed"] as const)("refuses more than 100 levels: %s", async (kind) => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
    const record = { ...paymentRecord(), extras: nested(kind === "list" ? 98 : 99) };
    const response = (extras: unknown) => json(kind === "list" ? [{ ...record, extras }] : { ...record, extras });
    await others[kind](scriptedClient([response(record.extras)], { validation: "off", maxListBytes: 9999 }).client);
    const error = await errorOf(others[kind](scriptedClient([response([record.extras])]).client));
    expect(error.message).toContain("it has more than 100 levels");
    expect(error.effect).toBe(kind === "signed" ? "possible" : "none");
  });
});

describe("a record", () => {
  it("may have the id that was sent, where the service has added to it", async () => {
    const record = { ...ownIdFields, createdAt: "2026-01-01T00:00:00Z" };
    expect(await others.ownId(scriptedClient([json(record)]).client)).toEqual(record);
  });

  it("is the one that was made where the request had nothing to know it by", async () => {
    const record = { id: "1", paymentGatewayTransactionId: "given by the service" };
    const { client } = scriptedClient([json(record)]);
    expect(await client.call(deposits.create, ["lp"], { body: { amount: "1" } })).toEqual(record);
  });
});

describe("a create that the caller has signed", () => {
  it("counts as one that moves money: another's 429 ends it", async () => {
    const { client, transport, signer } = scriptedClient([{ status: 429, text: page }], {
      signedOperations: new Set(["liquidityProviders.create", "paymentIntents.create"]),
    });
    expect(await errorOf(calls.create(client))).toMatchObject({ effect: "possible", attempts: 1 });
    // An intent moves nothing, signed or not.
    expect(await errorOf(calls.repeatable(client))).toMatchObject({ effect: "possible", attempts: 3 });
    expect(transport.sent).toHaveLength(4);
    expect(signer.sign).toHaveBeenCalledTimes(2);
  });
});

describe("an OutcomeUnknownError", () => {
  it("has the exact request for reconciliation, and shows it nowhere", async () => {
    const { client, transport } = scriptedClient([broken]);
    const error = await errorOf(calls.signed(client));
    if (!(error instanceof OutcomeUnknownError)) throw error;
    const [sent] = transport.sent;
    const signature = sent?.headers["x-service-signature-base64"];
    expect(error.request).toEqual({ path: "/gw/payments", body: sent?.body, signature });
    expect(JSON.parse(error.request.body)).toEqual(payment);
    expect(JSON.stringify(error)).not.toContain(payment.senderAccount);
  });
});

describe("the 401 of a call", () => {
  it("is told to the source of tokens where it is the end of the call", async () => {
    const { client, transport, tokens } = scriptedClient([{ status: 401 }]);
    await errorOf(calls.read(client, { maxRetries: 0 }));
    expect(transport.sent).toHaveLength(1);
    expect(tokens.refused).toHaveBeenCalledExactlyOnceWith("token-1");
  });

  it("ends the call where no other token can be obtained", async () => {
    const { client, transport, tokens } = scriptedClient([{ status: 401 }]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "login_refused" }));
    expect(await errorOf(calls.signed(client))).toMatchObject({ name: "TokenError", effect: "none" });
    expect(transport.sent).toHaveLength(1);
  });
});
