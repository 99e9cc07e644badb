import { AuthenticationError, CrossBorderError, type PasswordAuth, TokenError } from "cross-border-payments";
import { describe, expect, it, vi } from "vitest";
import { type Harness, harnesses } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it("makes one token request for 1,000 calls at once on a cold client", async () => {
    await using harness = await open();
    const client = harness.client();
    await Promise.all(Array.from({ length: 1000 }, () => client.liquidityProviders.list({ size: 1 })));
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
    expect(harness.sandbox.requests.filter(({ operation }) => operation === "liquidityProviders.list")).toHaveLength(
      1000,
    );
  });

  it("renews on expiry only, with the refresh token", async () => {
    let now = Date.now();
    await using harness = await open({ now: () => now, tokenLifetimeSeconds: 1 });
    const client = harness.client({ tokenLeewayMs: 0 });
    await client.liquidityProviders.list();
    await client.liquidityProviders.list();
    expect(grants(harness)).toEqual(["password"]);
    now += 1000;
    await new Promise((resolve) => setTimeout(resolve, 1010));
    await client.liquidityProviders.list();
    expect(grants(harness)).toEqual(["password", "refresh_token"]);
  });

  it("retries once with a new token after a 401", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.liquidityProviders.list();
    harness.sandbox.revokeTokens("all");
    await client.liquidityProviders.list();
    expect(grants(harness)).toEqual(["password", "refresh_token", "password"]);
  });

  it("stops after one wrong password, and does not show it", async () => {
    await using harness = await open();
    if (!("password" in harness.options.auth)) throw new Error("the harness has no password");
    const client = harness.client({ auth: { ...harness.options.auth, password: "not-the-password" } });
    for (let call = 0; call < 5; call++) {
      const error = await client.liquidityProviders.list().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TokenError);
      expect(error).toMatchObject({ effect: "none" });
      expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain("not-the-password");
    }
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("takes tokens from the caller's own source", async () => {
    await using harness = await open();
    const first = harness.client();
    await first.liquidityProviders.list();
    let asked = 0;
    const client = harness.client({
      auth: {
        accessToken: () => {
          asked += 1;
          return "not a token of the service".replaceAll(" ", "-");
        },
      },
    });
    const error = await client.liquidityProviders.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CrossBorderError);
    expect(error).toMatchObject({ effect: "none" });
    expect(asked).toBeGreaterThan(0);
  });

  it("holds renewals where new tokens are refused as well, and says what to check", async () => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? undefined : new Response("", { status: 401 })),
    });
    const client = harness.client();
    const errors: CrossBorderError[] = [];
    for (let call = 0; call < 100; call++) errors.push(await failureOf(client.liquidityProviders.list()));
    expect(errors[0]).toBeInstanceOf(AuthenticationError);
    for (const error of errors.slice(1)) expect(error).toMatchObject({ code: "token_rejected", effect: "none" });
    expect(errors[1]?.message).toMatch(/audience.*clocks/);
    expect(grants(harness)).toEqual(["password", "refresh_token"]);
  });

  it("does not hold renewals where each new token was accepted before it was refused", async () => {
    await using harness = await open();
    const client = harness.client();
    for (let revocation = 0; revocation < 4; revocation++) {
      await client.liquidityProviders.list();
      harness.sandbox.revokeTokens();
    }
    await client.liquidityProviders.list();
    expect(harness.sandbox.tokenRequests).toHaveLength(5);
  });

  it("logs in with the client's credentials in a header, and with secrets from functions", async () => {
    await using harness = await open({ credentials: { clientSecret: "s:e+c r€t" } });
    const { credentials } = harness.sandbox;
    const client = harness.client({
      auth: {
        ...passwordOf(harness),
        clientAuthentication: "basic",
        password: async () => credentials.password,
        clientSecret: () => credentials.clientSecret,
      },
    });
    await client.liquidityProviders.list();
    harness.sandbox.revokeTokens();
    await client.liquidityProviders.list();
    expect(harness.sandbox.tokenRequests.map(({ fields }) => fields)).toEqual([
      ["grant_type", "username", "password"],
      ["grant_type", "refresh_token"],
    ]);
  });

  it("logs in at once when a function returns another password than the refused one", async () => {
    await using harness = await open();
    let password = "not-the-password";
    const client = harness.client({ auth: { ...passwordOf(harness), password: () => password } });
    for (let call = 0; call < 3; call++)
      expect(await failureOf(client.liquidityProviders.list())).toBeInstanceOf(TokenError);
    password = harness.sandbox.credentials.password;
    await client.liquidityProviders.list();
    expect(harness.sandbox.tokenRequests).toHaveLength(2);
  });

  it("continues a session by its refresh token", async () => {
    await using harness = await open();
    const { authUrl, realm, clientId, clientSecret } = passwordOf(harness);
    const refreshToken = await refreshTokenOf(harness);
    const client = harness.client({ auth: { authUrl, realm, clientId, clientSecret, refreshToken } });
    await client.liquidityProviders.list();
    harness.sandbox.revokeTokens("all");
    expect(await failureOf(client.liquidityProviders.list())).toMatchObject({
      code: "login_refused",
      serviceCode: "invalid_grant",
    });
    expect(grants(harness)).toEqual(["password", "refresh_token", "refresh_token"]);
  });

  it("waits for an identity server that fails, until it is back", async () => {
    let isAway = true;
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" && isAway ? new Response("", { status: 503 }) : undefined),
    });
    const client = harness.client();
    const calls = Array.from({ length: 20 }, () => client.liquidityProviders.list().toArray({ max: 1 }));
    await vi.waitUntil(() => harness.sandbox.tokenRequests.length >= 4, { timeout: 15_000 });
    isAway = false;
    await Promise.all(calls);
    expect(await failureOf(harness.client({ maxRetries: 0 }).liquidityProviders.list())).toBeUndefined();
  });

  it("does not wait for an identity server that fails with maxRetries 0", async () => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? new Response("", { status: 503 }) : undefined),
    });
    const client = harness.client({ maxRetries: 0 });
    expect(await failureOf(client.liquidityProviders.list())).toMatchObject({ code: "token_endpoint_failing" });
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("ends the session on close where that was asked for", async () => {
    await using harness = await open();
    const client = harness.client({ auth: { ...passwordOf(harness), endSessionOnClose: true } });
    await client.liquidityProviders.list();
    await client.close();
    await client.close();
    const logouts = harness.sandbox.requests.filter(({ path }) => path === harness.sandbox.logoutPath);
    expect(logouts).toMatchObject([{ status: 204 }]);
  });

  it("lets calls under way finish when it is closed, and refuses later ones", async () => {
    await using harness = await open();
    const client = harness.client({ auth: { ...passwordOf(harness), endSessionOnClose: true } });
    // They need a token first.
    const calls = Array.from({ length: 20 }, () => client.liquidityProviders.create({ firstName: "Lina" }));
    const closings = [client.close(), client.close()];
    const late = await failureOf(client.liquidityProviders.create({ firstName: "Lina" }));
    expect(late).toMatchObject({ code: "client_closed", effect: "none" });
    await Promise.all([...calls, ...closings]);
    await client.close();
    await client[Symbol.asyncDispose]();
    expect(harness.sandbox.ledger.liquidityProviders).toHaveLength(20);
    expect(harness.sandbox.requests.at(-1)).toMatchObject({ path: harness.sandbox.logoutPath, status: 204 });
  });
});

function grants(harness: Harness): unknown[] {
  return harness.sandbox.tokenRequests.map(({ grantType }) => grantType);
}

async function failureOf(call: PromiseLike<unknown>): Promise<CrossBorderError> {
  return (await call.then(
    () => undefined,
    (error: unknown) => error,
  )) as CrossBorderError;
}

function passwordOf({ options: { auth } }: Harness): PasswordAuth {
  if (!("password" in auth)) throw new Error("the harness has no password");
  return auth;
}

/** Of a session that somebody else began. */
async function refreshTokenOf(harness: Harness): Promise<string> {
  const { authUrl, clientId, clientSecret, username, password } = {
    ...passwordOf(harness),
    ...harness.sandbox.credentials,
  };
  const form = { grant_type: "password", client_id: clientId, client_secret: clientSecret, username, password };
  const response = await fetch(authUrl + harness.sandbox.tokenPath, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  const { refresh_token } = (await response.json()) as { readonly refresh_token: string };
  return refresh_token;
}
