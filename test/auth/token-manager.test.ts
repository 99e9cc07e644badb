import { inspect } from "node:util";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TokenManager } from "../../src/auth/token-manager.js";
import { ConfigError, TokenError } from "../../src/errors/errors.js";
import { Deadline, Ended } from "../../src/timing/deadline.js";
import {
  FakeTokenEndpoint,
  granted,
  maybeSent,
  notSent,
  type Reply,
  refusal,
  responded,
  timedOut,
  untrusted,
} from "./fake-token-endpoint.js";
import { auth, fakeTime, handled, managerFixture, pass, secrets, settle } from "./manager-fixture.js";

const refusedStatuses = [400, 401, 403, 404, 405, 413, 415, 422];
const failingStatuses = [408, 409, 500, 502, 503, 504];

let unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);

beforeEach(async () => {
  unhandled = [];
  process.on("unhandledRejection", onUnhandled);
  await fakeTime();
});

afterEach(async () => {
  await settle();
  vi.useRealTimers();
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});

/** The error of a call, which has to fail at once. */
async function failure(call: Promise<unknown>): Promise<TokenError> {
  const error: unknown = await handled(call).then(
    (value) => new Error(`no failure but ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof TokenError)) throw error;
  expect(error.effect).toBe("none");
  return error;
}

// One request for all

it("requests nothing before the first call", async () => {
  const { fake } = managerFixture([granted("a")]);
  await pass(1000);
  expect(fake.requests).toHaveLength(0);
});

it("makes one request for 1,000 calls on a cold manager", async () => {
  const { call, fake } = managerFixture([]);
  const calls = Array.from({ length: 1000 }, () => call());
  await settle();
  expect(fake.pending).toBe(1);
  fake.reply(granted("a"));
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["a"]));
  expect(fake.requests).toHaveLength(1);
});

it("gives a live token as a plain string", async () => {
  const { call, manager } = managerFixture([granted("a")]);
  await call();
  expect(manager.current(new Deadline({}), 2)).toBe("a");
});

it("leaves the request running when the call that caused it is aborted", async () => {
  const { call, fake } = managerFixture([]);
  const abort = new AbortController();
  const aborted = handled(call({ signal: abort.signal }));
  await settle();
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ kind: "abort", sent: false });
  const next = call();
  fake.reply(granted("a"));
  expect(await next).toBe("a");
  expect(fake.requests).toHaveLength(1);
});

it("ends a call at its deadline and keeps the token that comes later", async () => {
  const { call, fake } = managerFixture([]);
  const late = handled(call({ timeoutMs: 500 }));
  await pass(500);
  await expect(late).rejects.toMatchObject({ kind: "timeout", sent: false });
  fake.reply(granted("a"));
  await settle();
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
});

it("requests nothing for a call that has ended already", async () => {
  const { call, fake } = managerFixture([granted("a")]);
  await expect(call({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(Ended);
  await settle();
  expect(fake.requests).toHaveLength(0);
});

it("survives a request that fails when no call waits for it any more", async () => {
  const { call, fake } = managerFixture([]);
  const abort = new AbortController();
  const aborted = handled(call({ maxRetries: 0, signal: abort.signal }));
  await settle();
  abort.abort();
  await expect(aborted).rejects.toBeInstanceOf(Ended);
  fake.reply(notSent());
  await settle();
  fake.expect(granted("a"));
  expect(await call()).toBe("a");
});

// Renewal on expiry only

it("uses a token until 5 s before it expires, then refreshes it", async () => {
  const { call, fake } = managerFixture([granted("a"), granted("b")]);
  await call();
  await pass(294_999);
  expect(await call()).toBe("a");
  await pass(1);
  expect(await call()).toBe("b");
  expect(fake.forms[1]).toEqual({
    grant_type: "refresh_token",
    client_id: auth.clientId,
    refresh_token: "refresh-of-a",
    client_secret: auth.clientSecret,
  });
});

it("uses a short-lived token for nine tenths of its lifetime", async () => {
  const { call, fake } = managerFixture([granted("a", { expires_in: 10 }), granted("b")]);
  await call();
  await pass(8999);
  expect(await call()).toBe("a");
  await pass(1);
  expect(await call()).toBe("b");
  expect(fake.requests).toHaveLength(2);
});

it("uses a token until it expires with a leeway of 0", async () => {
  const { call } = managerFixture([granted("a"), granted("b")], { leewayMs: 0 });
  await call();
  await pass(299_999);
  expect(await call()).toBe("a");
  await pass(1);
  expect(await call()).toBe("b");
});

it("uses a token for half of its lifetime when the leeway is longer than that", async () => {
  const { call, fake } = managerFixture([granted("a"), granted("b")], { leewayMs: 3_600_000 });
  await call();
  await pass(149_999);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
});

it.each([-1, Number.NaN])("refuses a leeway of %d", (leewayMs) => {
  const build = () => new TokenManager({ auth, transport: new FakeTokenEndpoint(), timeoutMs: 1, leewayMs });
  expect(build).toThrow(ConfigError);
});

it("counts a token's lifetime from before the request, however long the response takes", async () => {
  const { call, fake } = managerFixture([], { timeoutMs: 300_000 });
  const first = call({ timeoutMs: 300_000 });
  await pass(200_000);
  fake.reply(granted("a"));
  expect(await first).toBe("a");
  await pass(94_999);
  expect(await call()).toBe("a");
  fake.expect(granted("b"));
  await pass(1);
  expect(await call()).toBe("b");
});

it("gives the calls that waited a fresh token even if it has expired, and renews it for the next call", async () => {
  const { call, fake } = managerFixture([granted("a", { expires_in: 0 }), granted("b")]);
  const calls = [call(), call()];
  expect(await Promise.all(calls)).toEqual(["a", "a"]);
  expect(fake.requests).toHaveLength(1);
  expect(await call()).toBe("b");
});

it("uses a token without expires_in until the service refuses it", async () => {
  const { call, renew, fake } = managerFixture([granted("a", { expires_in: undefined }), granted("b")]);
  await call();
  await pass(2_000_000_000);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
  expect(await renew("a")).toBe("b");
});

it("renews a token that expired while the machine slept", async () => {
  const { call } = managerFixture([granted("a"), granted("b")]);
  await call();
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(await call()).toBe("b");
});

it("does not use a token for longer because the wall clock was set back", async () => {
  const { call } = managerFixture([granted("a"), granted("b")]);
  await call();
  vi.setSystemTime(Date.now() - 3_600_000);
  await pass(295_000);
  expect(await call()).toBe("b");
});

it("keeps the old refresh token when the response has none", async () => {
  const bare = { refresh_token: undefined };
  const { call, fake } = managerFixture([granted("a"), granted("b", bare), granted("c", bare)]);
  for (const token of ["a", "b", "c"]) {
    expect(await call()).toBe(token);
    await pass(300_000);
  }
  expect(fake.forms.slice(1).map((form) => form.refresh_token)).toEqual(["refresh-of-a", "refresh-of-a"]);
});

it("uses a new refresh token as soon as a response has one", async () => {
  const { call, fake } = managerFixture([granted("a"), granted("b"), granted("c")]);
  for (let calls = 0; calls < 3; calls++) {
    await call();
    await pass(300_000);
  }
  expect(fake.forms.slice(1).map((form) => form.refresh_token)).toEqual(["refresh-of-a", "refresh-of-b"]);
});

it("logs in again when there is no refresh token", async () => {
  const { call, fake } = managerFixture([granted("a", { refresh_token: undefined }), granted("b")]);
  await call();
  await pass(300_000);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "password"]);
});

it("makes one request per lifetime and one login in 24 hours of tokens of 300 s", async () => {
  const { manager, fake } = managerFixture([]);
  let issued = 0;
  const deadline = new Deadline({});
  for (let second = 0; second < 86_400; second += 5) {
    const token = manager.current(deadline, 2);
    if (typeof token !== "string") {
      await settle();
      issued += 1;
      fake.reply(granted(`token-${issued}`));
      expect(await token).toBe(`token-${issued}`);
    } else {
      expect(token).toBe(`token-${issued}`);
    }
    vi.advanceTimersByTime(5000);
  }
  deadline.finish();
  expect(fake.requests).toHaveLength(Math.ceil(86_400 / 295));
  expect(fake.grants.filter((grant) => grant === "password")).toHaveLength(1);
});

// When a refresh fails

it.each(refusedStatuses)("drops a refresh token that is refused with %i, and logs in once", async (status) => {
  const { call, fake } = managerFixture([granted("a"), refusal(status), granted("b"), granted("c")]);
  await call();
  await pass(300_000);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
  await pass(300_000);
  expect(await call()).toBe("c");
  expect(fake.forms[3]).toMatchObject({ grant_type: "refresh_token", refresh_token: "refresh-of-b" });
});

it("uses the old token until it expires after a refresh that may have arrived, then logs in", async () => {
  const { call, fake } = managerFixture([granted("a"), maybeSent(), granted("b")]);
  await call();
  await pass(295_000);
  expect(await call()).toBe("a");
  await pass(4999);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(2);
  await pass(1);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
});

it("logs in once after a refresh that may have arrived when the old token has expired", async () => {
  const { call, fake } = managerFixture([granted("a"), timedOut(), granted("b")]);
  await call();
  await pass(300_000);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
});

it("repeats a refresh that was not sent once, with the same refresh token", async () => {
  const { call, fake } = managerFixture([granted("a"), notSent(), granted("b")]);
  await call();
  await pass(300_000);
  const second = call();
  await pass(200);
  expect(await second).toBe("b");
  expect(fake.forms.map((form) => form.refresh_token)).toEqual([undefined, "refresh-of-a", "refresh-of-a"]);
});

it.each([
  ["throttled", responded(429, {}, { "retry-after": "3" })],
  ["responded with 503", responded(503, {}, { "retry-after": "3" })],
])("uses a token that has not expired while the refresh is %s, without another request", async (_, reply) => {
  const { call, fake } = managerFixture([granted("a"), reply, granted("b")]);
  await call();
  await pass(295_000);
  expect(await call({ maxRetries: 0 })).toBe("a");
  await pass(2999);
  expect(await call({ maxRetries: 0 })).toBe("a");
  expect(fake.requests).toHaveLength(2);
  await pass(1);
  expect(await call()).toBe("b");
  expect(fake.forms[2]?.refresh_token).toBe("refresh-of-a");
});

it.each([
  ["is not sent", notSent()],
  ["meets an untrusted certificate", untrusted()],
  ["is redirected", responded(302)],
  ["returns no token", responded(200, "<html>")],
])("uses a token that has not expired when its refresh %s, and backs off before the next refresh", async (_, reply) => {
  const { call, fake } = managerFixture([granted("a"), reply, granted("b")]);
  await call();
  await pass(295_000);
  expect(await call({ maxRetries: 0 })).toBe("a");
  await pass(99);
  expect(await call({ maxRetries: 0 })).toBe("a");
  expect(fake.requests).toHaveLength(2);
  await pass(1);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "refresh_token"]);
});

it("does not use an expired token while the endpoint is throttled", async () => {
  const { call } = managerFixture([granted("a"), responded(429, {}, { "retry-after": "60" })]);
  await call();
  await pass(295_000);
  expect(await call()).toBe("a");
  await pass(5000);
  expect(await failure(call())).toMatchObject({ code: "token_throttled", status: 429 });
});

// When a login fails

it("repeats a login that was not sent, once", async () => {
  const { call, fake } = managerFixture([notSent(), granted("a")]);
  const first = call();
  await pass(200);
  expect(await first).toBe("a");
  expect(fake.grants).toEqual(["password", "password"]);
});

it("fails after the second login that was not sent, and tries again on the next call", async () => {
  const { call, fake } = managerFixture([notSent(), notSent(), granted("a")]);
  const first = handled(call());
  await pass(200);
  expect(await failure(first)).toMatchObject({ code: "token_endpoint_unreachable", cause: { code: "ECONNREFUSED" } });
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(3);
});

it("makes one request per renewal in an outage, and repeats requests again after it", async () => {
  const { call, fake } = managerFixture([notSent(), notSent(), notSent(), notSent()]);
  handled(call());
  await pass(200);
  await failure(call());
  await failure(call());
  expect(fake.requests).toHaveLength(4);
  fake.expect(granted("a", { expires_in: 0, refresh_token: undefined }), notSent(), granted("b"));
  expect(await call()).toBe("a");
  const next = call();
  await pass(200);
  expect(await next).toBe("b");
});

it("repeats a login that may have arrived once, a second later at the earliest", async () => {
  const { call, fake } = managerFixture([maybeSent(), maybeSent(), granted("a")]);
  const first = handled(call());
  await pass(999);
  expect(fake.requests).toHaveLength(1);
  await pass(501);
  expect(fake.requests).toHaveLength(2);
  expect(await failure(first)).toMatchObject({ code: "token_endpoint_unreachable", cause: { code: "ECONNRESET" } });
  expect(await call()).toBe("a");
});

it.each([
  ["was not sent", notSent()],
  ["may have arrived", maybeSent()],
])("does not repeat a request that %s for a call with maxRetries 0", async (_, reply) => {
  const { call, fake } = managerFixture([reply, granted("a")]);
  expect(await failure(call({ maxRetries: 0 }))).toMatchObject({ code: "token_endpoint_unreachable" });
  expect(fake.requests).toHaveLength(1);
  expect(await call()).toBe("a");
});

it("repeats a request for a call that joined later, even if the first call allows no retries", async () => {
  const { call, fake } = managerFixture([]);
  const withoutRetries = call({ maxRetries: 0 });
  const withRetries = call({ maxRetries: 1 });
  await settle();
  fake.expect(granted("a"));
  fake.reply(notSent());
  await pass(200);
  expect(await Promise.all([withoutRetries, withRetries])).toEqual(["a", "a"]);
});

it("ends a token request at its own timeout, and repeats it as one that may have arrived", async () => {
  const { call, fake } = managerFixture([], { timeoutMs: 4000 });
  const first = handled(call({ maxRetries: 1 }));
  await pass(3999);
  expect(fake.pending).toBe(1);
  await pass(1);
  expect(fake.pending).toBe(0);
  await pass(1000);
  expect(fake.pending).toBe(1);
  await pass(4000);
  expect(await failure(first)).toMatchObject({ code: "token_endpoint_unreachable", cause: { code: "DEADLINE" } });
  expect(fake.arrivalsMs[1]).toBe((fake.arrivalsMs[0] ?? 0) + 5000);
});

it("repeats nothing where the certificate is untrusted, and tries again on the next call", async () => {
  const { call, fake } = managerFixture([untrusted(), granted("a")]);
  expect(await failure(call())).toMatchObject({
    code: "token_endpoint_untrusted",
    cause: { code: "CERT_HAS_EXPIRED" },
  });
  expect(fake.requests).toHaveLength(1);
  expect(await call()).toBe("a");
});

it.each(refusedStatuses)("stops for 60 s after a login that was refused with %i", async (status) => {
  const { call, fake } = managerFixture([refusal(status), granted("a")]);
  const heldUntilMs = Date.now() + 60_000;
  const expected = { code: "login_refused", status, oauthError: "invalid_grant", heldUntilMs };
  expect(await failure(call())).toMatchObject(expected);
  await pass(59_999);
  expect(await failure(call({ timeoutMs: 120_000, maxRetries: 9 }))).toMatchObject(expected);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await call()).toBe("a");
});

it("says in the message of a refused login what the response said, what to check and until when it waits", async () => {
  const { call } = managerFixture([refusal(401)]);
  expect((await failure(call())).message).toBe(
    "no access token: https://id.example refused the login with 401; check authUrl, realm, clientId, clientSecret, " +
      "username and password (invalid_grant: Not now); no token is requested before 2030-01-01T00:01:00.000Z",
  );
});

it("waits as long after a refused login when the wall clock is set", async () => {
  const { call, fake } = managerFixture([refusal(401), granted("a")]);
  await failure(call());
  vi.setSystemTime(Date.now() + 3_600_000);
  await failure(call());
  vi.setSystemTime(Date.now() - 7_200_000);
  await pass(60_000);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(2);
});

it("stops for 60 s when the login after a refused refresh is refused too", async () => {
  const { call, fake } = managerFixture([granted("a"), refusal(400), refusal(401)]);
  await call();
  await pass(295_000);
  expect(await failure(call())).toMatchObject({ code: "login_refused", status: 401 });
  expect(await failure(call())).toMatchObject({ code: "login_refused", status: 401 });
  expect(fake.requests).toHaveLength(3);
});

it("waits for Retry-After on a 429, with one request for all calls", async () => {
  const { call, fake } = managerFixture([responded(429, {}, { "retry-after": "7" }), granted("a")]);
  const calls = [call(), call(), call()];
  await pass(3000);
  calls.push(call());
  await pass(3999);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await Promise.all(calls)).toEqual(["a", "a", "a", "a"]);
  expect(fake.arrivalsMs[1]).toBe((fake.arrivalsMs[0] ?? 0) + 7000);
  expect(fake.requests).toHaveLength(2);
});

it("reads a Retry-After that is a date", async () => {
  const { call, fake } = managerFixture([
    responded(429, {}, { "retry-after": "Tue, 01 Jan 2030 00:00:09 GMT" }),
    granted("a"),
  ]);
  const first = call();
  await pass(8999);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await first).toBe("a");
});

it("holds for 300 s at most, however long Retry-After is", async () => {
  const { call } = managerFixture([responded(429, {}, { "retry-after": "86400" }), granted("a")]);
  const heldUntilMs = Date.now() + 300_000;
  expect(await failure(call())).toMatchObject({ code: "token_throttled", heldUntilMs });
  await pass(300_000);
  expect(await call()).toBe("a");
});

it("fails at once, and says until when, where the hold outlasts the call's deadline", async () => {
  const { call, fake } = managerFixture([responded(429, {}, { "retry-after": "30" }), granted("a")]);
  const heldUntilMs = Date.now() + 30_000;
  expect(await failure(call({ timeoutMs: 30_000 }))).toMatchObject({ code: "token_throttled", heldUntilMs });
  expect(await failure(call({ timeoutMs: 29_000 }))).toMatchObject({ code: "token_throttled", heldUntilMs });
  const longer = call({ timeoutMs: 30_001 });
  await pass(30_000);
  expect(await longer).toBe("a");
  expect(fake.requests).toHaveLength(2);
});

it("does not wait for a hold with maxRetries 0", async () => {
  const { call, fake } = managerFixture([responded(429, {}, { "retry-after": "1" })]);
  expect(await failure(call({ maxRetries: 0 }))).toMatchObject({ code: "token_throttled" });
  expect(await failure(call({ maxRetries: 0 }))).toMatchObject({ code: "token_throttled" });
  expect(fake.requests).toHaveLength(1);
});

it("waits for at most maxRetries holds", async () => {
  const throttled = responded(429, {}, { "retry-after": "1" });
  const { call, fake } = managerFixture([throttled, throttled, throttled, throttled]);
  const first = handled(call({ maxRetries: 2 }));
  await pass(10_000);
  expect(await failure(first)).toMatchObject({ code: "token_throttled" });
  expect(fake.requests).toHaveLength(3);
});

it("ends the wait for a hold as soon as the call is aborted", async () => {
  const { call } = managerFixture([responded(429, {}, { "retry-after": "5" })]);
  const abort = new AbortController();
  const waiting = handled(call({ signal: abort.signal }));
  await pass(1000);
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ kind: "abort" });
  expect(vi.getTimerCount()).toBe(0);
});

it("backs off on a 429 without Retry-After", async () => {
  const { call, fake } = managerFixture([responded(429), responded(429), granted("a")]);
  const first = call();
  await pass(300);
  expect(await first).toBe("a");
  const [one = 0, two = 0, three = 0] = fake.arrivalsMs;
  expect([two - one, three - two]).toEqual([100, 200]);
});

it.each(failingStatuses)("backs off longer after each %i in a row, and starts over after a success", async (status) => {
  const bad = responded(status);
  const { call, fake } = managerFixture([
    bad,
    bad,
    bad,
    granted("a", { expires_in: 0, refresh_token: undefined }),
    bad,
    granted("b"),
  ]);
  const first = call({ maxRetries: 3 });
  await pass(700);
  expect(await first).toBe("a");
  const second = call();
  await pass(100);
  expect(await second).toBe("b");
  const gaps = fake.arrivalsMs.slice(1).map((at, index) => at - (fake.arrivalsMs[index] ?? 0));
  expect(gaps).toEqual([100, 200, 400, 0, 100]);
});

it("gives the status and the end of the hold when the endpoint fails for longer than the call waits", async () => {
  const { call } = managerFixture([responded(503), responded(503)]);
  const first = handled(call({ maxRetries: 1 }));
  await pass(100);
  expect(await failure(first)).toMatchObject({
    code: "token_endpoint_failing",
    status: 503,
    heldUntilMs: Date.now() + 200,
  });
});

it.each([
  ["a redirect", responded(307, {}, { location: "https://other.example" }), "token_endpoint_redirected"],
  ["an HTML page", responded(200, "<html>"), "token_response_unreadable"],
  ["a response that is cut short", { ...granted("x"), broken: "cut-short" }, "token_response_unreadable"],
] satisfies [string, Reply, string][])(
  "fails on %s for all calls that wait, and tries again on the next call",
  async (_, reply, code) => {
    const { call, fake } = managerFixture([reply, granted("a")]);
    const [one, two] = await Promise.all([failure(call()), failure(call())]);
    expect([one.code, two.code]).toEqual([code, code]);
    expect(one.heldUntilMs).toBeUndefined();
    expect(fake.requests).toHaveLength(1);
    expect(await call()).toBe("a");
  },
);

it("gives each call its own error, since flows add facts to theirs", async () => {
  const { call } = managerFixture([untrusted()]);
  const [one, two] = await Promise.all([failure(call()), failure(call())]);
  expect(one).not.toBe(two);
});

// After a 401

it("gets another token after a 401, by the refresh token first", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), granted("b")]);
  await call();
  expect(await renew("a")).toBe("b");
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token"]);
});

it("gives the current token without a request when the refused one was already replaced", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), granted("b")]);
  await call();
  await renew("a");
  expect(await renew("a")).toBe("b");
  expect(fake.requests).toHaveLength(2);
});

it("makes one request for many calls that were refused at once", async () => {
  const { call, renew, fake } = managerFixture([granted("a")]);
  await call();
  const renewals = Array.from({ length: 100 }, () => renew("a"));
  const newcomer = call();
  await settle();
  expect(fake.pending).toBe(1);
  fake.reply(granted("b"));
  expect(new Set(await Promise.all([...renewals, newcomer]))).toEqual(new Set(["b"]));
  expect(fake.requests).toHaveLength(2);
});

it("joins a renewal that is under way when the old token is refused meanwhile", async () => {
  const { call, renew, fake } = managerFixture([granted("a")]);
  await call();
  await pass(295_000);
  const expiring = call();
  await settle();
  const refused = renew("a");
  fake.reply(granted("b"));
  expect(await Promise.all([expiring, refused])).toEqual(["b", "b"]);
  expect(fake.requests).toHaveLength(2);
});

it.each([
  ["throttled", responded(429, {}, { "retry-after": "60" }), "token_throttled"],
  ["redirected", responded(302), "token_endpoint_redirected"],
])("never uses a refused token again, even when its renewal is %s", async (_, reply, code) => {
  const { call, renew } = managerFixture([granted("a"), reply, reply]);
  await call();
  expect(await failure(renew("a"))).toMatchObject({ code });
  expect(await failure(call())).toMatchObject({ code });
});

it("logs in after a 401 when the refresh may have arrived, even if the refused token has not expired", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), maybeSent(), granted("b")]);
  await call();
  expect(await renew("a")).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
});

it("logs in when the old token is refused while its refresh, which may have arrived, is in flight", async () => {
  const { call, renew, fake } = managerFixture([granted("a")]);
  await call();
  await pass(295_000);
  const expiring = call();
  await settle();
  const refused = renew("a");
  fake.expect(granted("b"));
  fake.reply(maybeSent());
  expect(await Promise.all([expiring, refused])).toEqual(["b", "b"]);
  expect(fake.requests).toHaveLength(3);
});

it("logs in when the refresh returns the refused token again", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), granted("a"), granted("b")]);
  await call();
  expect(await renew("a")).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
});

it("keeps the newest refresh token when a refresh returned the refused token and the login failed", async () => {
  const again = granted("a", { refresh_token: "newer" });
  const { call, renew, fake } = managerFixture([granted("a"), again, untrusted(), granted("b")]);
  await call();
  await failure(renew("a"));
  expect(await call()).toBe("b");
  expect(fake.forms[3]).toMatchObject({ grant_type: "refresh_token", refresh_token: "newer" });
});

it("has no refresh token after a login that returned none", async () => {
  const login = granted("b", { refresh_token: undefined });
  const { call, renew, fake } = managerFixture([granted("a"), granted("a"), login, granted("c")]);
  await call();
  await renew("a");
  expect(await renew("b")).toBe("c");
  expect(fake.grants).toEqual(["password", "refresh_token", "password", "password"]);
});

it("rejects when even a login returns the refused token again", async () => {
  const { call, renew } = managerFixture([granted("a"), granted("a"), granted("a")]);
  await call();
  expect(await failure(renew("a"))).toMatchObject({ code: "token_rejected" });
});

it("stops after a 401 whose login is refused", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), refusal(400), refusal(401)]);
  await call();
  expect(await failure(renew("a"))).toMatchObject({ code: "login_refused" });
  expect(await failure(renew("a"))).toMatchObject({ code: "login_refused" });
  expect(await failure(call())).toMatchObject({ code: "login_refused" });
  expect(fake.requests).toHaveLength(3);
});

// Events, timers and secrets

it("reports each token, without the token itself", async () => {
  const { call, events } = managerFixture([granted("a"), granted("b", { expires_in: undefined })]);
  await call();
  await pass(300_000);
  await call();
  expect(events).toEqual([{ grant: "password", expiresInMs: 300_000 }, { grant: "refresh_token" }]);
});

it("gets a token although a listener throws", async () => {
  const onToken = () => {
    throw new Error("mistake");
  };
  const { call } = managerFixture([granted("a")], { onToken });
  expect(await call()).toBe("a");
});

it.each<[string, Reply[]]>([
  ["a login", [granted("a")]],
  ["a failed login", [untrusted()]],
  ["a refused login", [refusal(401)]],
  ["a throttled login", [responded(429, {}, { "retry-after": "300" })]],
])("leaves no timer behind after %s", async (_, script) => {
  const { call } = managerFixture(script);
  await call().catch(() => {});
  expect(vi.getTimerCount()).toBe(0);
});

it("keeps no process alive with the pause before a repeated login", async () => {
  const unrefs: boolean[] = [];
  const faked = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(((...args: Parameters<typeof faked>) => {
    const timer = faked(...args);
    const unref = timer.unref.bind(timer);
    timer.unref = () => {
      unrefs.push(true);
      return unref();
    };
    return timer;
  }) as typeof faked);
  try {
    const { call } = managerFixture([maybeSent(), granted("a")]);
    const first = call();
    await pass(2000);
    expect(await first).toBe("a");
    expect(unrefs).toEqual([true]);
  } finally {
    spy.mockRestore();
  }
});

it("repeats a login where timers are numbers, as in browsers", async () => {
  const faked = globalThis.setTimeout;
  const numbered = (...args: Parameters<typeof faked>) => Number(faked(...args));
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(numbered as unknown as typeof faked);
  try {
    const { call } = managerFixture([maybeSent(), granted("a")]);
    const first = call();
    await pass(2000);
    expect(await first).toBe("a");
  } finally {
    spy.mockRestore();
  }
});

it("shows no secret of the manager when it is printed", async () => {
  const { call, manager } = managerFixture([granted("canary-token")]);
  await call();
  const shown = inspect(manager, { showHidden: true, depth: 9 }) + JSON.stringify(manager) + String(manager);
  for (const secret of [...Object.values(secrets), "canary-token"]) expect(shown).not.toContain(secret);
});

it("redacts a dropped refresh token in the response to the login that follows", async () => {
  const used = `used-${crypto.randomUUID()}`;
  const quoting = responded(400, { error: "invalid_grant", error_description: `Session of ${used} not active` });
  const { call } = managerFixture([granted("canary-token", { refresh_token: used }), refusal(400), quoting]);
  await call();
  await pass(300_000);
  const error = await failure(call());
  expect(error.message).toContain("Session of [redacted] not active");
});

it.each<[string, Reply[]]>([
  ["a certificate", [untrusted()]],
  ["no connection", [notSent(), notSent()]],
  ["a lost response", [maybeSent(), maybeSent()]],
  ["a redirect", [responded(302, "{}", { location: `https://x/${secrets.password}` })]],
  ["an unreadable response", [responded(200, { access_token: { secrets }, note: secrets.password })]],
  ["a token without type", [granted("canary-token", { token_type: undefined })]],
  ...[400, 401, 403, 404, 408, 409, 422, 429, 500, 503].map((status): [string, Reply[]] => [
    `a ${status} that repeats all it was sent`,
    Array.from({ length: 3 }, () =>
      responded(
        status,
        {
          error: secrets.password,
          error_description: `${Object.values(secrets).join(" ")} refresh-of-canary-token canary-token`,
          error_uri: secrets.password,
        },
        { "www-authenticate": `Basic realm="${secrets.password}"` },
      ),
    ),
  ]),
])("shows no secret in the error of %s, cold or with a token refused", async (_, script) => {
  const cold = managerFixture(script);
  const warm = managerFixture([granted("canary-token"), ...script, ...script]);
  await warm.call();
  const failing = [handled(cold.call({ maxRetries: 1 })), handled(warm.renew("canary-token", { maxRetries: 1 }))];
  await pass(30_000);
  const [ofCold, ofWarm] = await Promise.all(failing.map(failure));
  const hidden = Object.values(secrets);
  for (const [error, values] of [
    [ofCold, hidden],
    [ofWarm, [...hidden, "canary-token"]],
  ] as const) {
    if (error === undefined) throw new Error("no error");
    const shown = [
      error.message,
      error.stack,
      inspect(error, { showHidden: true, depth: 9 }),
      inspect(error.cause, { showHidden: true, depth: 9 }),
      JSON.stringify(error),
      String(error),
    ].join("\n");
    for (const secret of values) expect(shown).not.toContain(secret);
  }
});
