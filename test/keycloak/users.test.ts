import { setTimeout as sleep } from "node:timers/promises";
import { ServerLogin, type TokenEvent } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callOnce, callSteadily, livesByItsClaims, openGateway } from "./gateway-fixture.js";
import { createRealm, isKeycloakRunning, keycloakOrigin, type Realm } from "./keycloak.js";
import { UserAgent } from "./user-agent.js";

const redirectUri = "https://bank.test/callback";
const forUsers = {
  standardFlowEnabled: true,
  directAccessGrantsEnabled: false,
  redirectUris: [redirectUri],
  attributes: { "pkce.code.challenge.method": "S256" },
};
/** Making a realm takes Keycloak seconds: all tests share this one, and each has its own client and user. */
const shortAndRotating = { revokeRefreshToken: true, refreshTokenMaxReuse: 0, accessTokenLifespan: 3 };
let shared: Realm | undefined;

async function openUsers() {
  const fixture = await openGateway({ within: shared, client: forUsers });
  const { clientId, clientSecret, username, password } = fixture.realm.credentials;
  // Not by way of the proxy: Keycloak names itself by the address of the request.
  const options = { authUrl: keycloakOrigin, realm: fixture.realm.name, clientId, clientSecret, redirectUri };
  const login = new ServerLogin(options);
  return {
    fixture,
    login,
    person: { username, password },
    async [Symbol.asyncDispose]() {
      await login.close();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

async function logIn({ login, person }: Awaited<ReturnType<typeof openUsers>>, agent = new UserAgent()) {
  const { url, pending } = await login.begin();
  return login.finish(await agent.logIn(url, person), pending);
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: unknown) => Object(error).code,
  );

describe.runIf(isKeycloakRunning).concurrent("users", () => {
  beforeAll(async () => {
    shared = await createRealm({ realm: shortAndRotating });
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());

  it("logs a user in through the real form, renews short tokens, and logs out", async () => {
    await using users = await openUsers();
    const { fixture, person } = users;
    const session = await logIn(users);
    expect(session.claims).toMatchObject({ sub: fixture.realm.userId, preferred_username: person.username });
    const events: TokenEvent[] = [];
    const client = fixture.client({ auth: session, on: { token: (event) => events.push(event) } });
    fixture.service.accepts = livesByItsClaims;
    const { calls, failures } = await callSteadily(client, 100, sleep(6000));
    expect(failures).toEqual([]);
    expect(fixture.service.served).toBe(calls);
    expect(events.length).toBeGreaterThanOrEqual(2);
    expect(events.length).toBeLessThanOrEqual(5);
    expect(await fixture.realm.sessions()).toBe(1);
    await session.logout();
    expect(await fixture.realm.sessions()).toBe(0);
    expect(await codeOf(callOnce(client))).toBe("login_required");
  });
});
