import { CrossBorderClient } from "cross-border-payments";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

beforeEach(async () => {
  // Loading takes real time, which a fake clock can't advance.
  await Promise.all([import("openid-client"), import("zod/v4/core")]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], now: Date.UTC(2030, 0, 1) });
});

afterEach(() => void vi.useRealTimers());

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * A client of a service with an identity server, both behind a `fetch`. The server's clock runs as the client's monotonic clock does,
 * and can be set forward alone, as if the client's machine slept.
 */
function simulate(lifetimeMs: number) {
  const server = { aheadMs: 0 };
  const nowMs = () => performance.now() + server.aheadMs;
  const grantedAtMs: number[] = [];
  /** How often each token was sent after it had expired. */
  const sentExpired = new Map<number, number>();
  const client = new CrossBorderClient({
    baseUrl: "https://service.test",
    auth: { authUrl: "https://id.test", realm: "realm", clientId: "client", username: "user", password: "password" },
    fetch: async (url, init) => {
      if (String(url).includes("/openid-connect/token")) {
        const access_token = `token-${grantedAtMs.push(nowMs()) - 1}`;
        const more = { refresh_token: "refresh", token_type: "Bearer", expires_in: lifetimeMs / second };
        return Response.json({ access_token, ...more });
      }
      const token = Number(new Headers(init?.headers).get("authorization")?.slice("Bearer token-".length));
      if (nowMs() < (grantedAtMs[token] ?? Number.NEGATIVE_INFINITY) + lifetimeMs) return Response.json({ id: "1" });
      sentExpired.set(token, (sentExpired.get(token) ?? 0) + 1);
      return Response.json({ error: "unauthorized" }, { status: 401 });
    },
  });
  return {
    server,
    grantedAtMs,
    sentExpired,
    /** Calls at a steady pace. A call that fails ends the test. */
    async run(durationMs: number, everyMs: number): Promise<void> {
      for (let passedMs = 0; passedMs < durationMs; passedMs += everyMs) {
        await client.paymentIntents.get("intent-1");
        // A renewal that the call began belongs to no call: it ends by itself, in no time.
        for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
        vi.advanceTimersByTime(everyMs);
      }
    },
  };
}

it.each([1, 60, 3600])("requests one token per lifetime of %i s, and sends none that has expired", async (seconds) => {
  const lifetimeMs = seconds * second;
  const everyMs = lifetimeMs / 20;
  const lifetimes = 30;
  const leewayMs = Math.min(5 * second, lifetimeMs / 10);
  const { grantedAtMs, sentExpired, run } = simulate(lifetimeMs);
  await run(lifetimes * lifetimeMs, everyMs);
  // The first call after the leeway begins requests a token.
  const periodMs = Math.ceil((lifetimeMs - leewayMs) / everyMs) * everyMs;
  expect(grantedAtMs).toHaveLength(Math.ceil((lifetimes * lifetimeMs) / periodMs));
  expect(sentExpired.size).toBe(0);
});

/** What happens to the client's wall clock and to the server's time. */
const jumps = [
  // How often an expired token may be sent: only where none of the client's clocks can show that it has expired.
  { name: "the wall clock is set an hour forward", wallMs: hour, serverMs: 0, expiredSends: 0 },
  { name: "the wall clock is set an hour back", wallMs: -hour, serverMs: 0, expiredSends: 0 },
  { name: "the machine sleeps for an hour", wallMs: hour, serverMs: hour, expiredSends: 0 },
  { name: "the machine is frozen for an hour and its clocks with it", wallMs: 0, serverMs: hour, expiredSends: 1 },
  { name: "its wall clock is set back by two in that hour", wallMs: -hour, serverMs: hour, expiredSends: 1 },
];

describe.each([60, 3600])("tokens of %i s", (seconds) => {
  it.each(jumps)("cause no storm of requests when $name", async ({ wallMs, serverMs, expiredSends }) => {
    const { server, grantedAtMs, sentExpired, run } = simulate(seconds * second);
    await run(2 * minute, second);
    const before = grantedAtMs.length;
    vi.setSystemTime(Date.now() + wallMs);
    server.aheadMs += serverMs;
    await run(10 * second, second / 4);
    expect(grantedAtMs.length - before).toBeLessThanOrEqual(2);
    await run(5 * minute, second);
    vi.setSystemTime(Date.now() - wallMs);
    await run(5 * minute, second);
    for (const [index, atMs] of grantedAtMs.entries()) {
      expect((grantedAtMs[index + 2] ?? Number.POSITIVE_INFINITY) - atMs).toBeGreaterThanOrEqual(10 * second);
    }
    for (const times of sentExpired.values()) expect(times).toBeLessThanOrEqual(expiredSends);
  });
});
