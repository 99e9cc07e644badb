import { once } from "node:events";
import { inspect } from "node:util";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import * as errors from "../../src/core/errors.js";

const {
  ApiError,
  CrossBorderError,
  InvalidArgumentError,
  OutcomeUnknownError,
  PagingError,
  TokenError,
  UnexpectedResponseError,
} = errors;

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
  ...[400, 401, 403, 404, 409, 418, 422, 429, 500, 599].map((status) =>
    ApiError.of("x", { code: "http_400", response: { ...response, status } }),
  ),
];

describe("an error", () => {
  it("has the code of its class unless it is told otherwise", () => {
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
    for (const { code } of codes) {
      const told = { code: "flow_closed", request, response } as const;
      const Class = codes.find((error) => error.code === code)?.constructor as typeof CrossBorderError;
      expect(new Class("x", told).code).toBe("flow_closed");
    }
  });

  it("can be given a name of its own by a subclass, in its body or in its constructor", () => {
    class Declared extends PagingError {
      override readonly name = "Declared";
    }
    class Assigned extends PagingError {
      constructor() {
        super("x");
        this.name = "Assigned";
      }
    }
    expect([String(new Declared("x")), String(new Assigned())]).toEqual(["Declared: x", "Assigned: x"]);
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

  it("has the class of its status", () => {
    const classes = [400, 401, 403, 404, 409, 422, 429, 500, 503, 599, 999, 302, 418, 408].map(
      (status) => ApiError.of("x", { code: "http_400", response: { ...response, status } }).name,
    );
    expect(classes).toEqual([
      "BadRequestError",
      "AuthenticationError",
      "PermissionDeniedError",
      "NotFoundError",
      "ConflictError",
      "UnprocessableEntityError",
      "RateLimitError",
      "ServerError",
      "ServerError",
      "ServerError",
      "ServerError",
      "ApiError",
      "ApiError",
      "ApiError",
    ]);
  });

  it("says that it did nothing unless it is told otherwise; an unknown outcome is possible", () => {
    expect(new PagingError("x").effect).toBe("none");
    expect(new OutcomeUnknownError("x", { request }).effect).toBe("possible");
    expect(new UnexpectedResponseError("x", { response, effect: "done" }).effect).toBe("done");
  });

  it("of a journal says what was stored: nothing, unless that is unknown", () => {
    expect(new errors.JournalError("x").stored).toBe("nothing");
    expect(new errors.JournalError("x", { stored: "unknown" }).stored).toBe("unknown");
  });

  it("has no fields for what it does not know", () => {
    expect(Object.keys(new InvalidArgumentError("x"))).toEqual(["code", "effect", "docUrl"]);
    const fields = (error: Error) => Object.getOwnPropertyNames(error).sort();
    const always = ["code", "docUrl", "effect", "message", "stack"];
    expect(fields(new InvalidArgumentError("x"))).toEqual(always);
    expect(fields(new TokenError("x", { code: "login_refused" }))).toEqual(always);
    expect(fields(ApiError.of("x", { code: "http_400", response }))).toEqual([...always, "response", "status"].sort());
  });

  it("tells what the token endpoint said, its own words only to who asks for them", () => {
    const told = { code: "login_refused", status: 400, serviceCode: "invalid_grant", heldUntilMs: 5 } as const;
    const error = new TokenError("x", { ...told, serviceMessage: "Zoë is locked" });
    expect(error).toMatchObject({ ...told, serviceMessage: "Zoë is locked" });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "TokenError",
      message: "x",
      effect: "none",
      docUrl: error.docUrl,
      ...told,
    });
    expect(inspect(error, { depth: 10 })).not.toContain("Zoë");
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

  it.each([
    ["util.inspect", (error: Error) => inspect(error, { depth: 10 })],
    ["JSON.stringify", (error: Error) => JSON.stringify(error)],
    ["a template", (error: Error) => `${error}`],
    ["its stack", (error: Error) => error.stack ?? ""],
    ["a spread", (error: Error) => inspect({ ...error }, { depth: 10 })],
  ])("are not shown by %s", (_, show) => {
    for (const error of [withResponse(), unexpected(), withRequest()]) {
      expect(show(error)).not.toMatch(/secret/);
    }
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

  it("whose message looks like a stack shows nothing by it", () => {
    const foreign = new Error("failed\n    at password=hunter2");
    expect(inspect(new errors.ConnectionError("x", { cause: foreign }))).not.toContain("hunter2");
  });

  it.each([
    ["a string", "secret", "a value that is not an Error was thrown (string)"],
    ["null", null, "a value that is not an Error was thrown (null)"],
    ["an object", { token: "secret" }, "a value that is not an Error was thrown (object)"],
  ])("that is %s is told by its type only", (_, thrown, message) => {
    const error = new errors.ConnectionError("x", { cause: thrown });
    expect(error.cause).toHaveProperty("message", message);
    expect(inspect(error)).not.toContain("secret");
  });

  it("that is absent is absent", () => {
    expect("cause" in new PagingError("x")).toBe(false);
  });
});
