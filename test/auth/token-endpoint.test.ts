import { inspect } from "node:util";
import { expect, it, vi } from "vitest";
import type { PasswordAuth } from "../../src/auth/auth-options.js";
import { type GrantResult, TokenEndpoint } from "../../src/auth/token-endpoint.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { ConfigError } from "../../src/core/errors.js";
import { type Transport, WireFailure } from "../../src/wire/transport.js";
import { RecordedTracing } from "../events/recorded-tracing.js";
import {
  bodyText,
  FakeTokenEndpoint,
  granted,
  maybeSent,
  notSent,
  type Reply,
  responded,
  timedOut,
  untrusted,
} from "./fake-token-endpoint.js";

const auth = {
  authUrl: "https://id.example/base",
  realm: "cross border",
  clientId: "gate&way",
  clientSecret: "s=cret",
  username: "bänk@example.org",
  password: "p+w d%&=é",
} satisfies PasswordAuth;

/** An endpoint with these options before a transport. */
function endpointOf(transport: Transport, options: Partial<PasswordAuth> = {}, timeoutMs = 60_000): TokenEndpoint {
  return new TokenEndpoint({ auth: { ...auth, timeoutMs, ...options }, transport });
}

async function login(reply: Reply, options: Partial<PasswordAuth> = {}): Promise<GrantResult> {
  return endpointOf(new FakeTokenEndpoint(reply), options).login();
}

async function failureOf(reply: Reply, options: Partial<PasswordAuth> = {}) {
  const result = await login(reply, options);
  if ("failure" in result) return result.failure;
  throw new Error("a token was granted");
}

async function bodyOf(options: Partial<PasswordAuth>, refreshToken?: string): Promise<string | undefined> {
  const fake = new FakeTokenEndpoint(granted("t"));
  const endpoint = endpointOf(fake, options);
  await (refreshToken === undefined ? endpoint.login() : endpoint.refresh(refreshToken));
  const [request] = fake.requests;
  return request && bodyText(request);
}

it("posts the form of a login to the described address, byte for byte", async () => {
  const fake = new FakeTokenEndpoint(granted("t"));
  await endpointOf(fake).login();
  expect(fake.requests.map((request) => ({ ...request, body: bodyText(request) }))).toEqual([
    {
      method: "POST",
      origin: "https://id.example",
      path: "/base/auth/realms/cross%20border/protocol/openid-connect/token",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
        "accept-encoding": "identity",
      },
      body: "grant_type=password&username=b%C3%A4nk%40example.org&password=p%2Bw+d%25%26%3D%C3%A9&client_id=gate%26way&client_secret=s%3Dcret",
      maxResponseBytes: 1_048_576,
    },
  ]);
});

it("sends client_secret with the login even when it is empty", async () => {
  const body = "grant_type=password&username=u&password=p&client_id=gate%26way&client_secret=";
  expect(await bodyOf({ username: "u", password: "p", clientSecret: "" })).toBe(body);
  expect(await bodyOf({ username: "u", password: "p", clientSecret: undefined })).toBe(body);
});

it("sends client_secret with a refresh only when there is one", async () => {
  expect(await bodyOf({ clientSecret: "" }, "r/1+2")).toBe(
    "grant_type=refresh_token&client_id=gate%26way&refresh_token=r%2F1%2B2",
  );
  expect(await bodyOf({}, "r")).toBe(
    "grant_type=refresh_token&client_id=gate%26way&refresh_token=r&client_secret=s%3Dcret",
  );
});

it("sends the client's id and secret in a header where the realm demands it", async () => {
  const fake = new FakeTokenEndpoint(granted("t"), granted("u"), responded(204, ""));
  const endpoint = endpointOf(fake, { clientAuthentication: "basic", clientSecret: "s:e+c r€t" });
  await endpoint.login();
  await endpoint.refresh("r");
  await endpoint.logout("r", new Deadline({}));
  expect(fake.requests.map(bodyText)).toEqual([
    "grant_type=password&username=b%C3%A4nk%40example.org&password=p%2Bw+d%25%26%3D%C3%A9",
    "grant_type=refresh_token&refresh_token=r",
    "refresh_token=r",
  ]);
  const credentials = `Basic ${Buffer.from("gate%26way:s%3Ae%2Bc+r%E2%82%ACt").toString("base64")}`;
  expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual([credentials, credentials, credentials]);
});

it("uses http with an identity provider on this machine", async () => {
  expect(await login(granted("t"), { authUrl: "http://127.0.0.1:8080" })).toMatchObject({
    granted: { accessToken: "t" },
  });
});

it.each([
  ["id_token is absent", { id_token: undefined }],
  ["id_token is opaque", { id_token: "not-a-jwt" }],
  ["id_token is not a string", { id_token: { a: 1 } }],
  ["id_token is of another issuer", { id_token: "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL290aGVyIn0." }],
  ["token_type is in another case", { token_type: "bEARER" }],
])("takes a token whose %s", async (_, fields) => {
  expect(await login(granted("t", fields))).toMatchObject({ granted: { accessToken: "t" } });
});

it("reads only the fields of the response that it uses", async () => {
  const reply = granted("t", { scope: ["not", "a", "string"], session_state: null, "not-before-policy": 0 });
  expect(await login(reply)).toMatchObject({
    granted: { accessToken: "t", refreshToken: "refresh-of-t", lifetimeMs: 300_000 },
  });
});

it.each([
  [300, 300_000],
  ["300", 300_000],
  [0, 0],
  [0.5, 500],
  [undefined, undefined],
  [null, undefined],
  [-1, undefined],
  ["soon", undefined],
  [{}, undefined],
  ["", undefined],
  ["300s", undefined],
  ["0x10", undefined],
  ["1e3", undefined],
  [" 300", undefined],
  [["300"], undefined],
  ["9".repeat(400), undefined],
])("reads expires_in %j as %j ms", async (expires_in, lifetimeMs) => {
  expect(await login(granted("t", { expires_in }))).toMatchObject({ granted: { lifetimeMs } });
});

it.each([undefined, null, "", 7])("treats a refresh_token %j as absent", async (refresh_token) => {
  expect(await login(granted("t", { refresh_token }))).toMatchObject({ granted: { refreshToken: undefined } });
});

it("counts a token's life from before its request was sent", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000 });
  try {
    const before = { wallMs: Date.now(), monotonicMs: performance.now() };
    const fake = new FakeTokenEndpoint(granted("t"));
    const slow: Transport = {
      send: (request, deadline) => {
        vi.advanceTimersByTime(7000);
        return fake.send(request, deadline);
      },
      close: () => fake.close(),
    };
    expect(await endpointOf(slow, {}, 10_000).login()).toMatchObject({ granted: { sentAt: before } });
  } finally {
    vi.useRealTimers();
  }
});

it.each([
  ["no JSON", responded(200, "welcome")],
  ["JSON of another form", responded(200, "[]")],
  ["null", responded(200, "null")],
  ["no access_token", granted("t", { access_token: undefined })],
  ["an access_token that is not a string", granted("t", { access_token: 7 })],
  ["an empty access_token", granted("")],
  ["an access_token that would break the header", granted("a\r\nx: y")],
  ["an access_token beyond ASCII", granted("tökén")],
  ["no token_type", granted("t", { token_type: undefined })],
  ["a token bound to a key", granted("t", { token_type: "DPoP" })],
  ["a body that is not UTF-8", { ...granted("t"), broken: "not-utf8" }],
  ["an error", responded(200, { error: "busy", error_description: "Not now" }, { "retry-after": "5" })],
] satisfies [string, Reply][])("calls a 200 with %s unreadable", async (_, reply) => {
  expect(await failureOf(reply)).toEqual({ class: "unreadable", status: 200 });
});

it.each([
  ["<html>Welcome</html>", {}],
  ["\n<!doctype html>", {}],
  ["Welcome", { "content-type": "text/html; charset=utf-8" }],
])("takes a 200 with the web page %j for an endpoint that is away", async (page, headers) => {
  expect(await failureOf(responded(200, page, headers))).toEqual({ class: "server-error", status: 200 });
});

it.each([
  ["cut-short", { class: "broken-off", reason: "CUT_SHORT" }],
  ["timeout", { class: "ended-reading", reason: "TIMEOUT" }],
  ["abort", { class: "ended-reading", reason: "ABORT" }],
  ["too-large", { class: "oversized", status: 200 }],
] as const)("tells how a 200 broke off: %s", async (broken, failure) => {
  expect(await failureOf({ ...granted("t"), broken })).toEqual(failure);
});

it.each([201, 206, 302, 401, 500])("takes no token out of a %i", async (status) => {
  expect(await failureOf({ ...granted("t"), status })).toMatchObject({ status });
});

it("gives each request its own deadline, and leaves no timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const signal = vi.spyOn(AbortSignal, "timeout");
  try {
    const fake = new FakeTokenEndpoint(granted("t"), maybeSent());
    const endpoint = endpointOf(fake, {}, 1234);
    await endpoint.login();
    vi.advanceTimersByTime(5000);
    await endpoint.login();
    expect(fake.timeoutsMs).toEqual([1234, 1234]);
    expect(vi.getTimerCount()).toBe(0);
    expect(signal).not.toHaveBeenCalled();
  } finally {
    signal.mockRestore();
    vi.useRealTimers();
  }
});

/** With a code of RFC 6749, and with anything else. */
it.each([
  [[-1, 0, 100, 199, 408, 409, 421, 425, 499, 500, 503, 999], "server-error", "server-error"],
  [[201, 204, 299], "unreadable", "unreadable"],
  [[300, 301, 302, 303, 307, 399], "redirect", "redirect"],
  [[400, 403, 404, 405, 413, 415, 422, 431, 498], "refused", "refused-by-another"],
  // Whatever the body: to repeat such a login would lock the account.
  [[401], "unauthorized", "unauthorized"],
  [[429], "throttled", "throttled-by-another"],
])("reads the statuses %j as %s, or without a code of RFC 6749 as %s", async (statuses, coded, others) => {
  const codes = ["invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"];
  for (const status of statuses) {
    for (const error of [...codes, "invalid_scope"]) {
      expect(await failureOf(responded(status, { error }))).toMatchObject({ class: coded, status });
    }
    for (const body of ["", "[]", { message: "no" }, { error: 7 }, { error: "" }, "invalid_grant"]) {
      expect(await failureOf(responded(status, body))).toEqual({ class: others, status });
    }
    expect(await failureOf(responded(status, { error: "Realm not enabled" }))).toMatchObject({ class: others });
  }
});

it.each([
  [notSent(), "unsent", "ECONNREFUSED"],
  [untrusted(), "unsent-for-good", "CERT_HAS_EXPIRED"],
  [maybeSent(), "maybe-sent", "ECONNRESET"],
  [timedOut(), "ended", "DEADLINE"],
  [new Ended("timeout", false), "ended-unsent", "DEADLINE"],
  [new WireFailure({ sent: true, reason: "not a code" }), "maybe-sent", "UNKNOWN"],
])("tells whether a request without a response was sent (case %#)", async (error, kind, reason) => {
  expect(await failureOf(error)).toEqual({ class: kind, reason });
});

it("assumes after an unknown error that the request may have been sent, and shows nothing of the error", async () => {
  const transport: Transport = { send: () => Promise.reject(new Error("canary")), close: async () => {} };
  expect(await endpointOf(transport).login()).toEqual({ failure: { class: "maybe-sent", reason: "UNKNOWN" } });
});

it("says why the transport can't be opened", async () => {
  const closed = new ConfigError("undici is missing");
  const transport: Transport = { send: () => Promise.reject(closed), close: async () => {} };
  expect(await endpointOf(transport).login()).toEqual({ failure: { class: "unprepared", problem: closed.message } });
});

it("keeps the response's error, description and Retry-After", async () => {
  const body = { error: "invalid_grant", error_description: "\tAccount is\r\n not fully set up\n" };
  expect(await failureOf(responded(400, body, { "retry-after": "7" }))).toEqual({
    class: "refused",
    status: 400,
    serviceCode: "invalid_grant",
    serviceMessage: "Account is not fully set up",
    retryAfterMs: 7000,
  });
});

it("cuts a long description short", async () => {
  const failure = await failureOf(responded(400, { error_description: "long ".repeat(1000) }));
  expect(failure.serviceMessage).toHaveLength(301);
});

it.each(["invalid_grant", "Realm does not exist", "ungültig", "<b>", "x".repeat(256)])(
  "keeps an error word for word: %j",
  async (error) => {
    expect(await failureOf(responded(400, { error }))).toMatchObject({ serviceCode: error });
  },
);

it.each([
  ["as it is", (secret: string) => secret],
  ["in an address", encodeURIComponent],
  ["in a form", (secret: string) => String(new URLSearchParams({ "": secret })).slice(1)],
])("shows no secret that a description repeats %s", async (_, write) => {
  for (const secret of [auth.password, auth.username, auth.clientSecret]) {
    const { serviceMessage = "" } = await failureOf(responded(401, { error_description: `It is ${write(secret)} ` }));
    expect(serviceMessage).not.toContain(write(secret));
  }
});

it("keeps a description where the client has no secret", async () => {
  const reply = responded(401, { error_description: "Account is locked" });
  expect(await failureOf(reply, { clientSecret: "" })).toMatchObject({ serviceMessage: "Account is locked" });
});

it("drops a description that repeats a secret too short to be redacted", async () => {
  const reply = responded(401, { error: "invalid_grant", error_description: "xy is wrong" });
  expect(await failureOf(reply, { password: "xy" })).toEqual({
    class: "unauthorized",
    status: 401,
    serviceCode: "invalid_grant",
  });
});

it.each([
  ["are fixed", {}],
  ["come from functions", { password: () => auth.password, clientSecret: () => auth.clientSecret }],
])("redacts the credentials of the last login in the description of a refresh where they %s", async (_, options) => {
  const error_description = `Not ${auth.username}, ${auth.password}, ${auth.clientSecret}`;
  const endpoint = endpointOf(
    new FakeTokenEndpoint(granted("access-of-t"), responded(400, { error_description })),
    options,
  );
  await endpoint.login();
  const result = await endpoint.refresh("refresh-of-t");
  expect(result).toHaveProperty("failure.serviceMessage");
  expect(JSON.stringify(result)).not.toMatch(/b.nk@|p\+w|s=cret/);
});

it("is not affected when the options are changed afterwards", async () => {
  const options = { ...auth };
  const fake = new FakeTokenEndpoint(granted("t"));
  const endpoint = new TokenEndpoint({ auth: options, transport: fake });
  options.password = "changed";
  await endpoint.login();
  expect(fake.forms[0]?.password).toBe(auth.password);
});

it("never logs in where there is only a session that was given", async () => {
  const { username: _, password: __, ...client } = auth;
  const fake = new FakeTokenEndpoint(granted("t"));
  const endpoint = new TokenEndpoint({ auth: client, transport: fake });
  expect(endpoint.canLogIn).toBe(false);
  expect(await endpoint.login()).toEqual({ failure: { class: "session-ended" } });
  expect(await endpoint.hasOtherCredentials()).toBe(false);
  expect(fake.requests).toEqual([]);
});

const vaultIsAway = () => {
  throw Object.assign(new Error("canary"), { code: "ECONNREFUSED" });
};

it.each(["password", "clientSecret"])("tells why the function for %s gave no secret", async (secretName) => {
  const fake = new FakeTokenEndpoint(granted("t"));
  expect(await endpointOf(fake, { [secretName]: vaultIsAway }).login()).toEqual({
    failure: { class: "no-secret", secretName, reason: "THREW" },
  });
  expect(fake.requests).toEqual([]);
});

it("waits for a secret no longer than for a response", async () => {
  const fake = new FakeTokenEndpoint(granted("t"));
  const endpoint = endpointOf(fake, { password: () => new Promise(() => {}) }, 5);
  expect(await endpoint.login()).toEqual({
    failure: { class: "no-secret", secretName: "password", reason: "DEADLINE" },
  });
  expect(fake.requests).toEqual([]);
});

/** An endpoint that has logged in with `first`, and whose function returns `next` from then on. */
async function loggedIn(
  first: string,
  next: () => Promise<string> | string,
  options: Partial<PasswordAuth> = {},
  timeoutMs = 10_000,
) {
  let password: () => Promise<string> | string = () => first;
  const fake = new FakeTokenEndpoint(granted("t"));
  const endpoint = endpointOf(fake, { password: () => password(), ...options }, timeoutMs);
  await endpoint.login();
  password = next;
  return endpoint;
}

it("knows credentials other than those of the last login", async () => {
  expect(await (await loggedIn("old", () => "old")).hasOtherCredentials()).toBe(false);
  expect(await (await loggedIn("old", () => "new")).hasOtherCredentials()).toBe(true);
  const secrets = ["old", "new"];
  const clientSecret = () => secrets.shift() ?? "newest";
  const endpoint = await loggedIn("p", () => "p", { password: "p", clientSecret });
  expect(await endpoint.hasOtherCredentials()).toBe(true);
});

it("has no other credentials where a function fails or takes too long", async () => {
  expect(await (await loggedIn("old", vaultIsAway)).hasOtherCredentials()).toBe(false);
  const endless = () => new Promise<string>(() => {});
  expect(await (await loggedIn("old", endless, {}, 20)).hasOtherCredentials()).toBe(false);
});

it("asks for no other credentials before there was a login", async () => {
  const password = vi.fn(() => "p");
  expect(await endpointOf(new FakeTokenEndpoint(), { password }).hasOtherCredentials()).toBe(false);
  expect(password).not.toHaveBeenCalled();
});

it("leaves no timer after it has asked for other credentials", async () => {
  const endpoint = await loggedIn("old", () => "new");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    await endpoint.hasOtherCredentials();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

it("posts the form of a logout to the address beside the token endpoint", async () => {
  const fake = new FakeTokenEndpoint(responded(204, ""));
  expect(await endpointOf(fake).logout("r/1+2", new Deadline({}))).toBeUndefined();
  expect(fake.requests.map((request) => ({ path: request.path, body: bodyText(request) }))).toEqual([
    {
      path: "/base/auth/realms/cross%20border/protocol/openid-connect/logout",
      body: "client_id=gate%26way&refresh_token=r%2F1%2B2&client_secret=s%3Dcret",
    },
  ]);
});

const endOf = (reply: Reply, options: Partial<PasswordAuth> = {}) =>
  endpointOf(new FakeTokenEndpoint(reply), options).logout("refresh-canary", new Deadline({}));

it.each([
  ["a 200", responded(200, "")],
  ["a 204", responded(204, "")],
  ["a 299", responded(299, "")],
  ["the word that the session is over already", responded(400, { error: "invalid_grant" })],
])("takes a session for ended after %s", async (_, reply) => {
  expect(await endOf(reply)).toBeUndefined();
});

it.each<[Reply, object]>([
  [responded(199, ""), { class: "server-error", status: 199 }],
  [responded(300, ""), { class: "redirect", status: 300 }],
  [responded(400, { error: "invalid_client" }), { class: "refused", status: 400, serviceCode: "invalid_client" }],
  [responded(400, ""), { class: "refused-by-another", status: 400 }],
  [responded(401, ""), { class: "unauthorized", status: 401 }],
  [responded(429, { error: "invalid_grant" }), { class: "throttled", status: 429, serviceCode: "invalid_grant" }],
  [responded(503, { error: "invalid_grant" }), { class: "server-error", status: 503, serviceCode: "invalid_grant" }],
  [notSent(), { class: "unsent", reason: "ECONNREFUSED" }],
  [maybeSent(), { class: "maybe-sent", reason: "ECONNRESET" }],
])("tells that a session may go on (case %#)", async (reply, failure) => {
  expect(await endOf(reply)).toEqual(failure);
});

it("tells that a session may go on where there is no secret to end it with", async () => {
  expect(await endOf(responded(204, ""), { clientSecret: vaultIsAway })).toEqual({
    class: "no-secret",
    secretName: "clientSecret",
    reason: "THREW",
  });
});

it("redacts what a refused logout held", async () => {
  const reply = responded(400, { error: "no", error_description: `refresh-canary of ${auth.clientSecret} is unknown` });
  expect(await endOf(reply)).toMatchObject({ serviceMessage: "[redacted] of [redacted] is unknown" });
});

/** What who follows the work sees of one login. */
async function follow(reply: Reply, options: Partial<PasswordAuth> = {}) {
  const tracing = new RecordedTracing();
  const transport = new FakeTokenEndpoint(reply);
  await new TokenEndpoint({ auth: { ...auth, ...options }, transport, tracing }).login();
  return tracing.parts;
}

function tokenRequest(notes: object) {
  const asked = { "http.request.method": "POST", "server.address": "id.example", "server.port": 443 };
  return { name: "token request", kind: "client", attributes: { ...asked, ...notes } };
}

it("is followed as one request to the identity provider", async () => {
  expect(await follow(granted("t"))).toEqual([tokenRequest({ "http.response.status_code": 200 })]);
});

it.each<[Reply, object]>([
  [responded(401, ""), { "http.response.status_code": 401, "error.type": "401" }],
  [responded(400, { error: "canary" }), { "http.response.status_code": 400, "error.type": "400" }],
  [responded(503, ""), { "http.response.status_code": 503, "error.type": "503" }],
  [responded(302, ""), { "http.response.status_code": 302, "error.type": "redirect" }],
  [responded(200, ""), { "http.response.status_code": 200, "error.type": "unreadable" }],
  [notSent(), { "error.type": "ECONNREFUSED" }],
  [untrusted(), { "error.type": "CERT_HAS_EXPIRED" }],
  [maybeSent(), { "error.type": "ECONNRESET" }],
])("says to who follows it how it failed (case %#)", async (reply, notes) => {
  expect(await follow(reply)).toEqual([tokenRequest(notes)]);
});

it("says to who follows it that a function failed, and nothing of the function", async () => {
  const parts = await follow(granted("t"), { password: vaultIsAway });
  expect(parts).toEqual([tokenRequest({ "error.type": "no-secret" })]);
  expect(inspect(parts, { depth: 9 })).not.toMatch(/s=cret|bänk|canary/);
});
