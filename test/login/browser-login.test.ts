import { inspect } from "node:util";
import { BrowserLogin, ConfigError, type CrossBorderClient, type LoginOptions } from "cross-border-payments";
import { afterEach, expect, it, vi } from "vitest";
import { callbackOf, currentPage } from "../../src/login/browser-login.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { withOneTokenKey } from "../support/one-token-key.js";
import { failureOf, openLogin, pressButton } from "./login-fixture.js";
import { Tab } from "./tab.js";

withOneTokenKey();

const appUrl = "https://bank.test/app";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A sandbox, and the options of a page that logs its users in there. */
async function openApp(...given: Parameters<typeof openLogin>) {
  const fixture = await openLogin(...given);
  const { authUrl, realm, clientId } = fixture.options;
  return { ...fixture, page: { authUrl, realm, clientId, redirectUri: appUrl } };
}

/** To the login page and back: the callback, and what its page then has. */
async function goAndComeBack(tab: Tab, page: LoginOptions) {
  const leaving = tab.leaves();
  void new BrowserLogin(page).redirect();
  const callback = await pressButton(await leaving);
  tab.href = callback.href;
  return { callback, login: new BrowserLogin(page) };
}

async function logIn(tab: Tab, page: LoginOptions): Promise<BrowserLogin> {
  const { login } = await goAndComeBack(tab, page);
  expect(await login.resume()).toBe(true);
  return login;
}

const payments = async (client: CrossBorderClient) => (await client.payments.list()).items.length;

it("goes to the login page and comes back with a user, whose tokens are in memory only", async () => {
  const { page, client, grants } = await openApp();
  const tab = new Tab(`${appUrl}?tab=2#rates`);
  const first = new BrowserLogin(page);
  expect([await first.resume(), first.claims]).toEqual([false, undefined]);
  const { callback, login } = await goAndComeBack(tab, page);
  expect([...tab.stored.values()].join()).toContain(callback.searchParams.get("state"));
  const gateway = client(login);
  expect(await login.resume()).toBe(true);
  expect([tab.href, [...tab.stored]]).toEqual([appUrl, []]);
  expect(login.claims).toMatchObject({ sub: "gateway" });
  expect(await payments(gateway)).toBe(0);
  expect(await login.resume()).toBe(true);
  expect(grants()).toEqual(["authorization_code"]);
  expect(inspect(login, { depth: 9, showHidden: true }) + JSON.stringify(login)).not.toMatch(/[\w-]{40}/);
});

it("logs out, and a new login works with the same client", async () => {
  const { server, page, client } = await openApp();
  const tab = new Tab(appUrl);
  const { login } = await goAndComeBack(tab, page);
  const gateway = client(login);
  await login.resume();
  await login.logout();
  expect([login.claims, await login.resume()]).toEqual([undefined, false]);
  expect(server.sandbox.requests.at(-1)).toMatchObject({ path: server.sandbox.logoutPath, status: 204 });
  expect(await failureOf(gateway.payments.list().then())).toMatchObject({ code: "login_required" });
  const leaving = tab.leaves();
  void login.redirect();
  tab.href = (await pressButton(await leaving)).href;
  expect(await login.resume()).toBe(true);
  expect(await payments(gateway)).toBe(0);
});

it.each([
  ["nothing is lost", undefined, ["token", "logout"]],
  ["its login is lost", "token", ["token"]],
  ["it is lost", "logout", ["token", "logout"]],
])("ends the session of a login that is coming back, or says that it may continue: %s", async (_, lost, asked) => {
  const seen: string[] = [];
  const { page } = await openApp({
    onResponse: ({ path }) => {
      const name = path.split("/").at(-1) ?? "";
      if (name !== "auth") seen.push(name);
      return name === lost ? Response.error() : undefined;
    },
  });
  const { login } = await goAndComeBack(new Tab(appUrl), page);
  const resumed = login.resume().catch(() => false);
  const code = await login.logout().catch((error: unknown) => Object(error).code);
  expect(code).toBe(lost && "token_endpoint_unreachable");
  await resumed;
  expect([login.claims, await login.resume()]).toEqual([undefined, false]);
  expect(seen).toEqual(asked);
});

it("does not leave the page for the login page before the session is ended", async () => {
  const { promise: ended, resolve: end } = deferred<undefined>();
  const { server, page } = await openApp({
    onRequest: ({ path }) => (path.endsWith("/logout") ? ended : undefined),
  });
  const tab = new Tab(appUrl);
  const login = await logIn(tab, page);
  const left = vi.fn();
  void tab.leaves().then(() => left(server.sandbox.requests.at(-1)?.status));
  const loggedOut = login.logout();
  void login.redirect();
  await eventually(() => expect(server.sandbox.requests.at(-1)?.path).toMatch(/logout$/));
  end(undefined);
  await loggedOut;
  await eventually(() => expect(left).toHaveBeenCalledWith(204));
});

it("says that the session was ended, and that nobody is logged in from then on", async () => {
  const { server, page, client } = await openApp();
  const tab = new Tab(appUrl);
  const login = await logIn(tab, page);
  const gateway = client(login);
  server.sandbox.revokeTokens("all");
  expect(await failureOf(gateway.payments.list().then())).toMatchObject({ code: "session_ended" });
  expect([await login.resume(), login.claims]).toEqual([false, undefined]);
  expect((await logIn(tab, page)).claims?.sub).toBe("gateway");
});

it.each([
  ["another state", (url: URL) => url.searchParams.set("state", "another"), "login_state_mismatch"],
  ["another issuer", (url: URL) => url.searchParams.set("iss", "https://evil.test"), "login_issuer_mismatch"],
  ["a code that is none", (url: URL) => url.searchParams.set("code", "none"), "login_code_refused"],
  [
    "a refusal",
    (url: URL) => {
      url.searchParams.delete("code");
      url.searchParams.set("error", "access_denied");
    },
    "login_denied",
  ],
])(
  "refuses a callback with %s: nothing is stored, the address is clean, and a new login works",
  async (_, change, code) => {
    const { page } = await openApp();
    const tab = new Tab(appUrl);
    const { callback, login } = await goAndComeBack(tab, page);
    const secrets = [...tab.stored.values()].flatMap((text) => Object.values<string>(JSON.parse(text)));
    const changed = new URL(callback);
    change(changed);
    tab.href = changed.href;
    const error = await failureOf(login.resume(), [...secrets, callback.searchParams.get("code") ?? ""]);
    expect(error).toMatchObject({ code, effect: "none" });
    expect([tab.href, [...tab.stored], login.claims]).toEqual([appUrl, [], undefined]);
    expect((await logIn(tab, page)).claims?.sub).toBe("gateway");
  },
);

it("refuses a callback that comes again, or that nobody in this tab waits for", async () => {
  const { page, grants } = await openApp();
  const tab = new Tab(appUrl);
  const { callback, login } = await goAndComeBack(tab, page);
  await login.resume();
  tab.href = callback.href;
  const again = new BrowserLogin(page);
  expect(await failureOf(again.resume())).toMatchObject({ code: "login_state_mismatch" });
  expect([tab.href, await again.resume()]).toEqual([appUrl, false]);
  expect(grants()).toEqual(["authorization_code"]);
});

it("forgets a login that was left, and begins anew where the browser shows the page as it was", async () => {
  const { page } = await openApp();
  const tab = new Tab(appUrl);
  await goAndComeBack(tab, page);
  tab.goBack(false);
  expect(tab.reloads).toBe(0);
  tab.goBack(true);
  expect(tab.reloads).toBe(1);
  tab.href = appUrl;
  expect([await new BrowserLogin(page).resume(), [...tab.stored]]).toEqual([false, []]);
});

it("says where it can't run", async () => {
  const { page } = await openApp();
  const login = new BrowserLogin(page);
  await expect(login.resume()).rejects.toThrow("there is no page here");
  new Tab(appUrl);
  vi.stubGlobal("crypto", {});
  await expect(login.redirect()).rejects.toThrow("only if it was loaded over https");
});

it.each<[string, string | undefined, string | undefined]>([
  ["https://bank.test/app?state=s&code=", undefined, "state=s&code="],
  ["https://bank.test/app?state=s&error=e", undefined, "state=s&error=e"],
  ["https://bank.test/app?state=s", "s", undefined],
  ["https://bank.test/app?code=c&error=e", "s", undefined],
  ["https://bank.test/other?state=s&code=c", "s", "state=s&code=c"],
  ["https://bank.test/other?state=s&code=c", "t", undefined],
  ["https://other.test/app?state=s&code=c", undefined, undefined],
])("finds the callback in %s, where %s has begun: %s", (href, begun, query) => {
  new Tab(href);
  expect(callbackOf(currentPage(), appUrl, begun)?.toString()).toBe(query);
});

const options = { authUrl: "https://id.test", realm: "r", clientId: "c", redirectUri: appUrl };

it.each([
  [{ ...options, clientSecret: "canary" }, "BrowserLogin: clientSecret must be left out in a page"],
  [{ ...options, clientAuthentication: "basic" }, "BrowserLogin: clientAuthentication"],
  [{ ...options, redirectUri: `${appUrl}#top` }, "BrowserLogin: redirectUri is an address with a fragment"],
  [{ ...options, tokenStore: {} }, 'BrowserLogin: unknown option "tokenStore"'],
])("refuses the options of case %#", (given, message) => {
  const build = () => new BrowserLogin(given as never);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(message);
  expect(build).not.toThrow("canary");
});
