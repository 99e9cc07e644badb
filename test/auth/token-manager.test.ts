import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import type { WireRequest } from "../../src/wire/transport.js";
import { answers } from "./answers.js";
import {
  bodyText,
  type FakeTokenEndpoint,
  granted,
  maybeSent,
  notSent,
  type Reply,
  refusal,
  responded,
  type Scripted,
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

withFakeTimeAndNothingUnhandled();

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

const ending = { auth: { ...auth, endSessionOnClose: true } };

describe("one request for all", () => {
  it("requests nothing before the first call", async () => {
    const { fake, call } = managerFixture([granted("a")], { onToken: undefined as never });
    await pass(1000);
    await expect(call({ signal: AbortSignal.abort() })).rejects.toMatchObject({ kind: "abort" });
    await settle();
    expect(fake.requests).toHaveLength(0);
    expect(await call()).toBe("a");
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

  it("leaves the request running when the call that caused it is aborted or out of time", async () => {
    const { call, fake } = managerFixture([]);
    const abort = new AbortController();
    const aborted = handled(call({ signal: abort.signal }));
    const late = handled(call({ timeoutMs: 500 }));
    await settle();
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ kind: "abort", sent: false });
    await pass(500);
    await expect(late).rejects.toMatchObject({ kind: "timeout", sent: false });
    fake.reply(granted("a"));
    await settle();
    expect(await call()).toBe("a");
    expect(fake.requests).toHaveLength(1);
  });
});

describe("a renewal", () => {
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
  });

  it("uses a token without expires_in until the service refuses it", async () => {
    const { call, renew, fake } = managerFixture([granted("a", { expires_in: undefined }), granted("b")]);
    await call();
    await pass(2_000_000_000);
    expect(await call()).toBe("a");
    expect(fake.requests).toHaveLength(1);
    expect(await renew("a")).toBe("b");
  });

  it.each([
    [undefined, 5000, 300],
    [undefined, 3000, 30],
    [0, 0, 300],
    [60_000, 60_000, 300],
    [600_000, 150_000, 300],
  ])("begins with a leeway of %j ms that long before the end: %i ms of %i s", async (leewayMs, beforeMs, lifetime) => {
    const { call, fake } = managerFixture([granted("a", { expires_in: lifetime })], { leewayMs });
    await call();
    await pass(lifetime * 1000 - beforeMs - 1);
    await call();
    await settle();
    expect(fake.requests).toHaveLength(1);
    await pass(1);
    handled(call());
    await settle();
    expect(fake.pending).toBe(1);
  });

  it.each<[string, Record<string, unknown>[], string[]]>([
    ["not repeated by the response", [{}, { refresh_token: undefined }], ["refresh-of-0", "refresh-of-0"]],
    ["rotated", [{}, {}], ["refresh-of-0", "refresh-of-1"]],
    ["none", [{ refresh_token: undefined }, {}], ["login", "refresh-of-1"]],
    ["expired", [{ refresh_expires_in: 300 }, { refresh_expires_in: 299 }], ["login", "login"]],
    ["without an end, as Keycloak writes it", [{ refresh_expires_in: 0 }, {}], ["refresh-of-0", "refresh-of-1"]],
  ])("goes by the newest refresh token while it lives, and logs in without one: %s", async (_, fields, sent) => {
    const { call, fake } = managerFixture([...fields, {}].map((more, index) => granted(String(index), more)));
    for (const token of ["0", "1", "2"]) {
      expect(await call()).toBe(token);
      await pass(300_000);
    }
    expect(fake.forms.slice(1).map(({ refresh_token = "login" }) => refresh_token)).toEqual(sent);
  });
});

describe("an answer of the token endpoint", () => {
  it.each(answers)("to a login holds the next one, and calls wait for it only if it passes: $name", async (answer) => {
    const { reply, code, holdMs, waits } = answer;
    const { call, fake } = managerFixture([reply, reply, granted("a")]);
    const heldUntilMs = Date.now() + holdMs;
    const [impatient, one, two] = [call({ maxRetries: 0 }), call(), call()].map(handled);
    const error = await failure(impatient ?? "");
    expect(error).toMatchObject({ code, heldUntilMs });
    if (!waits) expect(await failure(one ?? "")).toMatchObject({ code, heldUntilMs });
    // Flows add facts to theirs.
    if (!waits) expect(await failure(two ?? "")).not.toBe(error);
    await pass(holdMs - 1);
    expect(await failure(call({ maxRetries: 0 }))).toMatchObject({ code, heldUntilMs });
    expect(fake.requests).toHaveLength(1);
    await pass(1);
    if (!waits) handled(call());
    await pass(2 * holdMs);
    expect(await call()).toBe("a");
    if (waits) expect(await Promise.all([one, two])).toEqual(["a", "a"]);
    expect(fake.grants).toEqual(["password", "password", "password"]);
  });

  it.each(answers)(
    "to a refresh costs no call anything while the old token lives: $name",
    async ({ reply, after, holdMs }) => {
      const { call, fake } = managerFixture([granted("a"), reply, granted("b")]);
      await call();
      await pass(295_000);
      const renewed = after === "login at once" ? "b" : "a";
      expect(await callAfterRenewal(() => call({ maxRetries: 0 }))).toBe(renewed);
      if (after === "refresh") {
        await pass(holdMs - 1);
        expect(await callAfterRenewal(() => call({ maxRetries: 0 }))).toBe("a");
        expect(fake.requests).toHaveLength(2);
        await pass(1);
        expect(await callAfterRenewal(call)).toBe("b");
        expect(fake.forms[2]?.refresh_token).toBe("refresh-of-a");
      } else {
        await pass(4999);
        expect(await call({ maxRetries: 0 })).toBe(renewed);
        await pass(1);
        expect(await call()).toBe("b");
        expect(fake.grants).toEqual(["password", "refresh_token", "password"]);
      }
    },
  );

  it.each(answers)(
    "to the refresh of a session without a password ends it only by invalid_grant: $name",
    async (answer) => {
      const { reply, code, holdMs, waits } = answer;
      const { call, fake } = managerFixture([granted("a"), reply, granted("b")], { auth: session });
      await call();
      await pass(300_000);
      const error = await failure(call({ maxRetries: 0 }));
      expect(error.code).toBe(code);
      await pass(holdMs);
      if (error.serviceCode === "invalid_grant" && !waits) {
        for (let calls = 0; calls < 20; calls++) expect(await failure(call())).toMatchObject({ code: "login_refused" });
        expect(fake.requests).toHaveLength(2);
      } else {
        expect(await call()).toBe("b");
        expect(fake.forms.map(({ refresh_token }) => refresh_token)).toEqual(["given", "refresh-of-a", "refresh-of-a"]);
      }
    },
  );

  it("never sends a refresh token again that may have been used up, however long the outage", async () => {
    const replies = [maybeSent(), maybeSent(), responded(503), notSent()];
    const { call, fake } = managerFixture([granted("a"), ...replies, granted("b")]);
    await call();
    await pass(300_000);
    const waiting = call();
    await pass(3000);
    expect(await waiting).toBe("b");
    expect(fake.grants).toEqual(["password", "refresh_token", ...Array(4).fill("password")]);
  });

  it.each(answers.filter(({ waits }) => waits))(
    "is asked for one try at a time during an outage, and the client is back soon after it: $name",
    async ({ code, reply }) => {
      const { call, fake } = managerFixture(Array.from({ length: 40 }, () => reply));
      const calls = Array.from({ length: 20 }, () => handled(call({ timeoutMs: 20_000 })));
      await pass(20_000);
      for (const each of calls) expect(await failure(each)).toMatchObject({ code });
      expect(gapsOf(fake).slice(0, 4)).toEqual([100, 200, 400, 800]);
      expect(Math.max(...gapsOf(fake))).toBeLessThanOrEqual(code === "token_throttled" ? 10_000 : 1500);
      expect(fake.mostInFlight).toBe(1);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

describe("a wait", () => {
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

  it.each([
    [429, "7", 7000, {}],
    [429, "8", 8000, { error: "invalid_request" }],
    [429, "301", 300_000, {}],
    [503, "3600", 3000, {}],
  ])(
    "waits after a %i for its Retry-After of %s s, or %i ms, with one request for all calls",
    async (status, seconds, ms, body) => {
      const { call, fake } = managerFixture([responded(status, body, { "retry-after": seconds }), granted("a")]);
      const calls = [1, 2, 3].map(() => call({ timeoutMs: 400_000 }));
      await pass(ms - 1);
      expect(fake.requests).toHaveLength(1);
      await pass(1);
      expect(await Promise.all(calls)).toEqual(["a", "a", "a"]);
      expect(gapsOf(fake)).toEqual([ms]);
    },
  );

  it("ends with the signal of its call", async () => {
    const { call } = managerFixture([notSent(), notSent()]);
    const abort = new AbortController();
    const waiting = handled(call({ signal: abort.signal }));
    await pass(50);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ kind: "abort" });
  });

  it("fails at once, and says until when, if the hold outlasts the call's deadline", async () => {
    const { call, fake } = managerFixture([responded(429, {}, { "retry-after": "30" }), granted("a")]);
    const heldUntilMs = Date.now() + 30_000;
    for (const options of [{ timeoutMs: 30_000 }, { timeoutMs: 29_000 }, { maxRetries: 0 }]) {
      expect(await failure(call(options))).toMatchObject({ code: "token_throttled", heldUntilMs });
    }
    const longer = call({ timeoutMs: 30_001 });
    await pass(30_000);
    expect(await longer).toBe("a");
    expect(fake.requests).toHaveLength(2);
  });
});

describe("a refused login", () => {
  it("says in its message what to check and until when it waits, and nothing of the response's text", async () => {
    const { call } = managerFixture([refusal(401)]);
    const url = "https://id.example/auth/realms/payments/protocol/openid-connect/token";
    const wrong = await failure(call());
    expect(wrong.message).toBe(
      `Login failed: ${url} rejected the credentials (401 invalid_grant). Check username and password; a locked account ` +
        "looks the same. Next attempt allowed at 00:01:00 UTC.",
    );
    expect(wrong).toMatchObject({ serviceCode: "invalid_grant", serviceMessage: "Not now" });
    expect(JSON.stringify(wrong)).not.toContain("Not now");
  });

  it("holds a login that is refused again and again for 1 min, then 2, 4, … 60, and starts over after a success", async () => {
    const { call, manager, fake } = managerFixture([]);
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      fake.expect(refusal(401));
      const endsInMs = minutes * 60_000;
      expect(await failure(call())).toMatchObject({ heldUntilMs: Date.now() + endsInMs });
      expect(manager.hold()).toEqual({ reason: "refused", needsLogin: true, endsInMs });
      const requests = fake.requests.length;
      await pass(endsInMs - 1);
      await failure(call({ timeoutMs: 120_000, maxRetries: 9 }));
      expect(fake.requests).toHaveLength(requests);
      await pass(1);
      expect(manager.hold()).toBeUndefined();
    }
    fake.expect(granted("a", { expires_in: 0, refresh_token: undefined }), refusal(401));
    expect(await call()).toBe("a");
    expect(await failure(call())).toMatchObject({ heldUntilMs: Date.now() + 60_000 });
  });

  it("ends the hold of a refused login as soon as a function returns another password", async () => {
    let password = "wrong";
    const { call, fake } = managerFixture([refusal(401), granted("a")], {
      auth: { ...auth, password: () => password },
    });
    await failure(call());
    await failure(call());
    password = "right";
    expect(await Promise.all([call(), call(), call()])).toEqual(["a", "a", "a"]);
    expect(fake.forms.map((form) => form.password)).toEqual(["wrong", "right"]);
    expect(vi.getTimerCount()).toBe(0);
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
});

describe("a 401 of the service", () => {
  /** Tokens of a day, so that none expires while its renewal is held. */
  const manyTokens = () => Array.from({ length: 20 }, (_, index) => granted(`token-${index}`, { expires_in: 86_400 }));

  it("brings another token by the refresh token, by one request for all calls that were refused", async () => {
    const { call, renew, fake } = managerFixture([granted("a")]);
    await call();
    const renewals = Array.from({ length: 100 }, () => renew("a"));
    const newcomer = call();
    await settle();
    expect(fake.pending).toBe(1);
    fake.reply(granted("b"));
    expect(new Set(await Promise.all([...renewals, newcomer, renew("a")]))).toEqual(new Set(["b"]));
    expect(fake.grants).toEqual(["password", "refresh_token"]);
  });

  it("holds renewals for 10 s when a new token is refused too, then 20, 40, … up to 5 min", async () => {
    const { call, renew, manager, fake } = managerFixture(manyTokens());
    let token = await renew(await call());
    for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
      const requests = fake.requests.length;
      const heldUntilMs = Date.now() + seconds * 1000;
      const errors = await Promise.all(Array.from({ length: 100 }, () => failure(renew(token))));
      for (const error of errors) expect(error).toMatchObject({ code: "token_rejected", status: 401, heldUntilMs });
      expect(errors[0]?.message).toMatch(/audience.*clocks.*Next attempt allowed at/);
      expect(manager.hold()).toEqual({ reason: "token-rejected", needsLogin: false, endsInMs: seconds * 1000 });
      // It stays in use: as soon as the service accepts it, calls succeed.
      expect(await call()).toBe(token);
      await pass(seconds * 1000 - 1);
      await failure(renew(token));
      expect(fake.requests).toHaveLength(requests);
      await pass(1);
      expect(manager.hold()).toBeUndefined();
      token = await renew(token);
      expect(fake.requests).toHaveLength(requests + 1);
    }
    await failure(renew(token));
    manager.accepted("an earlier one");
    expect(manager.hold()).toBeDefined();
    manager.accepted(token);
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
    // A new count begins after a token that was good for longer than the last hold and 10 s more.
    await pass(30_001);
    for (let revocation = 0; revocation < 6; revocation++) {
      manager.accepted(`token-${7 + revocation}`);
      expect(await renew(`token-${7 + revocation}`)).toBe(`token-${8 + revocation}`);
    }
  });

  it("replaces a token that a call was refused with, once, whatever late responses say of it", async () => {
    const { call, manager, fake } = managerFixture([granted("a"), granted("b")]);
    const used = await call();
    manager.refused(used);
    manager.refused(used);
    manager.accepted(used);
    expect(await call()).toBe("b");
    manager.refused(used);
    expect(await call()).toBe("b");
    expect(fake.requests).toHaveLength(2);
  });
});

describe("secrets", () => {
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
    await pass(300_000);
    await call();
    expect(fake.forms[0]).toMatchObject({ password: "of-the-vault", client_secret: "of-the-client" });
    expect(fake.forms[1]).toMatchObject({ client_secret: "of-the-client" });
    expect(asked.sort()).toEqual(["of-the-client", "of-the-client", "of-the-vault"]);
  });

  it.each<[string, reason: string, () => unknown, option?: "password" | "clientSecret"]>([
    [
      "rejects",
      "THREW",
      () => Promise.reject(Object.assign(new Error(secrets.password), { code: secrets.password.toUpperCase() })),
    ],
    [
      "throws no error",
      "THREW",
      () => {
        throw secrets.password;
      },
    ],
    ["returns nothing", "NO_SECRET_RETURNED", () => undefined],
    ["returns an empty string", "NO_SECRET_RETURNED", () => ""],
    ["returns a line break, which is of the file", "NO_SECRET_RETURNED", () => `${secrets.password}\n`],
    ["hangs", "DEADLINE", () => new Promise(() => {})],
    ["returns no text", "NO_SECRET_RETURNED", () => 7, "clientSecret"],
  ])("fails safely where the function for a secret %s", async (_, reason, secret, option = "password") => {
    const { call, fake } = managerFixture([granted("a")], { auth: { ...auth, [option]: secret as () => string } });
    const failing = handled(call());
    await pass(10_000);
    const error = await failure(failing);
    expect(error.code).toBe("token_source_failed");
    expect(error.message).toContain(`the function auth.${option} did not return a secret (${reason}).`);
    expect(shown(error)).not.toContain(secrets.password);
    expect(shown(error)).not.toContain(secrets.password.toUpperCase());
    expect(fake.requests).toHaveLength(0);
  });

  it("are in no event, and nowhere in a manager that is printed", async () => {
    const { call, manager, events } = managerFixture([
      granted("canary-token"),
      granted("b", { expires_in: undefined }),
    ]);
    await call();
    expect(shown(manager)).not.toContain("canary-token");
    for (const secret of Object.values(secrets)) expect(shown(manager)).not.toContain(secret);
    await pass(300_000);
    await call();
    expect(events).toStrictEqual([{ grant: "password", expiresInMs: 300_000 }, { grant: "refresh_token" }]);
  });

  /** Says everything that it was sent. */
  const repeating = (status: number) => (request: WireRequest) => {
    const said = [...new URLSearchParams(bodyText(request)).values()].join(" ");
    return responded(status, { error: secrets.clientSecret, error_description: said, error_uri: said });
  };

  it.each<[string, Scripted]>([
    ["a certificate", untrusted()],
    ["a redirect", responded(302, "{}", { location: `https://x/${secrets.password}` })],
    ["an unreadable response", responded(200, { access_token: { secrets }, note: secrets.password })],
    ["a token without type", granted("canary-token", { token_type: undefined })],
    ...[400, 401, 404, 408, 429, 503].map((status): [string, Scripted] => [
      `a ${status} that repeats all it was sent`,
      repeating(status),
    ]),
  ])("are not in the error of %s, cold or with a token refused", async (_, reply) => {
    const script = Array.from({ length: 9 }, () => reply);
    const cold = managerFixture(script);
    const warm = managerFixture([granted("canary-token"), ...script]);
    await warm.call();
    const failing = [handled(cold.call({ maxRetries: 1 })), handled(warm.renew("canary-token", { maxRetries: 1 }))];
    await pass(30_000);
    const [ofCold, ofWarm] = (await Promise.all(failing.map(failure))).map(shown);
    for (const secret of Object.values(secrets)) expect(`${ofCold}${ofWarm}`).not.toContain(secret);
    expect(ofWarm).not.toContain("canary-token");
  });
});

describe("close", () => {
  it("ends the session if that was asked for, with the newest refresh token", async () => {
    const { call, manager, fake } = managerFixture([granted("a"), granted("b"), responded(204, "")], ending);
    await call();
    await pass(300_000);
    await call();
    await manager.close();
    expect(fake.requests[2]?.path).toBe("/auth/realms/payments/protocol/openid-connect/logout");
    expect(fake.forms[2]).toMatchObject({ refresh_token: "refresh-of-b" });
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends the session of a login that is in flight", async () => {
    const { call, manager, fake } = managerFixture([], ending);
    handled(call({ timeoutMs: 100 }));
    await pass(100);
    const closing = manager.close();
    fake.expect(responded(204, ""));
    fake.reply(granted("a"));
    await closing;
    expect(fake.forms[1]).toMatchObject({ refresh_token: "refresh-of-a" });
  });

  it.each<[string, Reply[]]>([
    ["is refused", [refusal(400)]],
    ["is not sent", [notSent()]],
    ["hangs", []],
  ])("takes 2 s at most when its logout %s", async (_, replies) => {
    const { call, manager } = managerFixture([granted("a"), ...replies], ending);
    await call();
    await pass(1000);
    const closing = manager.close();
    await pass(2000);
    await closing;
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["without a session", ending, 0],
    ["if that was not asked for", {}, 1],
  ])("sends nothing %s", async (_, options, calls) => {
    const { call, manager, fake } = managerFixture([granted("a")], options);
    for (let made = 0; made < calls; made++) await call();
    await manager.close();
    expect(fake.requests).toHaveLength(calls);
  });

  it("drops the token request of a session that goes on", async () => {
    const { call, manager, fake } = managerFixture([]);
    handled(call());
    await settle();
    await manager.close();
    await settle();
    expect(fake.pending).toBe(0);
  });
});

/** All that can be seen of a value. */
function shown(value: object): string {
  const { stack = "", cause } = value as Error;
  const parts = [value, cause].map((part) => inspect(part, { showHidden: true, depth: 9 }));
  return [...parts, stack, JSON.stringify(value), String(value)].join("\n");
}
