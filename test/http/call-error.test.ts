import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  ConnectionError,
  OutcomeUnknownError,
  SigningError,
  TimeoutError,
  TokenError,
} from "../../src/errors/errors.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { WireFailure } from "../../src/wire/wire-failure.js";
import {
  broken,
  calls,
  errorOf,
  json,
  ownError,
  payment,
  paymentRecord,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

describe("the error of a connection", () => {
  it("says that none was made, with the reason as its cause", async () => {
    const { client } = scriptedClient([unsent], { maxRetries: 0 });
    const error = await errorOf(calls.signed(client));
    expect(error.message).toBe(
      "payments.create: no connection to https://service.test (ECONNREFUSED), before anything was sent; nothing was done",
    );
    expect(error.cause).toMatchObject({ message: "ECONNREFUSED", code: "ECONNREFUSED" });
  });

  it("tells a request that never left from one whose repetition never left", async () => {
    const { client } = scriptedClient([unsent]);
    expect((await errorOf(calls.signed(client))).message).toContain("before it was sent again; nothing was done");
  });

  it("is the cause of an unknown outcome, with all that is known of the call", async () => {
    const { client } = scriptedClient([broken]);
    const error = await errorOf(calls.signed(client));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.cause).toBeInstanceOf(ConnectionError);
    expect(error.cause).toMatchObject({
      operation: "payments.create",
      attempts: 1,
      effect: "possible",
      cause: { code: "ECONNRESET" },
    });
  });

  it("never shows a reason that repeats a secret of the request", async () => {
    const { client, events } = scriptedClient([new WireFailure({ sent: false, reason: "no token-1 here" })]);
    const error = await errorOf(calls.read(client));
    expect(error.message).toContain("no connection to https://service.test (UNKNOWN)");
    expect(error.cause).toMatchObject({ code: "UNKNOWN" });
    expect(events.retry).toHaveBeenCalledWith(expect.objectContaining({ reason: "UNKNOWN" }));
  });

  it("says of an intent that never left that nothing was done", async () => {
    const { client } = scriptedClient([unsent]);
    const { message } = await errorOf(calls.repeatable(client));
    expect(message).toContain("nothing was done");
    const { client: other } = scriptedClient([ownError(400)]);
    expect((await errorOf(calls.repeatable(other))).message).toContain("400 (nothing was done)");
  });
});

it.each([
  ["timeout", "TimeoutError", "timeout", "the deadline passed", "DEADLINE"],
  ["abort", "AbortedError", "aborted", "the caller's signal ended the call", "ABORTED"],
] as const)("tells who ended a read whose response was still coming: %s", async (broken, name, code, what, reason) => {
  const { client, transport } = scriptedClient([{ text: '{"id":"1",', broken }]);
  const error = await errorOf(calls.read(client));
  expect(error).toMatchObject({ name, code, effect: "none", cause: { code: reason } });
  expect(error.message).toContain(`${what} after the request may have been sent; nothing was done`);
  expect(transport.sent).toHaveLength(1);
});

it("never shows the name of an unknown field that repeats a secret of the request", async () => {
  const record = { ...paymentRecord(), Erika_Sender: 1 };
  const { client } = scriptedClient([json(record)], { validation: "strict" });
  const error = await errorOf(calls.signed(client));
  expect(error.message).toBe(
    "payments.create: the service responded with 200, but it is not as described (it was done)",
  );
});

describe("the request id on an error", () => {
  it("is absent where no response had one", async () => {
    const { client } = scriptedClient([ownError(400)]);
    expect(await errorOf(calls.signed(client))).not.toHaveProperty("requestId");
  });
});

function tokensOf(current: () => Promise<string>): Partial<HttpClientOptions> {
  return { tokens: { current, renew: current } };
}

describe("an error of a token source or a signer", () => {
  it("is told which call it ended, and has no cause where it came with none", async () => {
    const { client } = scriptedClient(
      [],
      tokensOf(() => Promise.reject(new TokenError("no", { code: "login_refused" }))),
    );
    const error = await errorOf(calls.read(client));
    expect(error).toMatchObject({ operation: "paymentIntents.get", attempts: 0 });
    expect(error.cause).toBeUndefined();
  });

  it("keeps what it says of a call of its own", async () => {
    const own = { operation: "login", attempts: 4, requestId: "r-9" };
    const error = new TokenError("no", { code: "token_endpoint_failing", ...own });
    const { client, tokens } = scriptedClient([{ status: 401, headers: { "x-request-id": "r-1" } }]);
    tokens.renew.mockRejectedValue(error);
    expect(await errorOf(calls.read(client))).toMatchObject(own);
  });

  it("shows nothing of the request that its cause repeats", async () => {
    const quoting = new Error(`can't sign for ${payment.senderName}`);
    const failing = () => Promise.reject(new SigningError("the signer failed", { cause: quoting }));
    const { client } = scriptedClient([], { signer: { sign: failing, describe: failing } });
    const error = await errorOf(calls.signed(client));
    expect(error.cause).toMatchObject({ message: "can't sign for [redacted]" });
    expect(Object.keys(error)).not.toContain("cause");
    expect(inspect(error, { depth: 9 })).not.toContain("Erika");
  });

  it("keeps a cause that is an error of this package, with all its facts", async () => {
    const cause = new TimeoutError("the deadline passed", { operation: "login", attempts: 2 });
    const error = new TokenError("no", { code: "token_endpoint_unreachable", cause });
    const { client } = scriptedClient(
      [],
      tokensOf(() => Promise.reject(error)),
    );
    expect((await errorOf(calls.read(client))).cause).toBe(cause);
  });

  it("is passed on where it says itself that something may have been done", async () => {
    const request = { path: "/login", body: "" };
    const unknown = new OutcomeUnknownError("login: the connection broke", { operation: "login", request });
    const { client, tokens } = scriptedClient([broken, { status: 401 }]);
    tokens.renew.mockRejectedValue(unknown);
    expect(await errorOf(calls.update(client))).toBe(unknown);
  });
});

describe("a failure that nobody foresaw", () => {
  const transport = { send: () => Promise.reject(new RangeError("a bug")), close: async () => {} };

  it("has done nothing where it ended a read", async () => {
    const error = await errorOf(calls.read(scriptedClient([], { transport }).client));
    expect(error).toMatchObject({ name: "CrossBorderError", code: "unexpected_failure", effect: "none", attempts: 1 });
    expect(error.message).toBe("paymentIntents.get: an unexpected failure inside the client");
    expect(error.cause).toMatchObject({ name: "RangeError", message: "a bug" });
  });

  it("may have done what a payment asked for", async () => {
    const error = await errorOf(calls.signed(scriptedClient([], { transport }).client));
    expect(error).toMatchObject({ name: "OutcomeUnknownError", effect: "possible", attempts: 1 });
    expect(error.message).toContain("an unexpected failure inside the client; it may have been done all the same");
  });
});
