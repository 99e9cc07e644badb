import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { later, now } from "../../src/core/clock.js";
import { Ended } from "../../src/core/deadline.js";
import { type CrossBorderError, OutcomeUnknownError, TokenError } from "../../src/core/errors.js";
import type { HttpClient, HttpClientOptions } from "../../src/http/http-client.js";
import { RetryBudget } from "../../src/http/report.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import { WireFailure } from "../../src/wire/transport.js";
import { runs } from "../support/thorough.js";
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
/** The number of attempts, and the effect. `unknown` is that of an `OutcomeUnknownError`. */
type Cell = "done" | `${1 | 2 | 3} ${"none" | "possible" | "unknown"}`;
/** By kind. Each cell is that of the kind before it, unless the row says otherwise. */
type Row = readonly [what: string, step: Step, code: string, ...cells: readonly Cell[]];

const kinds = ["read", "update", "create", "repeatable", "signed"] as const;
const failure = (sent: boolean, permanent = false, reason = "REASON") => new WireFailure({ sent, permanent, reason });
const page = "<!doctype html><p>proxy";
/** Nothing on a read, and anything on a write. */
const open = ["1 none", "1 possible"] as const;
const passing = ["3 none", "3 possible", "1 possible", "3 possible", "1 possible"] as const;
const lost = ["3 none", "3 unknown", "1 unknown", "3 unknown", "1 unknown"] as const;
const ended = ["1 none", "1 unknown"] as const;
const notTheRecord = ["3 none", "done", "1 possible", "3 possible", "1 possible"] as const;

const unusable: readonly (readonly [what: string, step: Step, cells?: readonly Cell[]])[] = [
  ["2xx broken off", { status: 201, text: '{"id":', broken: "cut-short" }],
  ["2xx over the cap", { text: "[[[", broken: "too-large" }, ["1 none", "done", "1 possible"]],
  ["2xx that is not UTF-8", { text: '{"a":"\ufffd"}', broken: "not-utf8" }],
  ["2xx that is compressed", { text: "", broken: "encoded" }],
  ["2xx with no body", { status: 204, text: "" }],
  ["2xx that is HTML", { text: page }, passing],
  ["2xx that is another shape", json([1])],
  ["2xx that is a list", json([{ id: "1", senderGatewayTransactionId: "tx-1" }])],
  ["2xx that is null", json(null)],
  ["2xx that is a text", json("ok")],
  ["2xx that is {}", json({})],
  ["2xx of a maintenance", json({ status: "maintenance" })],
  ["2xx whose id is null", json({ ...paymentRecord(), id: null })],
  ["2xx whose id is empty", json({ ...paymentRecord(), id: "" })],
  ["2xx whose id is an object", json({ ...paymentRecord(), id: { id: "1" } })],
  ["2xx with the record inside", json({ data: paymentRecord() })],
];

const rows: readonly Row[] = [
  ["unsent", failure(false), "connection_failed", "3 none"],
  ["unknown host", failure(false, false, "ENOTFOUND"), "connection_failed", "1 none"],
  ["unsent for good", failure(false, true), "connection_untrusted", "1 none"],
  ["broken after it may have been sent", failure(true), "connection_failed", ...lost],
  ["broken for good after that", failure(true, true, "ENOTFOUND"), "connection_failed", ...lost],
  ["deadline, maybe sent", new Ended("timeout", true), "timeout", ...ended],
  ["deadline, unsent", new Ended("timeout", false), "timeout", "1 none"],
  ["abort, maybe sent", new Ended("abort", true), "aborted", ...ended],
  ["abort, unsent", new Ended("abort", false), "aborted", "1 none"],
  ["401", ownError(401), "http_401", "2 none"],
  ["401 of somebody else", { status: 401, text: page }, "http_401", "2 none"],
  ...[400, 402, 403, 404, 405, 413, 415, 422].flatMap((status): Row[] => [
    [`${status}`, ownError(status), `http_${status}`, "1 none"],
    [`${status} as a page`, { status, text: page }, `http_${status}`, ...open],
    [`${status} without a body`, { status }, `http_${status}`, ...open],
    [`${status} as somebody else's JSON`, json({ message: "no" }, status), `http_${status}`, ...open],
  ]),
  ...[...provingNothing, 300, 301, 302, 303, 304, 307, 308].flatMap((status): Row[] => [
    [`${status}`, ownError(status), `http_${status}`, ...open],
    [`${status} as a page`, { status, text: page }, `http_${status}`, ...open],
  ]),
  ...[...passingRefusals, 199, 500, 502, 503, 504, 599, 600, 999].flatMap((status): Row[] => [
    [`${status}`, ownError(status), `http_${status}`, ...passing],
    [`${status} as a page`, { status, text: page }, `http_${status}`, ...passing],
  ]),
  ["429", ownError(429), "http_429", "3 none"],
  [
    "429 of somebody else",
    { status: 429, text: page },
    "http_429",
    ...(["3 none", "3 possible", "3 possible", "3 possible", "1 possible"] as const),
  ],
  ...unusable.map(([what, step, cells = notTheRecord]): Row => [what, step, "unexpected_response", ...cells]),
];

const cells = rows.flatMap(([what, step, code, ...given]) =>
  kinds.map((kind, index) => ({ what, step, code, kind, cell: given[Math.min(index, given.length - 1)] ?? "done" })),
);

/** What a cell says of the error. */
function errorIn(cell: Cell, code: string) {
  const [attempts, effect] = cell.split(" ");
  return effect === "unknown"
    ? { code: "outcome_unknown", attempts: Number(attempts), effect: "possible" }
    : { code, attempts: Number(attempts), effect };
}

describe("a call that fails for good", () => {
  it.each(cells)("$kind: $what", async ({ step, kind, code, cell }) => {
    const { client, transport, tokens, signer } = scriptedClient([step]);
    if (cell === "done") return expect(await calls[kind](client)).toBeUndefined();
    const expected = errorIn(cell, code);
    const error = await errorOf(calls[kind](client));
    expect(error).toMatchObject({ ...expected, operation: operations[kind] });
    expect(transport.sent).toHaveLength(expected.attempts);
    // Each attempt repeats the first one; only a renewed token differs.
    const authorization = expect.stringMatching(/^Bearer token-1(-renewed)?$/);
    const [first] = transport.sent;
    for (const sent of transport.sent) {
      expect(sent).toEqual({ ...first, headers: { ...first?.headers, authorization } });
    }
    expect(signer.sign).toHaveBeenCalledTimes(kind === "signed" ? 1 : 0);
    expect(tokens.renew).toHaveBeenCalledTimes(code === "http_401" ? 1 : 0);
    // An operator who must find out has what arrived.
    if (code === "unexpected_response") expect(error).toHaveProperty("response.text", Object(step).text);
  });

  it.each(cells)("is tried once where maxRetries is 0, $kind: $what", async ({ step, kind, code, cell }) => {
    const { client, transport, tokens } = scriptedClient([step]);
    const call = calls[kind](client, { maxRetries: 0 });
    if (cell === "done") expect(await call).toBeUndefined();
    else expect(await errorOf(call)).toMatchObject({ effect: errorIn(cell, code).effect, attempts: 1 });
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

const well: Readonly<Record<Kind, Step>> = {
  read: json(recordOf(paymentIntents.get.record)),
  update: { status: 200, text: "OK" },
  create: json(recordOf(liquidityProviders.list.record)),
  repeatable: json(recordOf(paymentIntents.get.record)),
  signed: json(paymentRecord()),
};

it.each(kinds)("says nothing false of any series of responses: %s", async (kind) => {
  const ofKind = fc.constantFrom(...cells.filter((one) => one.kind === kind));
  const attempt = fc.oneof(
    // A cell says whether the service did nothing, or did it; if it says neither, it may have.
    fc.tuple(ofKind, fc.boolean()).map(([{ step, cell }, mayHave]) => {
      return { step, commits: cell === "done" || (!cell.endsWith("none") && mayHave) };
    }),
    fc.constantFrom(
      { step: well[kind], commits: true },
      { step: failure(false), commits: false },
      { step: ownError(401), commits: false },
      { step: ownError(429, { "retry-after": "0" }), commits: false },
    ),
  );
  const responses = fc.array(attempt, { minLength: 6, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(responses, fc.nat(4), async (series, maxRetries) => {
      const steps = series.map(({ step }) => step);
      const { client, transport } = scriptedClient(steps, { budget: new RetryBudget(1e6) });
      const effect = await Promise.resolve(calls[kind](client, { maxRetries })).then(
        () => "done",
        (error: CrossBorderError) => error.effect,
      );
      const commits = series.slice(0, transport.sent.length).map((one) => one.commits);
      if (kind === "read") expect(effect).not.toBe("possible");
      else if (effect !== "possible") expect(commits.includes(true)).toBe(effect === "done");
      if (kind !== "signed") return;
      expect(commits.slice(0, -1)).not.toContain(true);
      expect(new Set(transport.sent.map(({ body }) => body)).size).toBeLessThanOrEqual(1);
    }),
    { numRuns: runs(500) },
  );
});

describe("a call that succeeds in the end", () => {
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
  it.each<[string, Kind, readonly Step[], object, Partial<HttpClientOptions>?]>([
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
    [
      "a record that is certainly the intent's",
      "repeatable",
      [json({ id: "1" }), { status: 503 }, ownError(400)],
      { effect: "done", attempts: 3 },
      { validation: "strict" },
    ],
  ])("is told after %s", async (_, kind, steps, expected, overrides) => {
    const { client, tokens } = scriptedClient(steps, overrides);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    expect(await errorOf(calls[kind](client))).toMatchObject(expected);
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

  const others = ["tx-2", "TX-1", "", null, undefined, ["tx-1"], { toString: "tx-1" }, 1];
  const unsure: readonly Step[] = [
    ...others.map((transaction) => json({ ...paymentRecord(), senderGatewayTransactionId: transaction })),
    ...(["cut-short", "timeout", "abort", "too-large", "not-utf8"] as const).map((broken) => {
      return { text: JSON.stringify(paymentRecord()), broken };
    }),
  ];
  it.each(ways)(
    "leaves open whether it was done where it may be another's, or didn't come whole, %s",
    async (_, pay) => {
      for (const step of unsure) {
        const { client, transport } = scriptedClient([step]);
        const error = await errorOf(pay(client));
        expect(error).toMatchObject({ name: "UnexpectedResponseError", effect: "possible", attempts: 1 });
        expect(JSON.stringify(error) + error.message).not.toContain("tx-");
        expect(transport.sent).toHaveLength(1);
      }
    },
  );

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
});

describe("a 2xx to an update", () => {
  const html = { "content-type": "text/html" };
  it.each<Step>([{ text: "OK" }, { text: "not < html" }, { text: "", headers: html }])(
    "is done with %j",
    async (step) => {
      expect(await calls.update(scriptedClient([step]).client)).toBeUndefined();
    },
  );

  it.each<Step>([{ text: page }, { text: `\ufeff  ${page}` }, { text: "<html", broken: "cut-short" }])(
    "may not be done where it is a page, and is asked for again: %j",
    async (step) => {
      const { client, transport } = scriptedClient([step, { text: "" }]);
      expect(await calls.update(client)).toBeUndefined();
      expect(transport.sent).toHaveLength(2);
      const error = { name: "UnexpectedResponseError", effect: "possible", attempts: 3 };
      expect(await errorOf(calls.update(scriptedClient([step]).client))).toMatchObject(error);
    },
  );
});

describe("a 2xx to a list", () => {
  const list = (client: HttpClient) => client.call(liquidityProviders.list, []);

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
    ["a record in place of a list", "list", json({}), "response is not an array of records"],
    [
      "another's deposit",
      "deposit",
      json({ id: "1", paymentGatewayTransactionId: "tx-2" }),
      "since its paymentGatewayTransactionId is not the one that was sent",
    ],
    ["the request", "ownId", json(ownIdFields), "response is only the request"],
    [
      "the request, with what it lacks left empty",
      "ownId",
      json({ ...emptyRecord, ...ownIdFields, status: "queued" }),
      "response is only the request",
    ],
  ])("says what is wrong with it: %s", async (_, kind, step, problem) => {
    const error = await errorOf(others[kind](scriptedClient([step]).client));
    expect(error).toMatchObject({ name: "UnexpectedResponseError", code: "unexpected_response", status: 200 });
    expect(error.message).toContain(problem);
  });

  it.each(["read", "list", "signed"] as const)("refuses more than 100 levels: %s", async (kind) => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
    const record = { ...paymentRecord(), extras: nested(kind === "list" ? 98 : 99) };
    const response = (extras: unknown) => json(kind === "list" ? [{ ...record, extras }] : { ...record, extras });
    await others[kind](scriptedClient([response(record.extras)], { validation: "off", maxListBytes: 9999 }).client);
    const error = await errorOf(others[kind](scriptedClient([response([record.extras])]).client));
    expect(error.message).toContain("JSON of more than 100 levels");
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
    const { client, tokens } = scriptedClient([{ status: 401 }]);
    await errorOf(calls.read(client, { maxRetries: 0 }));
    expect(tokens.refused).toHaveBeenCalledExactlyOnceWith("token-1");
  });

  it("ends the call where no other token can be obtained", async () => {
    const { client, transport, tokens } = scriptedClient([{ status: 401 }]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "login_refused" }));
    expect(await errorOf(calls.signed(client))).toMatchObject({ name: "TokenError", effect: "none" });
    expect(transport.sent).toHaveLength(1);
  });
});
