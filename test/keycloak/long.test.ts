import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { callOnce, callSteadily, livesByItsClaims, openGateway } from "./gateway-fixture.js";
import { halt, isKeycloakRunning, restart, resume } from "./keycloak.js";

const isLong = isKeycloakRunning && process.env.CBP_KEYCLOAK_LONG === "1";

describe.runIf(isLong)("for minutes", () => {
  it("fails no call in 3 minutes of tokens of 10 s", async () => {
    await using fixture = await openGateway({ realm: { accessTokenLifespan: 10 } });
    const { calls, failures } = await callSteadily(fixture.client(), 50, sleep(180_000));
    expect(failures).toEqual([]);
    expect(fixture.service.served).toBe(calls);
    expect(fixture.proxy.tokenRequests.length).toBeLessThanOrEqual(1 + Math.ceil(180 / 8.5));
    expect(fixture.proxy.tokenRequests.filter(({ form }) => form.grant_type === "password")).toHaveLength(1);
  });

  it("fails no call that has time while Keycloak restarts", async () => {
    await using fixture = await openGateway({ realm: { accessTokenLifespan: 10 } });
    fixture.service.accepts = livesByItsClaims;
    const client = fixture.client({ timeoutMs: 120_000 });
    await callOnce(client);
    const { calls, failures } = await callSteadily(
      client,
      100,
      restart().then(() => sleep(4000)),
    );
    expect(failures).toEqual([]);
    expect(fixture.service.served).toBe(calls + 1);
  });

  it("fails no call that has time while a proxy responds with 503 for 20 s, and is back within 3 s", async () => {
    await using fixture = await openGateway({ realm: { accessTokenLifespan: 10 } });
    fixture.service.accepts = livesByItsClaims;
    const client = fixture.client({ timeoutMs: 30_000 });
    await callOnce(client);
    fixture.proxy.mode = "fail";
    let backAtMs = 0;
    const outage = sleep(20_000).then(() => {
      fixture.proxy.mode = "pass";
      backAtMs = performance.now();
      return sleep(5000);
    });
    const { failures } = await callSteadily(client, 50, outage);
    expect(failures).toEqual([]);
    const first = fixture.proxy.tokenRequests.find(({ atMs }) => atMs >= backAtMs);
    expect((first?.atMs ?? Number.POSITIVE_INFINITY) - backAtMs).toBeLessThan(3500);
  });

  it("leaves one session for each 10 s that Keycloak hangs, whatever the deadlines of calls", async () => {
    await using fixture = await openGateway();
    fixture.service.accepts = livesByItsClaims;
    const client = fixture.client();
    halt();
    const { failures } = await callSteadily(client, 500, sleep(45_000).finally(resume), 2000);
    expect(failures.length).toBeGreaterThan(0);
    await callOnce(client, 60_000);
    expect(fixture.proxy.mostInFlight).toBe(1);
    expect(await fixture.realm.sessions()).toBeLessThanOrEqual(5);
  });
});
