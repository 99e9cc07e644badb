import { CrossBorderError, type PasswordAuth, TokenError } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { errorOf } from "../support/error-of.js";
import { runs } from "../support/thorough.js";
import { type Harness, harnesses, prepareCorridor } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it("makes one token request for hundreds of calls at once on a cold client", async () => {
    await using harness = await open();
    const client = harness.client();
    const count = runs(1000);
    await Promise.all(Array.from({ length: count }, () => client.liquidityProviders.list({ size: 1 })));
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
    const lists = harness.sandbox.requests.filter(({ operation }) => operation === "liquidityProviders.list");
    expect(lists).toHaveLength(count);
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

  it("requests one token per lifetime while flows make payments, however long their leases are", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    await using harness = await open({ tokenLifetimeSeconds: 60 });
    const { client } = await prepareCorridor(harness);
    const flow = new PaymentFlow({
      client,
      journal: new MemoryJournal(),
      takeFunds: ({ key }) => ({ senderGatewayTransactionId: key, replayed: false }),
      releaseFunds: () => {},
      leaseMs: 120_000,
    });
    for (let payment = 0; payment < 18; payment += 1) {
      expect(await flow.run(`order-${payment}`, intentRequest)).toMatchObject({ status: "paid" });
      vi.advanceTimersByTime(10_000);
    }
    expect(grants(harness).length).toBeLessThanOrEqual(4);
  });

  it.each([
    [
      "Keycloak's 403",
      { error: "access_denied", error_description: "Realm not enabled" },
      403,
      "token_endpoint_blocked",
    ],
    ["a 404", { error: "Realm does not exist" }, 404, "token_endpoint_not_found"],
  ] as const)("fails at once on %s, and names the address", async (_, body, status, code) => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? Response.json(body, { status }) : undefined),
    });
    const error = await errorOf(harness.client().liquidityProviders.list());
    expect(error).toMatchObject({
      code,
      status,
      effect: "none",
      message: expect.stringContaining("/openid-connect/token"),
    });
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("gives a login as long as auth.timeoutMs says", async () => {
    await using harness = await open({
      onRequest: async ({ operation }) => {
        if (operation === "token") await new Promise((resolve) => setTimeout(resolve, 300));
        return undefined;
      },
    });
    const auth = { ...passwordOf(harness), timeoutMs: 30 };
    const error = await errorOf(harness.client({ auth, maxRetries: 0 }).liquidityProviders.list());
    expect(error).toMatchObject({ code: "token_endpoint_unreachable", cause: { code: "DEADLINE" } });
    await harness.client({ auth: { ...auth, timeoutMs: 60_000 } }).liquidityProviders.list();
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

  it("does not wait for an identity server that fails with maxRetries 0", async () => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? new Response("", { status: 503 }) : undefined),
    });
    const client = harness.client({ maxRetries: 0 });
    expect(await errorOf(client.liquidityProviders.list())).toMatchObject({ code: "token_endpoint_failing" });
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
    const late = await errorOf(client.liquidityProviders.create({ firstName: "Lina" }));
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

function passwordOf({ options: { auth } }: Harness): PasswordAuth {
  if (!("password" in auth)) throw new Error("the harness has no password");
  return auth;
}
