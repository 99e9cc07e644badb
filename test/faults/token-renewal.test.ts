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
 * The service and its identity server behind a `fetch`, with a clock of their own. It runs as the client's monotonic clock does
 * and can be set forward alone: the server's time goes on while the client's machine sleeps.
 */
class SimulatedService {
  readonly tokenRequestsAtMs: number[] = [];
  /** How often each token was sent after it had expired. */
  readonly sentExpired = new Map<string, number>();
  /** How far the server's clock is ahead of this process's monotonic clock. */
  aheadMs = 0;
  readonly #lifetimeMs: number;
  readonly #expiry = new Map<string, number>();

  constructor(lifetimeMs: number) {
    this.#lifetimeMs = lifetimeMs;
  }

  get nowMs(): number {
    return performance.now() + this.aheadMs;
  }

  readonly fetch = async (
    url: string,
    init: { readonly headers?: unknown; readonly method?: string },
  ): Promise<Response> => {
    if (String(url).includes("/openid-connect/token")) return this.#grant();
    const token = (new Headers(init.headers as Record<string, string>).get("authorization") ?? "").slice(
      "Bearer ".length,
    );
    const expiry = this.#expiry.get(token) ?? Number.NEGATIVE_INFINITY;
    if (this.nowMs < expiry) {
      return Response.json({ id: "intent-1" });
    }
    this.sentExpired.set(token, (this.sentExpired.get(token) ?? 0) + 1);
    return Response.json({ error: "unauthorized" }, { status: 401 });
  };

  /** The most token requests in any period of this length, by the server's clock. */
  mostWithin(ms: number): number {
    const all = this.tokenRequestsAtMs;
    return Math.max(0, ...all.map((from) => all.filter((at) => at >= from && at < from + ms).length));
  }

  mostOftenSentExpired(): number {
    return Math.max(0, ...this.sentExpired.values());
  }

  #grant(): Response {
    this.tokenRequestsAtMs.push(this.nowMs);
    const token = `token-${this.tokenRequestsAtMs.length}`;
    this.#expiry.set(token, this.nowMs + this.#lifetimeMs);
    return Response.json({
      access_token: token,
      refresh_token: "refresh",
      token_type: "Bearer",
      expires_in: this.#lifetimeMs / second,
    });
  }
}

interface Simulation {
  readonly service: SimulatedService;
  /** Calls at a steady pace. A call that fails ends the test. */
  run(durationMs: number, everyMs: number): Promise<void>;
}

function simulate(lifetimeMs: number): Simulation {
  const service = new SimulatedService(lifetimeMs);
  const client = new CrossBorderClient({
    baseUrl: "https://service.test",
    auth: { authUrl: "https://id.test", realm: "realm", clientId: "client", username: "user", password: "password" },
    fetch: service.fetch as typeof fetch,
  });
  return {
    service,
    async run(durationMs, everyMs) {
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
  const { service, run } = simulate(lifetimeMs);
  await run(lifetimes * lifetimeMs, everyMs);
  // The first call after the leeway begins requests a token.
  const periodMs = Math.ceil((lifetimeMs - leewayMs) / everyMs) * everyMs;
  expect(service.tokenRequestsAtMs).toHaveLength(Math.ceil((lifetimes * lifetimeMs) / periodMs));
  expect(service.sentExpired.size).toBe(0);
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
    const { service, run } = simulate(seconds * second);
    await run(2 * minute, second);
    const before = service.tokenRequestsAtMs.length;
    vi.setSystemTime(Date.now() + wallMs);
    service.aheadMs += serverMs;
    await run(10 * second, second / 4);
    expect(service.tokenRequestsAtMs.length - before).toBeLessThanOrEqual(2);
    await run(5 * minute, second);
    vi.setSystemTime(Date.now() - wallMs);
    await run(5 * minute, second);
    expect(service.mostWithin(10 * second)).toBeLessThanOrEqual(2);
    expect(service.mostOftenSentExpired()).toBeLessThanOrEqual(expiredSends);
  });
});
