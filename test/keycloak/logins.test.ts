import { inspect } from "node:util";
import { type CrossBorderClient, type PasswordAuth, TokenError, type TokenErrorCode } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callOnce, type GatewayFixture, openGateway } from "./gateway-fixture.js";
import { createRealm, isKeycloakRunning, logIn, type Realm, type RealmOptions } from "./keycloak.js";

describe.runIf(isKeycloakRunning)("logins", () => {
  it("works with a realm that demands client_secret_basic, whatever the secret is made of", async () => {
    const clientSecret = `s:e+c r€t%/=${crypto.randomUUID()}`;
    const attributes = { "client.secret.authentication.allowed.method": "client_secret_basic" };
    await using fixture = await openGateway({ client: { secret: clientSecret, attributes } });
    const auth = { ...fixture.auth, clientSecret, clientAuthentication: "basic", endSessionOnClose: true } as const;
    const client = fixture.client({ auth });
    await callOnce(client);
    await fixture.realm.admin("POST", "/logout-all");
    await callOnce(client);
    await client.close();
    expect(fixture.proxy.seen.map(({ endpoint, form, status }) => [endpoint, form.grant_type, status])).toEqual([
      ["token", "password", 200],
      ["token", "refresh_token", 400],
      ["token", "password", 200],
      ["logout", undefined, 204],
    ]);
    expect(await fixture.realm.sessions()).toBe(0);
  });

  it("never trips the lockout of a realm that locks after three failures", async () => {
    await using fixture = await openGateway({ realm: { bruteForceProtected: true, failureFactor: 3 } });
    let password = "wrong";
    const client = fixture.client({ auth: { ...fixture.auth, password: () => password } });
    for (let call = 0; call < 21; call++) expect(await failureOf(client)).toBeInstanceOf(TokenError);
    expect(fixture.proxy.tokenRequests).toHaveLength(1);
    const { realm } = fixture;
    expect(await realm.admin("GET", `/attack-detection/brute-force/users/${realm.userId}`)).toMatchObject({
      disabled: false,
      numFailures: 1,
    });
    password = fixture.auth.password as string;
    await callOnce(client);
    expect(fixture.proxy.tokenRequests).toHaveLength(2);
  });
});

interface RefusedLogin {
  readonly name: string;
  /** Default: `login_refused`, which holds logins for a minute. The others hold them for 3 s. */
  readonly code?: TokenErrorCode;
  /** It needs a realm of its own. */
  readonly alone?: true;
  readonly realm?: RealmOptions;
  readonly auth?: Partial<PasswordAuth>;
  readonly before?: (fixture: GatewayFixture) => Promise<unknown>;
}

const refusedLogins: readonly RefusedLogin[] = [
  { name: "a wrong password", auth: { password: `wrong-${crypto.randomUUID()}` } },
  { name: "a disabled user", realm: { user: { enabled: false } } },
  { name: "a password that has to be changed", realm: { user: { requiredActions: ["UPDATE_PASSWORD"] } } },
  { name: "a wrong client secret", auth: { clientSecret: `wrong-${crypto.randomUUID()}` } },
  { name: "an unknown client", auth: { clientId: "no-such-client" } },
  { name: "a client without the password grant", realm: { client: { directAccessGrantsEnabled: false } } },
  { name: "an unknown realm", code: "token_endpoint_not_found", auth: { realm: "no-such-realm" } },
  {
    name: "a disabled realm",
    code: "token_endpoint_blocked",
    alone: true,
    before: ({ realm }) => realm.admin("PUT", "", { enabled: false }),
  },
  {
    name: "a locked account",
    alone: true,
    realm: { realm: { bruteForceProtected: true, failureFactor: 1, waitIncrementSeconds: 600 } },
    before: ({ realm }) => logIn(realm, { password: "wrong" }),
  },
];

describe.runIf(isKeycloakRunning)("a refused login", () => {
  let shared: Realm | undefined;
  beforeAll(async () => {
    shared = await createRealm();
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());

  it.each(refusedLogins)("is one request for 21 calls, and shows no secret: $name", async (refused) => {
    const { alone, realm, auth, before, code = "login_refused" } = refused;
    await using fixture = await openGateway({ ...realm, within: alone === true ? undefined : shared });
    await before?.(fixture);
    const client = fixture.client({ auth: { ...fixture.auth, ...auth } });
    const errors = await Promise.all(Array.from({ length: 20 }, () => failureOf(client)));
    errors.push(await failureOf(client));
    expect(fixture.proxy.tokenRequests).toHaveLength(1);
    const [{ status, body = "{}" } = {}] = fixture.proxy.tokenRequests;
    const { error: serviceCode, error_description: serviceMessage } = JSON.parse(body);
    const { clientId: _, realm: __, ...secrets } = { realm: "", ...fixture.realm.credentials, ...auth };
    for (const error of errors) {
      expect(error).toMatchObject({ code, effect: "none", status, serviceCode });
      expect(error.serviceMessage).toBe(serviceMessage);
      expect((error.heldUntilMs ?? 0) - Date.now() > 30_000).toBe(code === "login_refused");
      const shown = `${inspect(error, { showHidden: true, depth: 9 })}${JSON.stringify(error)}${error.stack}`;
      for (const secret of Object.values(secrets)) expect(shown).not.toContain(secret);
    }
    // So that the realm can be removed.
    if (alone === true) await fixture.realm.admin("PUT", "", { enabled: true });
  });
});

async function failureOf(client: CrossBorderClient): Promise<TokenError> {
  const error = await callOnce(client).catch((thrown: unknown) => thrown);
  if (error instanceof TokenError) return error;
  throw error;
}
