import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "../support/eventually.js";
import { callOnce, callSteadily, type GatewayFixture, livesByItsClaims, openGateway } from "./gateway-fixture.js";
import { isKeycloakRunning, logIn } from "./keycloak.js";

// Side by side, since most of them wait.
describe.runIf(isKeycloakRunning).concurrent("renewals", () => {
  it("cost one login and no call where the response to a refresh is lost under rotation", async () => {
    await using fixture = await openGateway({
      realm: { revokeRefreshToken: true, refreshTokenMaxReuse: 0, accessTokenLifespan: 10 },
    });
    fixture.service.accepts = livesByItsClaims;
    const client = fixture.client({ tokenLeewayMs: 5000 });
    await callOnce(client);
    fixture.proxy.losesResponses = true;
    const lost = until(() => fixture.proxy.tokenRequests.length === 2).then(() => {
      fixture.proxy.losesResponses = false;
    });
    const { failures } = await callSteadily(client, 50, sleep(12_000));
    await lost;
    expect(failures).toEqual([]);
    const [first, refresh, ...later] = fixture.proxy.tokenRequests;
    expect([first?.form.grant_type, refresh?.form.grant_type]).toEqual(["password", "refresh_token"]);
    expect(later.filter(({ form }) => form.grant_type === "password")).toHaveLength(1);
    // The one that may have been used up is never sent again.
    expect(later.map(({ form }) => form.refresh_token)).not.toContain(refresh?.form.refresh_token);
  });

  it("do not send a refresh token that has expired by refresh_expires_in", async () => {
    await using fixture = await openGateway({ realm: { accessTokenLifespan: 60, ssoSessionMaxLifespan: 10 } });
    const client = fixture.client();
    await callOnce(client);
    await sleep(10_500);
    await callOnce(client);
    expect(grants(fixture)).toEqual(["password", "password"]);
  });

  it("continue a session that somebody else began, until it has ended", async () => {
    await using fixture = await openGateway({ realm: { accessTokenLifespan: 8 } });
    const { refresh_token } = await logIn(fixture.realm);
    const { username: _u, password: _p, ...provider } = fixture.auth;
    const client = fixture.client({ auth: { ...provider, refreshToken: String(refresh_token) } });
    await callOnce(client);
    await sleep(8100);
    await callOnce(client);
    expect(await fixture.realm.sessions()).toBe(1);
    await fixture.realm.admin("POST", "/logout-all");
    const errors = await Promise.allSettled(Array.from({ length: 21 }, () => callOnce(client)));
    for (const error of errors) expect(error).toMatchObject({ reason: { code: "login_refused" } });
    expect(grants(fixture)).toEqual(["refresh_token", "refresh_token", "refresh_token"]);
  });
});

function grants({ proxy }: GatewayFixture): unknown[] {
  return proxy.tokenRequests.map(({ form }) => form.grant_type);
}
