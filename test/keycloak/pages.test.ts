import { setTimeout as sleep } from "node:timers/promises";
import { BrowserLogin } from "cross-border-payments";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Tab } from "../login/tab.js";
import { callOnce, callSteadily, livesByItsClaims, openGateway } from "./gateway-fixture.js";
import { isKeycloakRunning, keycloakOrigin } from "./keycloak.js";
import { UserAgent } from "./user-agent.js";

const origin = "https://bank.test";
const redirectUri = `${origin}/teller`;
const forPages = {
  publicClient: true,
  standardFlowEnabled: true,
  directAccessGrantsEnabled: false,
  redirectUris: [redirectUri],
  webOrigins: [origin],
  attributes: { "pkce.code.challenge.method": "S256" },
};

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A browser's fetch, for the page's own requests: it says where the page is from, and shows it no response that is not meant for it. */
function browserFetch(realm: string): typeof fetch {
  const { fetch } = globalThis;
  const own = new RegExp(`/realms/${realm}/protocol/openid-connect/(?:token|logout)$`);
  return async (input, init) => {
    if (!own.test(String(input))) return fetch(input, init);
    const response = await fetch(input, { ...init, headers: { ...init?.headers, origin } });
    if (response.headers.get("access-control-allow-origin") === origin) return response;
    throw new TypeError("Failed to fetch");
  };
}

describe.runIf(isKeycloakRunning)("pages", () => {
  it("keeps two tabs of one user apart under rotation, shows the form once, and logs both out", async () => {
    const realm = { revokeRefreshToken: true, refreshTokenMaxReuse: 0, accessTokenLifespan: 3 };
    await using fixture = await openGateway({ realm, client: forPages });
    fixture.service.accepts = livesByItsClaims;
    const { clientId, username, password } = fixture.realm.credentials;
    const options = { authUrl: keycloakOrigin, realm: fixture.realm.name, clientId, redirectUri };
    vi.stubGlobal("fetch", browserFetch(fixture.realm.name));
    const agent = new UserAgent();
    const openTab = async (fields: Readonly<Record<string, string>>) => {
      const tab = new Tab(redirectUri);
      const leaving = tab.leaves();
      void new BrowserLogin(options).redirect();
      const callback = await agent.logIn(await leaving, fields);
      tab.href = callback.href;
      const login = new BrowserLogin(options);
      expect([await login.resume(), tab.href, [...tab.stored]]).toEqual([true, redirectUri, []]);
      return login;
    };
    const one = await openTab({ username, password });
    const other = await openTab({});
    expect(one.claims?.sub).toBe(fixture.realm.userId);
    const clients = [one, other].map((auth) => fixture.client({ auth }));
    const paces = await Promise.all(clients.map((client) => callSteadily(client, 100, sleep(6000))));
    expect(paces.flatMap(({ failures }) => failures)).toEqual([]);
    await one.logout();
    expect(await fixture.realm.sessions()).toBe(0);
    fixture.service.accepts = () => false;
    const codes = clients.map((client) => callOnce(client).catch((error: unknown) => Object(error).code));
    expect(await Promise.all(codes)).toEqual(["login_required", "session_ended"]);
    expect([one.claims, other.claims]).toEqual([undefined, undefined]);
  });
});
