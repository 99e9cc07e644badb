import {
  ConfigError,
  type CrossBorderClient,
  type FetchLike,
  InvalidArgumentError,
  MemoryTokenStore,
  ServerLogin,
  type TokenEvent,
} from "cross-border-payments";
import { createSandbox, type SandboxServer } from "cross-border-payments/sandbox";
import { expect, it } from "vitest";
import { withOneTokenKey } from "../support/one-token-key.js";
import { failureOf, logIn, openLogin, pressButton, redirectUri, secretsOf, withStore } from "./login-fixture.js";

withOneTokenKey();

/** Whether the sandbox was asked to end a session, and did. */
const hasEnded = ({ sandbox }: SandboxServer) =>
  sandbox.requests.some(({ path, status }) => path === sandbox.logoutPath && status === 204);

/** One call of a user. */
const payments = async (client: CrossBorderClient) => (await client.payments.list()).items.length;

it("logs a user in by PKCE, and gives a client their tokens", async () => {
  const { server, login, client, grants } = await openLogin({ authPath: "/id" });
  const { url, pending } = await login.begin();
  const { searchParams, origin, pathname } = new URL(url);
  expect(origin + pathname).toBe(`${server.authUrl}/auth/realms/sandbox/protocol/openid-connect/auth`);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: "code",
    client_id: "sandbox",
    redirect_uri: redirectUri,
    scope: "openid",
    code_challenge_method: "S256",
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  });
  const { pathname: callbackPath, search } = await pressButton(url);
  const session = await login.finish(callbackPath + search, pending);
  expect(session.claims).toMatchObject({ sub: "gateway", iss: `${server.authUrl}/auth/realms/sandbox` });
  expect(await payments(client(session))).toBe(0);
  expect(grants()).toEqual(["authorization_code"]);
});

it.each(["post", "basic"] as const)("authenticates a confidential client: %s", async (clientAuthentication) => {
  const sandbox = { credentials: { clientSecret: `secret-${crypto.randomUUID()}` }, rotateRefreshTokens: true };
  const { server, login, client, grants } = await openLogin(sandbox, { clientAuthentication });
  const session = await logIn(login);
  server.sandbox.revokeTokens();
  await client(session).payments.list();
  await session.logout();
  expect(grants()).toEqual(["authorization_code", "refresh_token"]);
  const isInForm = server.sandbox.tokenRequests.map(({ fields }) => fields.includes("client_secret"));
  expect(isInForm).toEqual([clientAuthentication === "post", clientAuthentication === "post"]);
});

it("renews once for all clients of a session, whatever they do at the same time", async () => {
  const { server, login, client, grants } = await openLogin({ rotateRefreshTokens: true });
  const session = await logIn(login);
  const events: TokenEvent[] = [];
  const clients = [client(session, { on: { token: (event) => events.push(event) } }), client(session), client(session)];
  server.sandbox.revokeTokens();
  await Promise.all(clients.flatMap((one) => Array.from({ length: 20 }, () => one.payments.list())));
  expect(grants()).toEqual(["authorization_code", "refresh_token"]);
  expect(events).toEqual([{ grant: "refresh_token", expiresInMs: 300_000 }]);
  // A client that is closed ends nothing but itself.
  await clients[0]?.close();
  server.sandbox.revokeTokens();
  expect(await payments(client(session))).toBe(0);
  expect([grants().length, events.length]).toEqual([3, 1]);
});

it("ends a session again that may have gone on, says so each time until it has ended, and gives no token", async () => {
  let isAway = false;
  const { server, login, client } = await openLogin({ onRequest: () => (isAway ? Response.error() : undefined) });
  const session = await logIn(login);
  isAway = true;
  for (let attempt = 0; attempt < 2; attempt++) {
    const error = await failureOf(session.logout());
    expect(error).toMatchObject({ code: "token_endpoint_unreachable" });
  }
  const failures = await Promise.allSettled([session.logout(), session.logout()]);
  expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isAway = false;
  expect(await failureOf(client(session).payments.list().then())).toMatchObject({ code: "login_required" });
  await Promise.all([session.logout(), session.logout()]);
  expect(hasEnded(server)).toBe(true);
});

// A session over requests and processes

it("continues a saved session in another process, each refresh token being sent once", async () => {
  const tokenStore = new MemoryTokenStore();
  const { server, options, login, client, grants } = await openLogin({ rotateRefreshTokens: true }, { tokenStore });
  const saved = (await logIn(login)).save();
  await using elsewhere = new ServerLogin(options);
  const [one, other] = [login.resume(saved), elsewhere.resume(saved)];
  expect(one.claims).toEqual(other.claims);
  await client(one).payments.list();
  await client(other).payments.list();
  expect(grants()).toEqual(["authorization_code"]);
  server.sandbox.revokeTokens();
  const clients = [client(one), client(other), client(login.resume(saved))];
  await Promise.all(clients.map((each) => each.payments.list()));
  server.sandbox.revokeTokens();
  await Promise.all(clients.map((each) => each.payments.list()));
  expect(new Set(grants().slice(1))).toEqual(new Set(["refresh_token"]));
  expect(server.sandbox.requests.filter(({ operation, status }) => operation === "token" && status !== 200)).toEqual(
    [],
  );
  expect(one.save()).toBe(saved);
});

it("ends a saved session for every process", async () => {
  const { server, login, client, grants } = await openLogin({ rotateRefreshTokens: true }, withStore());
  const saved = (await logIn(login)).save();
  const other = client(login.resume(saved));
  server.sandbox.revokeTokens();
  await other.payments.list();
  await login.resume(saved).logout();
  expect(server.sandbox.requests.at(-1)).toMatchObject({ path: server.sandbox.logoutPath, status: 204 });
  expect(await failureOf(client(login.resume(saved)).payments.list().then())).toMatchObject({ code: "session_ended" });
  expect(grants()).toEqual(["authorization_code", "refresh_token"]);
});

it("saves nothing without a store, and resumes nothing that was not saved", async () => {
  const { login } = await openLogin();
  const session = await logIn(login);
  expect(() => session.save()).toThrow(ConfigError);
  expect(() => session.save()).toThrow("ServerLogin: save needs a tokenStore; for one process, a MemoryTokenStore");
  expect(() => login.resume("{}")).toThrow("ServerLogin: resume needs a tokenStore");
  const { login: storing } = await openLogin({}, withStore());
  for (const saved of [{}, { refreshToken: "", claims: { sub: "s" } }, { refreshToken: "r", claims: { sub: 7 } }]) {
    expect(() => storing.resume(JSON.stringify(saved))).toThrow(
      new InvalidArgumentError("ServerLogin: saved is not a text of ServerSession.save"),
    );
  }
  expect(() => storing.resume("nothing")).toThrow(InvalidArgumentError);
  expect(() => storing.resume("")).toThrow("ServerLogin: saved is an empty string; expected: the text as it was given");
});

// What goes wrong

it("refuses a callback with another state, and requests nothing for it", async () => {
  const { login, grants } = await openLogin();
  const { url, pending } = await login.begin();
  const callback = await pressButton(url);
  const secrets = secretsOf(pending, callback);
  const forged = new URL(callback);
  forged.searchParams.set("state", `another-${crypto.randomUUID()}`);
  const others = (await login.begin()).pending;
  for (const attempt of [
    login.finish(forged, pending),
    login.finish(callback, others),
    login.finish(callback, undefined),
    login.finish(callback, "an old format"),
  ]) {
    expect(await failureOf(attempt, secrets)).toMatchObject({ code: "login_state_mismatch", effect: "none" });
  }
  expect(grants()).toEqual([]);
  expect((await login.finish(callback, pending)).claims.sub).toBe("gateway");
});

it("takes the issuer that it is told: the identity provider has another name inside", async () => {
  const sandbox = createSandbox();
  const { clientId, realm } = sandbox.credentials;
  const toPublicName: FetchLike = (url, init) => sandbox.fetch(url.replace("inside.test", "id.test"), init);
  const given = { authUrl: "https://inside.test", realm, clientId, redirectUri, fetch: toPublicName };
  for (const [issuer, outcome] of [
    ["https://id.test/auth/realms/sandbox", { claims: { sub: "gateway" } }],
    [undefined, { code: "login_issuer_mismatch" }],
  ] as const) {
    await using login = new ServerLogin({ ...given, issuer });
    const { url, pending } = await login.begin();
    const { headers } = await toPublicName(url, { method: "POST" });
    const finished = login.finish(headers.get("location") ?? "", pending);
    expect(await finished.catch((error: unknown) => error)).toMatchObject(outcome);
  }
});

// Options

const options = { authUrl: "https://id.test", realm: "r", clientId: "c", redirectUri: "https://bank.test/callback" };

it.each([
  [undefined, "ServerLogin: the options must be an object; got undefined"],
  [{ ...options, redirectUri: "https://bank.test/?a=b" }, "ServerLogin: redirectUri is an address with a query"],
  [{ ...options, redirectUri: "http://bank.test/" }, "ServerLogin: redirectUri is an http address"],
  [{ ...options, scope: "email" }, "ServerLogin: scope must be scopes separated by spaces"],
  [{ ...options, issuer: "" }, "ServerLogin: issuer is an empty string. Is the environment variable set?"],
  [{ ...options, clientAuthentication: "basic" }, 'ServerLogin: clientAuthentication is "basic", which needs'],
  [{ ...options, tokenStore: {} }, "ServerLogin: tokenStore must be a token store"],
  [{ ...options, fetch, tls: { ca: "" } }, "ServerLogin: tls and fetch exclude each other"],
  [{ ...options, username: "canary" }, 'ServerLogin: unknown option "username"'],
])("refuses the options of case %#", (given, message) => {
  const build = () => new ServerLogin(given as never);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(message);
  expect(build).not.toThrow("canary");
});

it("takes http addresses of other hosts where it is told to, and more scopes", async () => {
  const http = { authUrl: "http://id.test", redirectUri: "http://bank.test/", allowInsecureHttp: true };
  await using login = new ServerLogin({ ...options, ...http, scope: "email openid" });
  const { url } = await login.begin();
  expect(url).toMatch(/^http:\/\/id\.test\//);
  expect(new URL(url).searchParams.get("scope")).toBe("email openid");
});

it("sends nothing once it is closed, and can be closed again", async () => {
  const { login, grants } = await openLogin();
  await logIn(login);
  await login.close();
  await login.close();
  expect(await failureOf(logIn(login))).toMatchObject({ code: "token_endpoint_unreachable" });
  expect(grants()).toEqual(["authorization_code"]);
});

it("refuses a callback that is no address", async () => {
  const { login } = await openLogin();
  for (const callback of [undefined, 7, "http://["]) {
    await expect(login.finish(callback as never, "pending")).rejects.toThrow(InvalidArgumentError);
  }
  await expect(login.finish("/callback", "")).rejects.toThrow("pending is an empty string");
});

it("refuses options of a client that belong to the login", async () => {
  const { login, client } = await openLogin();
  const session = await logIn(login);
  expect(() => client(session, { tokenLeewayMs: 1 })).toThrow("give it to the ServerLogin");
  expect(() => client(session, withStore())).toThrow("give it to the ServerLogin");
});
