import { AuthenticationError, CrossBorderError, TokenError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
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

  it("renews once for all the calls that a revoked token fails", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.liquidityProviders.list();
    harness.sandbox.revokeTokens();
    await Promise.all(Array.from({ length: 50 }, () => client.liquidityProviders.list()));
    expect(grants(harness)).toEqual(["password", "refresh_token"]);
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

  it("gives up with AuthenticationError when a new token is refused as well", async () => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? undefined : new Response("", { status: 401 })),
    });
    const error = await harness
      .client()
      .liquidityProviders.list()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(harness.sandbox.tokenRequests.length).toBeLessThanOrEqual(2);
  });
});

function grants(harness: Harness): unknown[] {
  return harness.sandbox.tokenRequests.map(({ grantType }) => grantType);
}
