import { inspect } from "node:util";
import { expect, it, vi } from "vitest";
import { TokenManager } from "../../src/auth/token-manager.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { openRefusals } from "../http/statuses.js";
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
import {
  auth,
  failure,
  handled,
  managerFixture,
  pass,
  secrets,
  session,
  settle,
  withFakeTimeAndNothingUnhandled,
} from "./manager-fixture.js";

/** A call that finds a token about to expire uses it, and starts its renewal. */
async function callAfterRenewal(call: () => Promise<string>): Promise<string> {
  await call();
  await settle();
  return call();
}

/** How long the endpoint was left alone before each request. */
function gapsOf({ arrivalsMs }: FakeTokenEndpoint): number[] {
  return arrivalsMs.slice(1).map((at, index) => at - (arrivalsMs[index] ?? 0));
}

const refusedStatuses = [400, 401, 403, 413, 415, 422];
const failingStatuses = [...openRefusals, 429, 500, 502, 503, 504];

withFakeTimeAndNothingUnhandled();

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

it("survives a request that fails when no call waits for it any more", async () => {
  const { call, fake } = managerFixture([]);
  const abort = new AbortController();
  const aborted = handled(call({ signal: abort.signal }));
  await settle();
  abort.abort();
  await expect(aborted).rejects.toBeInstanceOf(Ended);
  fake.reply(notSent());
  await settle();
  await pass(60_000);
  expect(fake.requests).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
  fake.expect(granted("a"));
  expect(await call()).toBe("a");
});

// Renewal on expiry only

it("uses a token until 5 s before it expires, then refreshes it while it is still used", async () => {
  const { call, fake } = managerFixture([granted("a")]);
  await call();
  await pass(294_999);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await call()).toBe("a");
  await settle();
  expect(fake.forms[1]).toEqual({
    grant_type: "refresh_token",
    client_id: auth.clientId,
    refresh_token: "refresh-of-a",
    client_secret: auth.clientSecret,
  });
  await pass(3999);
  expect(await call()).toBe("a");
  fake.reply(granted("b"));
  await settle();
  expect(await call()).toBe("b");
  expect(fake.requests).toHaveLength(2);
});

it("gives a token that is being renewed as a plain string, up to its last second", async () => {
  const { call, manager, fake } = managerFixture([granted("a")]);
  await call();
  await pass(298_999);
  expect(manager.current(new Deadline({}), 2)).toBe("a");
  await pass(1);
  const waiting = Promise.all([call(), call({ maxRetries: 0 })]);
  await settle();
  expect(fake.pending).toBe(1);
  fake.reply(granted("b"));
  expect(await waiting).toEqual(["b", "b"]);
  expect(fake.requests).toHaveLength(2);
});

it("counts a token's lifetime from before the request, however long the response takes", async () => {
  const { call, fake } = managerFixture([], { auth: { ...auth, timeoutMs: 300_000 } });
  const first = call({ timeoutMs: 300_000 });
  await pass(200_000);
  fake.reply(granted("a"));
  expect(await first).toBe("a");
  await pass(94_999);
  expect(await call()).toBe("a");
  fake.expect(granted("b"));
  await pass(1);
  expect(fake.requests).toHaveLength(1);
  expect(await callAfterRenewal(call)).toBe("b");
});

it("uses a token without expires_in until the service refuses it", async () => {
  const { call, renew, fake } = managerFixture([granted("a", { expires_in: undefined }), granted("b")]);
  await call();
  await pass(2_000_000_000);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
  expect(await renew("a")).toBe("b");
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

it("logs in again when there is no refresh token", async () => {
  const { call, fake } = managerFixture([granted("a", { refresh_token: undefined }), granted("b")]);
  await call();
  await pass(300_000);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "password"]);
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

it("never sends a refresh token again that may have been used up, however long the outage", async () => {
  const { call, fake } = managerFixture([
    granted("a"),
    maybeSent(),
    maybeSent(),
    responded(503),
    notSent(),
    granted("b"),
  ]);
  await call();
  await pass(300_000);
  const waiting = call();
  await pass(3000);
  expect(await waiting).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token", "password", "password", "password", "password"]);
});

it("repeats a refresh that was not sent, with the same refresh token", async () => {
  const { call, fake } = managerFixture([granted("a"), notSent(), responded(503), notSent(), granted("b")]);
  await call();
  await pass(300_000);
  const second = call();
  await pass(1000);
  expect(await second).toBe("b");
  expect(fake.forms.map((form) => form.refresh_token)).toEqual([undefined, ...Array(4).fill("refresh-of-a")]);
});

it("uses a token that has not expired while the refresh is throttled, without another request", async () => {
  const throttled = responded(429, {}, { "retry-after": "3" });
  const { call, fake } = managerFixture([granted("a"), throttled, granted("b")]);
  await call();
  await pass(295_000);
  expect(await call({ maxRetries: 0 })).toBe("a");
  await pass(2999);
  expect(await call({ maxRetries: 0 })).toBe("a");
  expect(fake.requests).toHaveLength(2);
  await pass(1);
  expect(await callAfterRenewal(call)).toBe("b");
  expect(fake.forms[2]?.refresh_token).toBe("refresh-of-a");
});

it.each([
  ["is not sent", notSent(), 100],
  ["meets an untrusted certificate", untrusted(), 3000],
  ["is redirected", responded(302), 3000],
])(
  "uses a token that has not expired when its refresh %s, and backs off before the next request",
  async (_, reply, ms) => {
    const { call, fake } = managerFixture([granted("a"), reply, granted("b")]);
    await call();
    await pass(295_000);
    expect(await call({ maxRetries: 0 })).toBe("a");
    await pass(ms - 1);
    expect(await call({ maxRetries: 0 })).toBe("a");
    await settle();
    expect(fake.requests).toHaveLength(2);
    await pass(1);
    expect(await callAfterRenewal(call)).toBe("b");
  },
);

// When a login fails

const away: [string, () => Reply][] = [
  ["was not sent", notSent],
  ["may have arrived", maybeSent],
  ["ended at its own timeout", timedOut],
  ["got a 503", () => responded(503)],
  ["got a 408 of another server", () => responded(408, "<html>")],
  ["got a web page", () => responded(200, "<html>")],
  ["got a response that broke off", () => ({ ...granted("x"), broken: "cut-short" })],
];

it.each(away)("repeats a login that %s, one try at a time, until a call's deadline", async (_, reply) => {
  const { call, fake } = managerFixture(Array.from({ length: 250 }, reply));
  const calls = Array.from({ length: 20 }, () => handled(call({ timeoutMs: 20_000 })));
  const brief = handled(call({ timeoutMs: 2000, maxRetries: 1 }));
  const startMs = performance.now();
  await pass(2000);
  expect((await failure(brief)).code).toMatch(/^token_endpoint_(failing|unreachable)$/);
  await pass(18_000);
  expect(await Promise.all(calls.map(failure))).toHaveLength(20);
  expect(performance.now() - startMs).toBe(20_000);
  expect(fake.mostInFlight).toBe(1);
  expect(gapsOf(fake).slice(0, 7)).toEqual([100, 200, 400, 800, 1500, 1500, 1500]);
  expect(vi.getTimerCount()).toBe(0);
});

it.each(away)("is back within 3 s of the server, after a long outage in which a login %s", async (_, reply) => {
  const { call, fake } = managerFixture([], { random: () => 0.999 });
  const waiting = Array.from({ length: 10 }, () => call({ timeoutMs: 60_000 }));
  for (let turn = 0; turn < 12; turn++) {
    await pass(3000);
    if (fake.pending > 0) fake.reply(reply());
    await settle();
  }
  fake.expect(granted("a"));
  await pass(3000);
  expect(await Promise.all(waiting)).toEqual(Array(10).fill("a"));
});

it.each(away)("does not wait with maxRetries 0 where a login %s", async (_, reply) => {
  const { call, fake } = managerFixture([reply(), granted("a")]);
  const error = await failure(call({ maxRetries: 0 }));
  expect(error.heldUntilMs).toBe(Date.now() + 100);
  expect(await failure(call({ maxRetries: 0 }))).toMatchObject({ code: error.code });
  expect(fake.requests).toHaveLength(1);
  await pass(100);
  expect(await call({ maxRetries: 0 })).toBe("a");
});

it("ends a token request at 10 s whatever the deadlines of calls, and leaves one login at a time behind", async () => {
  const { call, fake } = managerFixture([]);
  const failures: Promise<unknown>[] = [];
  for (let at = 0; at < 45_000; at += 1000) {
    failures.push(handled(call({ timeoutMs: 2000 })));
    await pass(1000);
  }
  expect(fake.timeoutsMs).toEqual(Array(5).fill(10_000));
  expect(fake.mostInFlight).toBe(1);
  fake.reply(granted("a"));
  expect(await call()).toBe("a");
  await Promise.allSettled(failures);
});

it.each(refusedStatuses)("stops for 60 s after a login that was refused with %i", async (status) => {
  const { call, fake } = managerFixture([refusal(status), granted("a")]);
  const heldUntilMs = Date.now() + 60_000;
  const expected = { code: "login_refused", status, serviceCode: "invalid_grant", heldUntilMs };
  expect(await failure(call())).toMatchObject(expected);
  await pass(59_999);
  expect(await failure(call({ timeoutMs: 120_000, maxRetries: 9 }))).toMatchObject(expected);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await call()).toBe("a");
});

it("says in the message of a refused login what to check and until when it waits, and nothing of the response's text", async () => {
  const { call } = managerFixture([refusal(401), responded(404, { error: "Realm does not exist" })]);
  const url = "https://id.example/auth/realms/payments/protocol/openid-connect/token";
  const wrong = await failure(call());
  expect(wrong.message).toBe(
    `Login failed: ${url} rejected the credentials (401 invalid_grant). Check username and password; a locked account ` +
      "looks the same. Next attempt allowed at 00:01:00 UTC.",
  );
  expect(wrong).toMatchObject({ serviceCode: "invalid_grant", serviceMessage: "Not now" });
  expect(JSON.stringify(wrong)).not.toContain("Not now");
  await pass(60_000);
  const noRealm = await failure(call());
  expect(noRealm).toMatchObject({ code: "token_endpoint_not_found", serviceCode: "Realm does not exist" });
  expect(noRealm.message).toBe(
    `No access token: ${url} responded with 404. Check authUrl and realm. Next attempt allowed at 00:01:03 UTC.`,
  );
});

/** What says nothing of the credentials. */
const elsewhere: [string, Reply, string][] = [
  ["404", responded(404, { error: "Realm does not exist" }), "token_endpoint_not_found"],
  ["404 of another server", responded(404, "<html>"), "token_endpoint_not_found"],
  ["405", responded(405, "<html>"), "token_endpoint_not_found"],
  [
    "Keycloak's 403",
    responded(403, { error: "access_denied", error_description: "Realm not enabled" }),
    "token_endpoint_blocked",
  ],
  ["a firewall's 403", responded(403, "<html>"), "token_endpoint_blocked"],
  ["a firewall's 400", responded(400, "Bad Request"), "token_endpoint_blocked"],
  ["413", responded(413, ""), "token_endpoint_blocked"],
];

it.each(elsewhere)(
  "fails all waiting calls at once on %s of a login, and tries again after 3 s",
  async (_, reply, code) => {
    const { call, fake } = managerFixture([reply, reply, granted("a")]);
    for (let outage = 1; outage <= 2; outage += 1) {
      const heldUntilMs = Date.now() + 3000;
      const errors = await Promise.all([failure(call()), failure(call())]);
      for (const error of errors) expect(error).toMatchObject({ code, heldUntilMs });
      await pass(2999);
      expect(await failure(call())).toMatchObject({ code, heldUntilMs });
      expect(fake.requests).toHaveLength(outage);
      await pass(1);
    }
    expect(await call()).toBe("a");
  },
);

it.each(elsewhere)(
  "keeps a session without a password through %s, and its token while that lives",
  async (_, reply, code) => {
    const { call, fake } = managerFixture([granted("a"), reply, reply, granted("b")], { auth: session });
    await call();
    await pass(295_000);
    expect(await callAfterRenewal(call)).toBe("a");
    await pass(5000);
    expect(await failure(call())).toMatchObject({ code });
    await pass(3000);
    expect(await call()).toBe("b");
    expect(fake.forms.slice(1).map((form) => form.refresh_token)).toEqual(Array(3).fill("refresh-of-a"));
  },
);

it("lets a login take as long as auth.timeoutMs, and no longer", async () => {
  const { call, fake } = managerFixture([], { auth: { ...auth, timeoutMs: 25_000 } });
  const waiting = handled(call({ timeoutMs: 60_000 }));
  await pass(24_999);
  expect(fake.pending).toBe(1);
  fake.reply(granted("a", { expires_in: 60 }));
  expect(await waiting).toBe("a");
  await pass(60_000);
  const late = handled(call({ timeoutMs: 60_000, maxRetries: 0 }));
  await pass(25_000);
  expect(await failure(late)).toMatchObject({ code: "token_endpoint_unreachable", cause: { code: "DEADLINE" } });
});

it("holds a login that is refused again and again for 1 min, then 2, 4, … 60, and starts over after a success", async () => {
  const { call, fake } = managerFixture([]);
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    fake.expect(refusal(401));
    expect(await failure(call())).toMatchObject({ heldUntilMs: Date.now() + minutes * 60_000 });
    const requests = fake.requests.length;
    await pass(minutes * 60_000 - 1);
    await failure(call());
    expect(fake.requests).toHaveLength(requests);
    await pass(1);
  }
  fake.expect(granted("a", { expires_in: 0, refresh_token: undefined }), refusal(401));
  expect(await call()).toBe("a");
  expect(await failure(call())).toMatchObject({ heldUntilMs: Date.now() + 60_000 });
});

it("ends the hold of a refused login as soon as a function returns another password", async () => {
  let password = "wrong";
  const { call, fake } = managerFixture([refusal(401), granted("a")], { auth: { ...auth, password: () => password } });
  await failure(call());
  await failure(call());
  password = "right";
  const calls = await Promise.all([call(), call(), call()]);
  expect(calls).toEqual(["a", "a", "a"]);
  expect(fake.forms.map((form) => form.password)).toEqual(["wrong", "right"]);
});

it("does not log in with each call where a function never returns the same password twice", async () => {
  let count = 0;
  const { call, fake } = managerFixture(
    Array.from({ length: 20 }, () => refusal(401)),
    { auth: { ...auth, password: () => `password-${++count}` } },
  );
  for (let calls = 0; calls < 100; calls++) await failure(call());
  expect(fake.requests).toHaveLength(4);
  await pass(480_000);
  for (let calls = 0; calls < 100; calls++) await failure(call());
  expect(fake.requests).toHaveLength(5);
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

it("waits no longer than 3 s for a 503, whatever its Retry-After says", async () => {
  const { call, fake } = managerFixture([responded(503, "", { "retry-after": "3600" }), granted("a")]);
  const waiting = call();
  await pass(2999);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await waiting).toBe("a");
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

it.each(failingStatuses)("backs off longer after each %i in a row, and starts over after a success", async (status) => {
  const bad = responded(status);
  const briefly = granted("a", { expires_in: 0, refresh_token: undefined });
  const { call, fake } = managerFixture([bad, bad, bad, briefly, bad, granted("b")], { random: () => 1 });
  const first = call({ maxRetries: 1 });
  await pass(1400);
  expect(await first).toBe("a");
  const second = call();
  await pass(200);
  expect(await second).toBe("b");
  expect(gapsOf(fake)).toEqual([200, 400, 800, 0, 200]);
});

it.each<[string, Reply, string]>([
  ["a certificate that is not trusted", untrusted(), "token_endpoint_untrusted"],
  ["a redirect", responded(307, {}, { location: "https://other.example" }), "token_endpoint_redirected"],
  ["a response without a token", responded(200, {}), "token_response_unreadable"],
  ["a response that is too large", { ...granted("x"), broken: "too-large" }, "token_response_unreadable"],
])("fails on %s for all calls that wait, and tries again after 3 s", async (_, reply, code) => {
  const { call, fake } = managerFixture([reply, granted("a")]);
  const heldUntilMs = Date.now() + 3000;
  const [one, two] = await Promise.all([failure(call()), failure(call())]);
  for (const error of [one, two]) expect(error).toMatchObject({ code, heldUntilMs });
  // Flows add facts to theirs.
  expect(one).not.toBe(two);
  await pass(2999);
  await failure(call());
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  expect(await call()).toBe("a");
});

// After a 401

it("gets another token after a 401, by the refresh token first, and once for a token that was replaced already", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), granted("b")]);
  await call();
  expect([await renew("a"), await renew("a"), await call()]).toEqual(["b", "b", "b"]);
  expect(fake.grants).toEqual(["password", "refresh_token"]);
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
  await pass(299_000);
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

/** Tokens of a day, so that none expires while its renewal is held. */
const manyTokens = () => Array.from({ length: 20 }, (_, index) => granted(`token-${index}`, { expires_in: 86_400 }));

it("holds renewals for 10 s when a new token is refused too, then 20, 40, … up to 5 min", async () => {
  const { call, renew, fake } = managerFixture(manyTokens());
  let token = await renew(await call());
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    const requests = fake.requests.length;
    const heldUntilMs = Date.now() + seconds * 1000;
    const errors = await Promise.all(Array.from({ length: 100 }, () => failure(renew(token))));
    for (const error of errors) expect(error).toMatchObject({ code: "token_rejected", status: 401, heldUntilMs });
    expect(errors[0]?.message).toMatch(/audience.*clocks.*Next attempt allowed at/);
    // It stays in use: where the service is mended, calls succeed at once.
    expect(await call()).toBe(token);
    await pass(seconds * 1000 - 1);
    await failure(renew(token));
    expect(fake.requests).toHaveLength(requests);
    await pass(1);
    token = await renew(token);
    expect(fake.requests).toHaveLength(requests + 1);
  }
});

it("says why it requests no token, and for how long", async () => {
  const { call, manager } = managerFixture([refusal(401), granted("a")]);
  expect(manager.hold()).toBeUndefined();
  await failure(call());
  expect(manager.hold()).toEqual({ reason: "refused", needsLogin: true, endsInMs: 60_000 });
  await pass(60_000);
  expect(manager.hold()).toBeUndefined();
  await call();
  expect(manager.hold()).toBeUndefined();
});

it.each<[string, (manager: TokenManager, token: string) => unknown]>([
  ["one is accepted", (manager, token) => manager.accepted(token)],
  ["it is over", () => pass(10_000)],
])("says so while tokens that the service refuses are not replaced, until %s", async (_, end) => {
  const { call, renew, manager } = managerFixture(manyTokens());
  const token = await renew(await call());
  expect(manager.hold()).toBeUndefined();
  await failure(renew(token));
  expect(manager.hold()).toEqual({ reason: "token-rejected", needsLogin: false, endsInMs: 10_000 });
  await end(manager, token);
  expect(manager.hold()).toBeUndefined();
});

it("renews at once after each 401 while new tokens are accepted between them, but not in a storm", async () => {
  const { call, renew, manager, fake } = managerFixture(manyTokens());
  let token = await call();
  for (let revocation = 0; revocation < 6; revocation++) {
    manager.accepted(token);
    token = await renew(token);
  }
  manager.accepted(token);
  expect(await failure(renew(token))).toMatchObject({ code: "token_rejected" });
  expect(fake.requests).toHaveLength(7);
  await pass(10_001);
  expect(await renew(token)).toBe("token-7");
});

it.each([
  ["as long as the last hold and 10 s more", 20_000, 1],
  ["longer than that", 20_001, 6],
])(
  "begins a new count of refused tokens where one was good for more than that: it was good for %s",
  async (_, ms, renewed) => {
    const { call, renew, manager, fake } = managerFixture(manyTokens());
    let token = await call();
    const renewAll = async (times: number) => {
      for (let time = 0; time < times; time++) {
        manager.accepted(token);
        token = await renew(token);
      }
    };
    await renewAll(6);
    await pass(ms);
    const { length } = fake.requests;
    await failure(renewAll(20));
    expect(fake.requests).toHaveLength(length + renewed);
  },
);

it("replaces a token that a call was refused with, once, whatever late responses say of it", async () => {
  const { call, manager, fake } = managerFixture([granted("a"), granted("b")]);
  const used = await call();
  manager.refused(used);
  manager.refused(used);
  manager.accepted(used);
  expect(await call()).toBe("b");
  expect(fake.requests).toHaveLength(2);
});

// Sessions

it("refreshes until the refresh token expires by refresh_expires_in, and logs in afterwards", async () => {
  const { call, fake } = managerFixture([
    granted("a", { refresh_expires_in: 1800 }),
    granted("b", { refresh_expires_in: 600 }),
    granted("c"),
  ]);
  await call();
  await pass(1_799_999);
  expect(await call()).toBe("b");
  await pass(600_000);
  expect(await call()).toBe("c");
  expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
});

it("takes a refresh_expires_in of 0 as no end, as Keycloak means it", async () => {
  const { call, fake } = managerFixture([granted("a", { refresh_expires_in: 0 }), granted("b")]);
  await call();
  await pass(2_000_000_000);
  expect(await call()).toBe("b");
  expect(fake.grants).toEqual(["password", "refresh_token"]);
});

it("continues a session by its refresh token, and never logs in", async () => {
  const { call, fake } = managerFixture([granted("a"), granted("b"), refusal(400)], { auth: session });
  expect(await call()).toBe("a");
  await pass(300_000);
  expect(await call()).toBe("b");
  await pass(300_000);
  const error = await failure(call());
  expect(error).toMatchObject({ code: "login_refused", status: 400, serviceCode: "invalid_grant" });
  expect(error.message).toContain("refreshToken");
  expect(error.message).not.toContain("before");
  for (let calls = 0; calls < 20; calls++) {
    expect(await failure(call())).toMatchObject({ code: "login_refused" });
  }
  expect(fake.forms.map((form) => [form.grant_type, form.refresh_token])).toEqual([
    ["refresh_token", "given"],
    ["refresh_token", "refresh-of-a"],
    ["refresh_token", "refresh-of-b"],
  ]);
});

it("repeats a refresh that may have arrived where there is nothing to log in with", async () => {
  const { call, fake } = managerFixture([maybeSent(), granted("a")], { auth: session });
  const first = call();
  await pass(100);
  expect(await first).toBe("a");
  expect(fake.forms.map((form) => form.refresh_token)).toEqual(["given", "given"]);
});

it("does not ask for ever where a session brings the refused token again", async () => {
  const { call, renew, fake } = managerFixture([granted("a"), ...Array.from({ length: 60 }, () => granted("a"))], {
    auth: session,
  });
  for (let calls = 0; calls < 50; calls++) {
    const used = await call();
    expect(await failure(renew(used))).toMatchObject({ code: "token_rejected" });
  }
  expect(fake.requests.length).toBeLessThanOrEqual(3);
});

it("holds renewals longer and longer where one operation accepts every token and another none", async () => {
  const { call, renew, manager, fake } = managerFixture(Array.from({ length: 500 }, (_, n) => granted(`t-${n}`)));
  for (let second = 0; second < 3600; second++) {
    const token = await call();
    manager.accepted(token);
    await renew(token).catch(() => {});
    await settle();
    vi.advanceTimersByTime(1000);
  }
  expect(fake.requests.length).toBeLessThan(60);
});

// Secrets from functions

/** In the form of an error's code. */
const shout = (text: string) => text.toUpperCase().replaceAll("-", "_");

it("calls the functions of secrets for each login, and for a refresh only that of the client's secret", async () => {
  const asked: string[] = [];
  const ask = (name: string) => () => {
    asked.push(name);
    return name;
  };
  const { call, fake } = managerFixture([granted("a"), granted("b")], {
    auth: { ...auth, password: ask("of-the-vault"), clientSecret: ask("of-the-client") },
  });
  await call();
  expect(fake.forms[0]).toMatchObject({ password: "of-the-vault", client_secret: "of-the-client" });
  await pass(300_000);
  await call();
  expect(fake.forms[1]).toMatchObject({ client_secret: "of-the-client" });
  expect(asked.sort()).toEqual(["of-the-client", "of-the-client", "of-the-client", "of-the-vault"]);
});

it.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw new Error(`no ${secrets.password} today`);
    },
  ],
  ["rejects", () => Promise.reject(new Error(`no ${secrets.password} today`))],
  ["throws no error", () => Promise.reject(secrets.password)],
  [
    "throws a secret as the code",
    () => Promise.reject(Object.assign(new Error("no"), { code: shout(secrets.password) })),
  ],
  ["returns nothing", () => undefined],
  ["returns an empty string", () => ""],
  ["returns half of a surrogate pair", () => "\ud800"],
  ["returns a line break, which is of the file", () => `${secrets.password}\n`],
  ["hangs", () => new Promise(() => {})],
])("fails safely where the function for the password %s", async (_, password) => {
  const { call, fake } = managerFixture([granted("a")], {
    auth: { ...auth, password: password as () => string },
  });
  const failing = handled(call());
  await pass(10_000);
  const error = await failure(failing);
  expect(error.code).toBe("token_source_failed");
  const shown = inspect(error, { showHidden: true, depth: 9 }) + inspect(error.cause, { showHidden: true, depth: 9 });
  for (const secret of [secrets.password, shout(secrets.password)]) {
    expect(shown + JSON.stringify(error)).not.toContain(secret);
  }
  expect(fake.requests).toHaveLength(0);
});

// Closing

it("ends its session on close where that was asked for, with the newest refresh token", async () => {
  const { call, manager, fake } = managerFixture([granted("a"), granted("b"), responded(204, "")], {
    auth: { ...auth, endSessionOnClose: true },
  });
  await call();
  await pass(300_000);
  await call();
  await manager.close();
  expect(fake.requests[2]?.path).toBe("/auth/realms/payments/protocol/openid-connect/logout");
  expect(fake.forms[2]).toEqual({
    client_id: auth.clientId,
    refresh_token: "refresh-of-b",
    client_secret: auth.clientSecret,
  });
  expect(vi.getTimerCount()).toBe(0);
});

it("ends the session of a login that is in flight when it is closed", async () => {
  const { call, manager, fake } = managerFixture([], { auth: { ...auth, endSessionOnClose: true } });
  handled(call({ timeoutMs: 100 }));
  await pass(100);
  const closing = manager.close();
  fake.expect(responded(204, ""));
  fake.reply(granted("a"));
  await closing;
  expect(fake.forms[1]).toMatchObject({ refresh_token: "refresh-of-a" });
});

it.each([
  ["is refused", [refusal(400)]],
  ["is not sent", [notSent()]],
  ["hangs", []],
] satisfies [string, Reply[]][])("closes within 2 s where its logout %s", async (_, replies) => {
  const { call, manager } = managerFixture([granted("a"), ...replies], { auth: { ...auth, endSessionOnClose: true } });
  await call();
  const closing = manager.close();
  await pass(2000);
  await closing;
  expect(vi.getTimerCount()).toBe(0);
});

it("sends nothing on close without a session, or where that was not asked for", async () => {
  const silent = managerFixture([granted("a")]);
  await silent.call();
  await silent.manager.close();
  const cold = managerFixture([], { auth: { ...auth, endSessionOnClose: true } });
  await cold.manager.close();
  expect([silent, cold].map(({ fake }) => fake.requests.length)).toEqual([1, 0]);
});

// Events, timers and secrets

it("reports each token, without the token itself", async () => {
  const { call, events } = managerFixture([granted("a"), granted("b", { expires_in: undefined })]);
  await call();
  await pass(300_000);
  await call();
  expect(events).toStrictEqual([{ grant: "password", expiresInMs: 300_000 }, { grant: "refresh_token" }]);
});

it("shows no secret of the manager when it is printed", async () => {
  const { call, manager } = managerFixture([granted("canary-token")]);
  await call();
  const shown = inspect(manager, { showHidden: true, depth: 9 }) + JSON.stringify(manager) + String(manager);
  for (const secret of [...Object.values(secrets), "canary-token"]) expect(shown).not.toContain(secret);
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
    Array.from({ length: 9 }, () => {
      const said = `${Object.values(secrets).join(" ")} refresh-of-canary-token`;
      return responded(status, { error: secrets.clientSecret, error_description: said, error_uri: said });
    }),
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

it("keeps the credentials that it was made with", async () => {
  const own = { ...auth };
  const fake = new FakeTokenEndpoint(granted("a"));
  const manager = new TokenManager({ auth: own, transport: fake });
  own.username = "somebody else";
  const deadline = new Deadline({ timeoutMs: 1000 });
  await manager.current(deadline, 0);
  deadline.finish();
  expect(fake.forms).toMatchObject([{ username: auth.username }]);
});
