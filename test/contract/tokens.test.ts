import { describe, expect, it, onTestFinished, vi } from "vitest";
import { errorOf } from "../support/error-of.js";
import { runs } from "../support/thorough.js";
import { grantsIn, type Harness, harnesses } from "./harness.js";

const tokensIn = ({ requests }: Harness) =>
  requests.filter(({ name }) => name !== "token").map(({ headers }) => headers.get("authorization"));

describe.each(harnesses)("$name", ({ open }) => {
  it("makes one token request for hundreds of calls at once on a cold client", async () => {
    const harness = await open();
    const client = harness.client();
    const count = runs(1000);
    await Promise.all(Array.from({ length: count }, () => client.liquidityProviders.list({ size: 1 })));
    expect(grantsIn(harness)).toEqual(["password"]);
    // On a busy machine, reads may be sent again.
    expect(tokensIn(harness).length).toBeGreaterThanOrEqual(count);
    expect(new Set(tokensIn(harness)).size).toBe(1);
  });

  it("renews on expiry only, with the refresh token", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const harness = await open({ tokenLifetimeSeconds: 60 });
    const client = harness.client();
    await client.liquidityProviders.list();
    await client.liquidityProviders.list();
    expect(grantsIn(harness)).toEqual(["password"]);
    vi.advanceTimersByTime(61_000);
    await client.liquidityProviders.list();
    expect(grantsIn(harness)).toEqual(["password", "refresh_token"]);
    expect(new Set(tokensIn(harness)).size).toBe(2);
  });

  it("takes tokens from the caller's own source", async () => {
    const harness = await open();
    await harness.client().liquidityProviders.list();
    const [authorization] = tokensIn(harness);
    const accessToken = vi.fn(() => authorization?.slice("Bearer ".length) ?? "");
    await harness.client({ auth: { accessToken } }).liquidityProviders.list();
    expect(accessToken).toHaveBeenCalled();
    expect(grantsIn(harness)).toEqual(["password"]);
    harness.revokeTokens();
    const refused = harness.client({ auth: { accessToken } }).liquidityProviders.list();
    expect(await errorOf(refused)).toMatchObject({ code: "token_rejected", effect: "none" });
  });

  it("lets calls under way finish when it is closed, and refuses later ones", async () => {
    const harness = await open();
    const client = harness.client();
    // They need a token first.
    const calls = Array.from({ length: 20 }, () => client.liquidityProviders.create({ firstName: "Lina" }));
    const closings = [client.close(), client.close()];
    const late = await errorOf(client.liquidityProviders.create({ firstName: "Lina" }));
    expect(late).toMatchObject({ code: "client_closed", effect: "none" });
    await Promise.all([...calls, ...closings]);
    await client[Symbol.asyncDispose]();
    expect(tokensIn(harness)).toHaveLength(20);
  });
});
