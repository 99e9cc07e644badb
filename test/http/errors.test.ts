import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import { ConfigError, SigningError, TimeoutError, TokenError } from "../../src/core/errors.js";
import type { HttpClient } from "../../src/http/http-client.js";
import { deposits } from "../../src/resources/deposits.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import { payments } from "../../src/resources/payments.js";
import { WireFailure } from "../../src/wire/transport.js";
import {
  broken,
  calls,
  errorOf,
  json,
  ownError,
  payment,
  type Step,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

const https = "https://service.test/gw";
const madeOrNot = "The payment may have been made. Look for it before you pay again or refund.";
const foreign = "It isn't the service's own response. Check the path in baseUrl, and the proxies on the way.";
const page = (status: number) => ({ status, text: "<html>" });
const timeout = new TimeoutError("the deadline passed", { operation: "login", attempts: 2 });
const listed = (client: HttpClient) => client.call(payments.list, []);
const deposit = (client: HttpClient) => client.call(deposits.get, ["DE11222233334444", "d-1"]);
const refund = (client: HttpClient) => client.request({ method: "POST", path: "/refunds/{id}", ids: ["Erika"] });

describe("the message of a failed call", () => {
  it.each<[string, (client: HttpClient) => PromiseLike<unknown>, readonly Step[], string]>([
    ["a wrong path", listed, [page(404)], `payments.list failed: 404 Not Found for GET ${https}/payments. ${foreign}`],
    [
      "no such record",
      calls.read,
      [ownError(404)],
      `paymentIntents.get failed: 404 Not Found for GET ${https}/payment-intents/{paymentIntentId}.`,
    ],
    [
      "the service's code",
      calls.signed,
      [json({ error: "limit.exceeded", message: "m" }, 400)],
      `payments.create failed: 400 limit.exceeded for POST ${https}/payments. The payment was not made.`,
    ],
    [
      "a wrong signature",
      calls.signed,
      [json({ error: "invalid_signature", message: "m" }, 400)],
      `payments.create failed: 400 invalid_signature for POST ${https}/payments. See https://github.com/cross-border-payments/cross-border-payments/blob/main/docs/invalid-signature.md. The payment was not made.`,
    ],
    [
      "a proxy's page",
      calls.signed,
      [page(403)],
      `payments.create failed: 403 Forbidden for POST ${https}/payments. ${foreign} ${madeOrNot}`,
    ],
    [
      "a refused token",
      calls.signed,
      [{ status: 401 }],
      `payments.create failed: 401 Unauthorized for POST ${https}/payments after 2 attempts. Check that the token is meant for this service (audience), and that the clocks agree. The payment was not made.`,
    ],
    [
      "a redirect",
      calls.update,
      [{ status: 302 }],
      `liquidityProviders.update failed: 302 for PUT ${https}/liquidity-providers/{liquidityProviderId}. Redirects aren't followed. Check baseUrl. The record may have been updated. It's safe to call again.`,
    ],
    [
      "an id that may be an account",
      deposit,
      [ownError(400)],
      `liquidityProviders.deposits.get failed: 400 Bad Request for GET ${https}/liquidity-providers/{liquidityProviderId}/deposits/{depositId}.`,
    ],
    [
      "a raw request",
      refund,
      [ownError(400)],
      `POST /refunds/{id} failed: 400 Bad Request for POST ${https}/refunds/{id}. The request was not carried out.`,
    ],
    [
      "an intent that is refused",
      calls.repeatable,
      [ownError(400)],
      `paymentIntents.create failed: 400 Bad Request for POST ${https}/payment-intents. The record was not created.`,
    ],
    [
      "an intent that is lost",
      calls.repeatable,
      [{ text: "[]" }],
      `paymentIntents.create failed: 200 for POST ${https}/payment-intents after 3 attempts. The response is not a record. The record may have been created. It moves no money, so it's safe to call again.`,
    ],
    [
      "a refused connection",
      calls.signed,
      [unsent],
      `payments.create failed: could not connect (ECONNREFUSED) for POST ${https}/payments after 3 attempts. Nothing was sent.`,
    ],
    [
      "an unknown host",
      calls.signed,
      [new WireFailure({ sent: false, reason: "ENOTFOUND" })],
      `payments.create failed: could not connect (ENOTFOUND) for POST ${https}/payments. Check the host in baseUrl. In a test with MSW or Nock, pass the fetch option. Nothing was sent.`,
    ],
    [
      "an untrusted certificate",
      calls.read,
      [new WireFailure({ sent: false, permanent: true, reason: "CERT_HAS_EXPIRED" })],
      `paymentIntents.get failed: could not connect (CERT_HAS_EXPIRED) for GET ${https}/payment-intents/{paymentIntentId}. Check the server's certificate and TLS version. A private CA goes into tls.ca. Nothing was sent.`,
    ],
    [
      "a proxy that refuses",
      calls.read,
      [new WireFailure({ sent: false, permanent: true, reason: "PROXY_REFUSED" })],
      `paymentIntents.get failed: the proxy made no connection for GET ${https}/payment-intents/{paymentIntentId}. Check the proxy's address, user, and password, and which addresses it lets through. Nothing was sent.`,
    ],
    [
      "a broken connection",
      calls.signed,
      [broken],
      `payments.create failed: the connection broke (ECONNRESET) for POST ${https}/payments. ${madeOrNot}`,
    ],
    [
      "a deadline",
      calls.signed,
      [new Ended("timeout", true)],
      `payments.create failed: the deadline (timeoutMs) passed for POST ${https}/payments. ${madeOrNot}`,
    ],
    [
      "a signal",
      calls.read,
      [new Ended("abort", true)],
      `paymentIntents.get failed: your signal ended the call for GET ${https}/payment-intents/{paymentIntentId}.`,
    ],
    [
      "another record",
      calls.create,
      [json({})],
      `liquidityProviders.create failed: 200 for POST ${https}/liquidity-providers. The response is not a record, since it has no id. The record may have been created. Look for it before you create it again.`,
    ],
    [
      "a record that broke off",
      calls.signed,
      [{ text: JSON.stringify({ id: "1", senderGatewayTransactionId: "tx-1" }), broken: "cut-short" }],
      `payments.create failed: 200 for POST ${https}/payments. The response broke off. ${madeOrNot}`,
    ],
  ])("says what failed, what to check, and what was done: %s", async (_, call, steps, message) => {
    const error = await errorOf(call(scriptedClient(steps).client));
    expect(error.message).toBe(message);
  });

  it("tells of an earlier attempt that may have succeeded", async () => {
    const { client, tokens } = scriptedClient([broken, { status: 401 }]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    expect((await errorOf(calls.update(client))).message).toBe(
      `liquidityProviders.update failed: an earlier attempt may have succeeded, and the last one failed for PUT ${https}/liquidity-providers/{liquidityProviderId} after 2 attempts. The record may have been updated. It's safe to call again.`,
    );
  });
});

describe("the facts of a response on its error", () => {
  const said = { error: "busy", message: ["a", "b"] };

  it.each<[string, keyof typeof calls, readonly Step[], object]>([
    ["an ApiError", "read", [json(said, 400)], { status: 400, serviceCode: "busy", serviceMessage: "a; b" }],
    [
      "an UnexpectedResponseError",
      "create",
      [json(said)],
      { status: 200, serviceCode: "busy", serviceMessage: "a; b" },
    ],
    ["an OutcomeUnknownError", "update", [{ status: 503 }, unsent], { name: "OutcomeUnknownError", status: 503 }],
    ["problem+json", "read", [json({ title: "t", detail: "d" }, 400)], { status: 400, serviceMessage: "d" }],
    ["problem+json without a detail", "read", [json({ title: "t" }, 400)], { status: 400, serviceMessage: "t" }],
  ])("are there for %s", async (_, kind, steps, facts) => {
    const error = await errorOf(calls[kind](scriptedClient(steps).client));
    expect(error).toMatchObject(facts);
    expect(Object.keys(error)).not.toContain("serviceMessage");
  });
});

describe("the error of a connection", () => {
  it("is the cause of an unknown outcome, with all that is known of the call", async () => {
    const error = await errorOf(calls.signed(scriptedClient([broken]).client));
    const cause = { message: "ECONNRESET", code: "ECONNRESET" };
    const known = { name: "ConnectionError", operation: "payments.create", attempts: 1, effect: "possible", cause };
    expect(error.cause).toMatchObject(known);
  });

  it("shows no code of a caller's own that may be an account", async () => {
    const { client, events } = scriptedClient([new WireFailure({ sent: false, reason: payment.senderAccount })]);
    const error = await errorOf(calls.signed(client));
    expect(error.message).toContain("(UNKNOWN)");
    expect(error.cause).toMatchObject({ code: "UNKNOWN" });
    expect(events.retry).toHaveBeenCalledWith(expect.objectContaining({ reason: "UNKNOWN" }));
  });
});

describe("an error of a token source or a signer", () => {
  const call = { operation: "paymentIntents.get" };
  const own = { operation: "login", attempts: 4, requestId: "r-9" };
  it.each<[string, ConstructorParameters<typeof TokenError>[1], object]>([
    ["says which call it ended", { code: "login_refused" }, { ...call, attempts: 1, requestId: "r-1" }],
    ["keeps what it says of a call of its own", { code: "token_endpoint_failing", ...own }, own],
    ["keeps a cause of this package", { code: "token_endpoint_unreachable", cause: timeout }, { cause: timeout }],
  ])("%s", async (_, facts, expected) => {
    const { client, tokens } = scriptedClient([{ status: 401, headers: { "x-request-id": "r-1" } }]);
    tokens.renew.mockRejectedValue(new TokenError("no", facts));
    const error = await errorOf(calls.read(client));
    expect(error).toMatchObject(expected);
    expect(error.cause).toBe(facts.cause);
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
});

describe("a failure that nobody foresaw", () => {
  const bug = () => new RangeError("a bug");
  const unusable = () => new ConfigError("no response", { effect: "possible" });
  const lost = `payments.create failed: an unexpected error inside the client for POST ${https}/payments. ${madeOrNot}`;
  it.each<[keyof typeof calls, () => Error, object]>([
    [
      "read",
      bug,
      { name: "CrossBorderError", code: "unexpected_failure", effect: "none", cause: { message: "a bug" } },
    ],
    ["signed", bug, { name: "OutcomeUnknownError", effect: "possible", message: lost }],
    ["read", unusable, { name: "ConfigError", effect: "none" }],
    ["signed", unusable, { name: "ConfigError", effect: "possible" }],
  ])("may have done what was asked for unless it ended a read: %s, %o", async (kind, failure, expected) => {
    const transport = { send: () => Promise.reject(failure()), close: async () => {} };
    const error = await errorOf(calls[kind](scriptedClient([], { transport }).client));
    expect(error).toMatchObject({ ...expected, attempts: 1 });
  });
});

it("prints no query that was signed and holds a credential", async () => {
  const signedOperations = new Set(["paymentGateways.list"]);
  const { client } = scriptedClient([ownError(400)], { signedOperations, signQuery: true });
  const query = { accountVerificationBearerToken: "canary-of-theirs" };
  const error = await errorOf(client.call(paymentGateways.list, [], { query }));
  expect(error).toHaveProperty("signed.path", expect.stringContaining("canary-of-theirs"));
  expect(inspect(error) + JSON.stringify(error)).not.toContain("canary");
});
