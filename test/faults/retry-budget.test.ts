import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createReporter } from "../../src/events/reporter.js";
import { RetryBudget } from "../../src/http/context.js";
import { HttpClient } from "../../src/http/http-client.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { payments } from "../../src/resources/payments.js";
import { type Transport, WireFailure } from "../../src/wire/transport.js";
import { payment } from "./calls.js";

const callsPerSecond = 100;
const everyMs = 1000 / callsPerSecond;

beforeEach(async () => {
  await import("zod/v4/core");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
});

afterEach(() => void vi.useRealTimers());

/** What becomes of each attempt during an outage. */
const outages = {
  "refused connections": () => {
    throw new WireFailure({ sent: false, reason: "ECONNREFUSED" });
  },
  "resets after the request": () => {
    throw new WireFailure({ sent: true, reason: "ECONNRESET" });
  },
  "status 503": () => ({ status: 503, headers: {}, text: "{}" }),
  "status 503 that asks for a wait of 1 s": () => ({ status: 503, headers: { "retry-after": "1" }, text: "{}" }),
  "status 200 of a proxy": () => ({ status: 200, headers: {}, text: '{"status":"maintenance"}' }),
  "status 429": () => ({ status: 429, headers: {}, text: "{}" }),
} as const;

interface Second {
  calls: number;
  attempts: number;
  successes: number;
}

/** 100 calls a second against a service that is down or up, counted second by second. */
class Traffic {
  readonly seconds: Second[] = [];
  down: (() => { status: number; headers: Record<string, string>; text: string }) | undefined;
  readonly #client: HttpClient;
  readonly #call: (client: HttpClient) => Promise<unknown>;
  #now: Second = { calls: 0, attempts: 0, successes: 0 };

  constructor(call: (client: HttpClient) => Promise<unknown>) {
    this.#call = call;
    const transport: Transport = {
      send: async () => {
        this.#now.attempts += 1;
        return this.down?.() ?? { status: 200, headers: {}, text: '{"id":"1"}' };
      },
      close: async () => {},
    };
    this.#client = new HttpClient({
      origin: "https://service.test",
      basePath: "",
      transport,
      tokens: { current: () => "token", renew: async () => "another" },
      signer: { sign: async () => "c2ln", describe: async (path) => ({ path, bodySha256: "", publicKeySha256: "" }) },
      signedOperations: new Set(),
      signQuery: false,
      timeoutMs: 30_000,
      maxRetries: 4,
      maxRecordBytes: 1000,
      maxListBytes: 1000,
      validation: "off",
      reporter: createReporter([]),
      budget: new RetryBudget(),
      headers: {},
      random: () => 0.5,
    });
  }

  async run(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.#now = { calls: 0, attempts: 0, successes: 0 };
      for (let call = 0; call < callsPerSecond; call++) {
        this.#now.calls += 1;
        this.#call(this.#client).then(
          () => {
            this.#now.successes += 1;
          },
          () => {},
        );
        await settle();
        vi.advanceTimersByTime(everyMs);
        await settle();
      }
      this.seconds.push(this.#now);
    }
  }
}

/** Runs everything that does not wait for a timer. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const read = (client: HttpClient) => client.call(liquidityProviders.get, ["provider-1"]);
const pay = (client: HttpClient) => client.call(payments.create, [], { body: payment });

const sum = (seconds: readonly Second[], of: keyof Second) => seconds.reduce((total, second) => total + second[of], 0);

describe.each(Object.entries(outages))("a total outage at 100 calls a second: %s", (_, down) => {
  it("is met with at most 1.1 attempts per call in the steady state, and the full rate is back within 5 s", async () => {
    const traffic = new Traffic(read);
    await traffic.run(5);
    expect(sum(traffic.seconds, "attempts")).toBe(sum(traffic.seconds, "calls"));

    traffic.down = down;
    await traffic.run(30);
    const outage = traffic.seconds.slice(5);
    const steady = outage.slice(5);
    expect(sum(outage, "successes")).toBe(0);
    expect(sum(steady, "attempts") / sum(steady, "calls")).toBeLessThanOrEqual(1.1);
    // Every call is still tried once: otherwise the recovery would go unnoticed.
    for (const { calls, attempts } of steady) expect(attempts).toBeGreaterThanOrEqual(calls);
    // Nor is there a storm in the first seconds.
    expect(sum(outage, "attempts") / sum(outage, "calls")).toBeLessThanOrEqual(1.1);

    traffic.down = undefined;
    await traffic.run(5);
    const [first, ...rest] = traffic.seconds.slice(35);
    expect(first?.successes).toBeGreaterThanOrEqual(callsPerSecond * 0.95);
    for (const { successes } of rest) expect(successes).toBeGreaterThanOrEqual(callsPerSecond);
  });

  it("leaves retries to calls that need them again within 5 s of recovery", async () => {
    const traffic = new Traffic(read);
    traffic.down = down;
    await traffic.run(10);
    traffic.down = undefined;
    await traffic.run(5);
    traffic.down = down;
    await traffic.run(4);
    // Five seconds of successes gave back a hundred.
    const again = traffic.seconds.slice(15);
    expect(sum(again, "attempts") - sum(again, "calls")).toBeGreaterThanOrEqual(100);
  });
});

it("makes one attempt per payment in an outage whose requests may arrive", async () => {
  const traffic = new Traffic(pay);
  traffic.down = outages["resets after the request"];
  await traffic.run(3);
  expect(sum(traffic.seconds, "attempts")).toBe(sum(traffic.seconds, "calls"));
});
