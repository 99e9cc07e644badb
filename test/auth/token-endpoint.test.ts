import { inspect } from "node:util";
import { expect, it } from "vitest";
import type { PasswordAuth } from "../../src/auth/auth-options.js";
import { TokenEndpoint } from "../../src/auth/token-endpoint.js";
import type { GrantFailure } from "../../src/auth/token-error.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { ConfigError } from "../../src/core/errors.js";
import type { Transport } from "../../src/wire/transport.js";
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

type Options = Partial<PasswordAuth>;

const endpointOf = (transport: Transport, options: Options = {}) =>
  new TokenEndpoint({ auth: { ...auth, timeoutMs: 60_000, ...options }, transport });

const login = (reply: Reply, options: Options = {}) => endpointOf(new FakeTokenEndpoint(reply), options).login();

async function failureOf(reply: Reply, options: Options = {}): Promise<GrantFailure> {
  const result = await login(reply, options);
  if ("failure" in result) return result.failure;
  throw new Error("a token was granted");
}

const endOf = (reply: Reply, options: Options = {}) =>
  endpointOf(new FakeTokenEndpoint(reply), options).logout("refresh-canary", new Deadline({}));

// What is sent

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

const basic = { clientAuthentication: "basic", clientSecret: "s:e+c r€t" } as const;
const plain = { username: "u", password: "p" };

it.each<[string, Options, string[]]>([
  [
    "a secret, in every form",
    plain,
    [
      "grant_type=password&username=u&password=p&client_id=gate%26way&client_secret=s%3Dcret",
      "grant_type=refresh_token&client_id=gate%26way&refresh_token=r%2F1%2B2&client_secret=s%3Dcret",
      "client_id=gate%26way&refresh_token=r%2F1%2B2&client_secret=s%3Dcret",
    ],
  ],
  ...["", undefined].map((clientSecret): [string, Options, string[]] => [
    `no secret (${JSON.stringify(clientSecret)}), empty in the login only`,
    { ...plain, clientSecret },
    [
      "grant_type=password&username=u&password=p&client_id=gate%26way&client_secret=",
      "grant_type=refresh_token&client_id=gate%26way&refresh_token=r%2F1%2B2",
      "client_id=gate%26way&refresh_token=r%2F1%2B2",
    ],
  ]),
  [
    "basic, in a header",
    { ...plain, ...basic },
    [
      "grant_type=password&username=u&password=p",
      "grant_type=refresh_token&refresh_token=r%2F1%2B2",
      "refresh_token=r%2F1%2B2",
    ],
  ],
])("writes the client and its secret where they belong: %s", async (_, options, bodies) => {
  const fake = new FakeTokenEndpoint(granted("t"), granted("u"), responded(204, ""));
  const endpoint = endpointOf(fake, options);
  await endpoint.login();
  await endpoint.refresh("r/1+2");
  expect(await endpoint.logout("r/1+2", new Deadline({}))).toBeUndefined();
  expect(fake.requests.map(bodyText)).toEqual(bodies);
  expect(fake.requests[2]?.path).toBe("/base/auth/realms/cross%20border/protocol/openid-connect/logout");
  const header = `Basic ${Buffer.from("gate%26way:s%3Ae%2Bc+r%E2%82%ACt").toString("base64")}`;
  const expected = options.clientAuthentication === "basic" ? header : undefined;
  expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual([expected, expected, expected]);
  expect(Object.hasOwn(fake.requests[0]?.headers ?? {}, "authorization")).toBe(expected !== undefined);
});

// What comes back

it.each([
  ["an opaque id_token", { id_token: "not-a-jwt" }],
  ["an id_token of another issuer", { id_token: "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL290aGVyIn0." }],
  ["a token_type in another case", { token_type: "bEARER" }],
  ["unexpected fields", { scope: ["not", "a", "string"], session_state: null, "not-before-policy": 0 }],
])("takes a token beside %s", async (_, fields) => {
  const expected = { accessToken: "t", refreshToken: "refresh-of-t", lifetimeMs: 300_000 };
  expect(await login(granted("t", fields))).toMatchObject({ granted: expected });
});

it.each([
  [300, 300_000],
  ["300", 300_000],
  [0, 0],
  [null, undefined],
  [-1, undefined],
  ["", undefined],
  ["9".repeat(400), undefined],
])("reads expires_in %j as %j ms", async (expires_in, lifetimeMs) => {
  expect(await login(granted("t", { expires_in }))).toMatchObject({ granted: { lifetimeMs } });
});

const rfc6749 = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
];

/** With a code of RFC 6749, and with anything else. */
it.each([
  [[-1, 0, 199, 408, 409, 421, 425, 499, 500, 503, 999], "server-error", "server-error"],
  [[201, 204, 299], "unreadable", "unreadable"],
  [[300, 302, 307, 399], "redirect", "redirect"],
  [[400, 403, 404, 405, 422, 498], "refused", "refused-by-another"],
  // Whatever the body: to repeat such a login would lock the account.
  [[401], "unauthorized", "unauthorized"],
  [[429], "throttled", "throttled-by-another"],
])("reads the statuses %j as %s, or without a code of RFC 6749 as %s", async (statuses, coded, others) => {
  for (const status of statuses) {
    for (const error of rfc6749) {
      expect(await failureOf(responded(status, { error }))).toMatchObject({ class: coded, status, serviceCode: error });
    }
    for (const body of ["", "[]", { error: 7 }, "invalid_grant", { error: "Realm not enabled" }]) {
      expect(await failureOf(responded(status, body))).toMatchObject({ class: others, status });
    }
    expect(await failureOf({ ...granted("t"), status })).toMatchObject({ status });
  }
});

it.each<[Reply, object]>([
  [responded(200, "null"), { class: "unreadable", status: 200 }],
  [granted("a\r\nx: y"), { class: "unreadable", status: 200 }],
  [granted("t", { token_type: undefined }), { class: "unreadable", status: 200 }],
  [granted("t", { token_type: "DPoP" }), { class: "unreadable", status: 200 }],
  [responded(200, "\n<!doctype html>"), { class: "server-error", status: 200 }],
  [responded(200, "no <html>"), { class: "unreadable", status: 200 }],
  [responded(200, "Welcome", { "content-type": "text/html; charset=utf-8" }), { class: "server-error", status: 200 }],
  [
    { ...granted("t"), broken: "not-utf8" },
    { class: "unreadable", status: 200, reason: "NOT_UTF8" },
  ],
  [
    { ...granted("t"), broken: "cut-short" },
    { class: "broken-off", status: 200, reason: "CUT_SHORT" },
  ],
  [
    { ...granted("t"), broken: "timeout" },
    { class: "ended-reading", status: 200, reason: "TIMEOUT" },
  ],
  [
    { ...granted("t"), broken: "too-large" },
    { class: "oversized", status: 200, reason: "TOO_LARGE" },
  ],
  [notSent(), { class: "unsent", reason: "ECONNREFUSED" }],
  [untrusted(), { class: "unsent-for-good", reason: "CERT_HAS_EXPIRED" }],
  [maybeSent(), { class: "maybe-sent", reason: "ECONNRESET" }],
  [timedOut(), { class: "ended", reason: "DEADLINE" }],
  [new Ended("timeout", false), { class: "ended-unsent", reason: "DEADLINE" }],
])("tells how a login failed (case %#)", async (reply, failure) => {
  expect(await failureOf(reply)).toEqual(failure);
});

it.each([
  ["may have been sent, after an unknown error", new Error("canary"), { class: "maybe-sent", reason: "UNKNOWN" }],
  ["can't be made", new ConfigError("undici is missing"), { class: "unprepared", problem: "undici is missing" }],
])("says that a request %s", async (_, error, failure) => {
  const transport: Transport = { send: () => Promise.reject(error), close: async () => {} };
  expect(await endpointOf(transport).login()).toEqual({ failure });
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
  const long = await failureOf(
    responded(400, { error: "Realm does not exist", error_description: "long ".repeat(1000) }),
  );
  expect(long.serviceCode).toBe("Realm does not exist");
  expect(long.serviceMessage).toHaveLength(301);
  const line = "x".repeat(300);
  expect(await failureOf(responded(400, { error: "\n", error_description: line }))).toEqual({
    ...{ class: "refused-by-another", status: 400, serviceMessage: line },
  });
});

it("refreshes only by a refresh token that is a text", async () => {
  for (const refresh_token of ["", 7, null]) {
    expect(await login(granted("t", { refresh_token }))).toMatchObject({ granted: { refreshToken: undefined } });
  }
});

const vaultIsAway = () => {
  throw Object.assign(new Error("canary"), { code: "ECONNREFUSED" });
};
const endless = () => new Promise<string>(() => {});

it("knows credentials other than those of the last login", async () => {
  const given: { password: () => Promise<string> | string; clientSecret: string } = {
    password: () => "p",
    clientSecret: "s",
  };
  const endpoint = endpointOf(new FakeTokenEndpoint(granted("t")), {
    password: () => given.password(),
    clientSecret: () => given.clientSecret,
    timeoutMs: 50,
  });
  expect(await endpoint.hasOtherCredentials()).toBe(false);
  await endpoint.login();
  expect(await endpoint.hasOtherCredentials()).toBe(false);
  given.clientSecret = "other";
  expect(await endpoint.hasOtherCredentials()).toBe(true);
  for (const failing of [vaultIsAway, endless]) {
    given.password = failing;
    expect(await endpoint.hasOtherCredentials()).toBe(false);
  }
});

// Logout

it.each<[Reply, object | undefined]>([
  [responded(299, ""), undefined],
  [responded(200, ""), undefined],
  [responded(400, { error: "invalid_grant" }), undefined],
  [responded(300, ""), { class: "redirect", status: 300 }],
  [responded(400, { error: "invalid_client" }), { class: "refused", status: 400, serviceCode: "invalid_client" }],
  [responded(503, { error: "invalid_grant" }), { class: "server-error", status: 503, serviceCode: "invalid_grant" }],
  [maybeSent(), { class: "maybe-sent", reason: "ECONNRESET" }],
])("tells after a logout whether the session may continue (case %#)", async (reply, failure) => {
  expect(await endOf(reply)).toEqual(failure);
});

it("redacts what a refused logout held, and needs its secret", async () => {
  const reply = responded(400, { error: "no", error_description: `refresh-canary of ${auth.clientSecret} is unknown` });
  expect(await endOf(reply)).toMatchObject({ serviceMessage: "[redacted] of [redacted] is unknown" });
  expect(await endOf(responded(204, ""), { clientSecret: vaultIsAway })).toMatchObject({ class: "no-secret" });
});

// Tracing

it.each<[Reply, Options, object]>([
  [granted("t"), {}, { "http.response.status_code": 200 }],
  [responded(401, ""), {}, { "http.response.status_code": 401, "error.type": "401" }],
  [responded(400, ""), {}, { "http.response.status_code": 400, "error.type": "400" }],
  [responded(302, ""), {}, { "http.response.status_code": 302, "error.type": "redirect" }],
  [maybeSent(), {}, { "error.type": "ECONNRESET" }],
  [granted("t"), { password: vaultIsAway }, { "error.type": "no-secret" }],
])("is followed as one request to the identity provider (case %#)", async (reply, options, notes) => {
  const tracing = new RecordedTracing();
  await new TokenEndpoint({ auth: { ...auth, ...options }, transport: new FakeTokenEndpoint(reply), tracing }).login();
  const asked = { "http.request.method": "POST", "server.address": "id.example", "server.port": 443 };
  expect(tracing.parts).toEqual([{ name: "token request", kind: "client", attributes: { ...asked, ...notes } }]);
  expect(inspect(tracing.parts, { depth: 9 })).not.toMatch(/s=cret|bänk|canary/);
});
