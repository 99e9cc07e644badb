import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { callOnce, callSteadily, type GatewayFixture, livesByItsClaims, openGateway } from "./gateway-fixture.js";
import type { IdentityProxy } from "./identity-proxy.js";
import { isKeycloakRunning } from "./keycloak.js";

const outages: readonly [string, (proxy: IdentityProxy) => unknown, (proxy: IdentityProxy) => unknown][] = [
  ["refuses connections", (proxy) => proxy.refuse(), (proxy) => proxy.listen()],
  ["responds with 503", (proxy) => setMode(proxy, "fail"), (proxy) => setMode(proxy, "pass")],
];

describe.runIf(isKeycloakRunning).concurrent("an identity server that is away", () => {
  it.each(outages)(
    "fails no call that has time, and is used within 3 s of its return: it %s",
    async (_, away, back) => {
      await using fixture = await openOutage(3);
      const client = fixture.client({ timeoutMs: 60_000 });
      await callOnce(client);
      let backAtMs = 0;
      const outage = async () => {
        await away(fixture.proxy);
        await sleep(6000);
        await back(fixture.proxy);
        backAtMs = performance.now();
        await sleep(4000);
      };
      const { calls, failures, lagMs } = await callSteadily(client, 50, outage());
      expect(failures).toEqual([]);
      expect(fixture.service.served).toBe(calls + 1);
      const first = fixture.proxy.tokenRequests.find(({ atMs }) => atMs >= backAtMs);
      expect((first?.atMs ?? Number.POSITIVE_INFINITY) - backAtMs).toBeLessThan(3500 + 3 * lagMs);
      expect(fixture.proxy.mostInFlight).toBe(1);
      // Seconds of tries: they back off.
      expect(fixture.proxy.tokenRequests.length).toBeLessThan(25);
    },
  );

  it("costs no call anything while the token lives", async () => {
    await using fixture = await openOutage(24);
    const client = fixture.client({ tokenLeewayMs: 12_000, timeoutMs: 10_000, maxRetries: 0 });
    await callOnce(client);
    await fixture.proxy.refuse();
    // Renewed in vain for a second, with ten left for a busy machine.
    const { failures } = await callSteadily(client, 50, sleep(13_000));
    expect(failures).toEqual([]);
  });
});

describe.runIf(isKeycloakRunning)("an identity server", () => {
  it("that hangs for 12 s gets one login at a time, and is left with two sessions at most", async () => {
    await using fixture = await openOutage(60);
    const client = fixture.client();
    fixture.proxy.mode = "hold";
    const hanging = sleep(12_000).finally(() => setMode(fixture.proxy, "pass"));
    const { failures } = await callSteadily(client, 500, hanging, 2000);
    expect(failures.length).toBeGreaterThan(0);
    await callOnce(client, 60_000);
    expect(fixture.proxy.tokenRequests.length).toBeLessThanOrEqual(3);
    expect(await fixture.realm.sessions()).toBeLessThanOrEqual(2);
  });
});

/** Tokens of this many seconds, and a service that needs no identity server. */
async function openOutage(accessTokenLifespan: number): Promise<GatewayFixture> {
  const fixture = await openGateway({ realm: { accessTokenLifespan } });
  fixture.service.accepts = livesByItsClaims;
  return fixture;
}

function setMode(proxy: IdentityProxy, mode: IdentityProxy["mode"]): void {
  proxy.mode = mode;
}
