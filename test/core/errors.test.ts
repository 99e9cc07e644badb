import { once } from "node:events";
import { inspect } from "node:util";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import * as errors from "../../src/core/errors.js";
import { shownTexts } from "./shown-texts.js";

const { ApiError, InvalidArgumentError, OutcomeUnknownError, PagingError, TokenError, UnexpectedResponseError } =
  errors;

const response = { status: 400, headers: { "x-secret": "header-secret" }, text: "body-secret" };
const request = { path: "/payments", body: '{"senderAccount":"account-secret"}', signature: "signature-secret" };

/** One of each kind, made anew. */
const samples = () => [
  new errors.InvalidArgumentError("x"),
  new errors.ConfigError("x"),
  new errors.SigningError("x"),
  new TokenError("x", { code: "login_refused", status: 400, heldUntilMs: 5 }),
  new errors.ConnectionError("x"),
  new errors.TimeoutError("x"),
  new errors.AbortedError("x"),
  new OutcomeUnknownError("x", { request }),
  new UnexpectedResponseError("x", { response }),
  new PagingError("x"),
  new errors.JournalError("x"),
  ApiError.of("x", { code: "http_400", response }),
];

describe("an error", () => {
  it("has the code of its class", () => {
    const codes = samples().filter((error) => !(error instanceof ApiError || error instanceof TokenError));
    expect(codes.map(({ name, code }) => [name, code])).toEqual([
      ["InvalidArgumentError", "invalid_argument"],
      ["ConfigError", "invalid_config"],
      ["SigningError", "signing_failed"],
      ["ConnectionError", "connection_failed"],
      ["TimeoutError", "timeout"],
      ["AbortedError", "aborted"],
      ["OutcomeUnknownError", "outcome_unknown"],
      ["UnexpectedResponseError", "unexpected_response"],
      ["PagingError", "paging"],
      ["JournalError", "journal_failed"],
    ]);
  });

  it("says that it did nothing unless it is told otherwise; an unknown outcome is possible", () => {
    expect(new PagingError("x").effect).toBe("none");
    expect(new OutcomeUnknownError("x", { request }).effect).toBe("possible");
    const told = { response, effect: "done", code: "timeout" } as const;
    expect(new UnexpectedResponseError("x", told)).toMatchObject({ effect: "done", code: "timeout" });
    expect(new errors.JournalError("x").stored).toBe("nothing");
  });

  it.each(samples().map((error) => [error.name, error] as const))(
    "%s has its name in name, stack, text and JSON",
    (name, error) => {
      expect(name).toBe(error.constructor.name);
      expect(String(error)).toBe(`${name}: x`);
      expect(error.stack?.split("\n")[0]).toBe(`${name}: x`);
      expect(error.toJSON()).toMatchObject({ name, message: "x", code: error.code, effect: error.effect });
      expect(Object.hasOwn(error, "name")).toBe(false);
    },
  );

  it.each([
    [400, "BadRequestError"],
    [401, "AuthenticationError"],
    [403, "PermissionDeniedError"],
    [404, "NotFoundError"],
    [409, "ConflictError"],
    [422, "UnprocessableEntityError"],
    [429, "RateLimitError"],
    [500, "ServerError"],
    [599, "ServerError"],
    [302, "ApiError"],
    [418, "ApiError"],
  ])("has the class of its status: %i", (status, name) => {
    expect(ApiError.of("x", { code: "http_400", response: { ...response, status } }).name).toBe(name);
  });

  it("comes whole to another thread as the object for its JSON, and without its facts as itself", async () => {
    const error = ApiError.of("x", { code: "http_400", effect: "possible", response });
    const { port1, port2 } = new MessageChannel();
    onTestFinished(() => port1.close());
    const received = once(port2, "message");
    port1.postMessage([error, error.toJSON()]);
    const [[copy, facts]] = (await received) as [[Error, object]];
    expect([Reflect.get(copy, "code"), Reflect.get(copy, "effect")]).toEqual([undefined, undefined]);
    expect(facts).toEqual(JSON.parse(JSON.stringify(error)));
  });

  it("tells all its facts in JSON", () => {
    const signed = { path: "/p", bodySha256: "b", publicKeySha256: "k" };
    const details = {
      code: "http_400",
      operation: "payments.create",
      attempts: 2,
      requestId: "r-1",
      serviceCode: "Bad Request",
      retryAfterMs: 5,
      signed,
    } as const;
    const error = ApiError.of("x", { effect: "possible", response, serviceMessage: "no", ...details });
    error.funds = { intentId: "i", senderGatewayTransactionId: "t" };
    expect(error.serviceMessage).toBe("no");
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "BadRequestError",
      message: "x",
      effect: "possible",
      docUrl: error.docUrl,
      status: 400,
      funds: { intentId: "i", senderGatewayTransactionId: "t" },
      ...details,
    });
  });

  it("has no fields for what it does not know", () => {
    expect(Object.keys(new InvalidArgumentError("x"))).toEqual(["code", "effect", "docUrl"]);
    expect("cause" in new PagingError("x")).toBe(false);
  });

  it("takes keys, tokens and passwords out of its message", () => {
    const error = new InvalidArgumentError("password=AAAA, -----BEGIN PRIVATE KEY-----\nAAAA and Bearer abc");
    expect(error.message).toBe("password=[redacted], [key]");
    expect(error.stack).not.toContain("AAAA");
  });
});

describe("the response and the request behind an error", () => {
  const withResponse = () => ApiError.of("x", { code: "http_400", response });
  const unexpected = () => new UnexpectedResponseError("y", { response });
  const withRequest = () => new OutcomeUnknownError("x", { request, cause: unexpected() });

  it("are there for programs", () => {
    expect(withResponse().response).toEqual(response);
    expect(unexpected()).toMatchObject({ response, status: 400 });
    expect(withRequest().request).toEqual(request);
  });

  it("are in no text of it", () => {
    for (const error of [withResponse(), unexpected(), withRequest()]) expect(shownTexts(error)).not.toMatch(/secret/);
  });
});

describe("a cause", () => {
  it("of this package is kept as it is", () => {
    const cause = new errors.TimeoutError("late");
    expect(new OutcomeUnknownError("x", { request, cause }).cause).toBe(cause);
  });

  it("from elsewhere keeps its name, code, redacted message and frames, and nothing else", () => {
    const foreign = Object.assign(new TypeError("password=hunter2 refused"), {
      code: "E_FOREIGN",
      request: { headers: { authorization: "Bearer secret-token" } },
      cause: new Error("secret-cause"),
    });
    const cause = new errors.ConnectionError("x", { cause: foreign }).cause;
    if (!(cause instanceof Error)) throw new Error("there is no cause");
    expect([cause.name, cause.message]).toEqual(["TypeError", "password=[redacted] refused"]);
    expect(Reflect.ownKeys(cause).sort()).toEqual(["code", "message", "name", "stack"]);
    expect(cause.stack).toMatch(/^TypeError: password=\[redacted\] refused\n {4}at .*errors\.test\.ts/);
    expect(inspect(new errors.ConnectionError("x", { cause: foreign }), { depth: 10 })).not.toMatch(/hunter2|secret/);
  });
});
