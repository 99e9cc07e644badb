import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { TokenError } from "../../src/core/errors.js";
import { granted, maybeSent, notSent, type Reply, refusal, responded, untrusted } from "./fake-token-endpoint.js";
import { fakeTime, type ManagerFixture, managerFixture, pass, settle, withFakeTime } from "./manager-fixture.js";

withFakeTime();

type Response =
  | "token"
  | "brief"
  | "lasting"
  | "refused"
  | "throttled"
  | "failing"
  | "redirect"
  | "unsent"
  | "maybe"
  | "untrusted";

type Step =
  | { readonly do: "call"; readonly maxRetries: number; readonly timeoutMs: number }
  | { readonly do: "refuse-token"; readonly nth: number }
  | { readonly do: "response"; readonly response: Response; readonly rotates: boolean; readonly seconds: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "approach-expiry"; readonly leftMs: number }
  | { readonly do: "set-clock"; readonly byMs: number };

const responses: Response[] = [
  "token",
  "token",
  "brief",
  "lasting",
  "refused",
  "refused",
  "throttled",
  "failing",
  "redirect",
  "unsent",
  "maybe",
  "untrusted",
];

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("call" as const),
        maxRetries: fc.nat(2),
        timeoutMs: fc.integer({ min: 1, max: 90_000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse-token" as const), nth: fc.nat(3) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("response" as const),
        response: fc.constantFrom(...responses),
        rotates: fc.boolean(),
        seconds: fc.integer({ min: 1, max: 400 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("pass" as const),
        ms: fc.oneof(fc.nat(3000), fc.constant(60_000), fc.integer({ min: 100_000, max: 320_000 })),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("approach-expiry" as const), leftMs: fc.integer({ min: 1, max: 6000 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("set-clock" as const),
        byMs: fc.integer({ min: -400_000, max: 400_000 }),
      }),
    },
  ),
  { minLength: 5, maxLength: 40 },
);

interface Issued {
  readonly step: number;
  readonly endsWallMs: number;
  readonly endsMonotonicMs: number;
}

/** What an observer outside knows: which tokens are good, and until when the endpoint has to be left alone. */
class World {
  readonly fixture: ManagerFixture = managerFixture([], { random: Math.random });
  readonly issued = new Map<string, Issued>();
  readonly refused = new Set<string>();
  readonly handedOut: string[] = [];
  open = 0;
  readonly wrongs: string[] = [];
  #step = 0;
  #refusals = 0;
  #quietUntilMs = 0;
  #seenRequests = 0;
  #sentWallMs = 0;
  #sentMonotonicMs = 0;

  async run(script: readonly Step[]): Promise<void> {
    for (const step of script) {
      this.#step += 1;
      // A call starts a request, a response one that follows from it, and time only those that a call waits for.
      const isIdle = this.open === 0 && ["pass", "approach-expiry", "set-clock"].includes(step.do);
      const requests = this.fixture.fake.requests.length;
      await this.#do(step);
      if (isIdle && this.fixture.fake.requests.length > requests) this.wrongs.push("a request that no call waits for");
      this.#look();
    }
    for (let turn = 0; turn < 60 && this.open > 0; turn++) {
      this.#step += 1;
      if (this.fixture.fake.pending > 0) this.#respond("token", true, 300);
      await pass(2000);
      this.#look();
    }
    expect(this.open).toBe(0);
  }

  async #do(step: Step): Promise<void> {
    if (step.do === "call") this.#call(step);
    if (step.do === "refuse-token") this.#refuseToken(step.nth);
    if (step.do === "response" && this.fixture.fake.pending > 0)
      this.#respond(step.response, step.rotates, step.seconds);
    if (step.do === "set-clock") vi.setSystemTime(Date.now() + step.byMs);
    if (step.do === "pass") await pass(step.ms);
    else if (step.do === "approach-expiry") await pass(Math.max(0, this.#leftMs() - step.leftMs));
    else await settle();
  }

  #call(options: { readonly maxRetries: number; readonly timeoutMs: number }): void {
    const [token, issued] = [...this.issued].at(-1) ?? [];
    const leftMs = issued === undefined ? 0 : leftOf(issued);
    if (token !== undefined && leftMs > 1000 && !this.refused.has(token)) {
      const given = this.fixture.manager.current(new Deadline({}), options.maxRetries);
      if (given !== token) this.wrongs.push(`${token} lives for ${leftMs} ms and was not used`);
    }
    this.#watch(this.fixture.call(options));
  }

  /** Of the newest token, if it expires at all. */
  #leftMs(): number {
    const issued = [...this.issued.values()].at(-1);
    const leftMs = issued === undefined ? 0 : leftOf(issued);
    return leftMs < 1_000_000 ? leftMs : 0;
  }

  #refuseToken(nth: number): void {
    const token = this.handedOut.at(-1 - nth);
    if (token === undefined) return;
    this.refused.add(token);
    this.#watch(
      this.fixture.renew(token).catch((error: unknown) => {
        // No other one for now, and the service may change its mind.
        if (error instanceof TokenError && error.code === "token_rejected") this.refused.delete(token);
        throw error;
      }),
    );
  }

  #watch(call: Promise<string>): void {
    this.open += 1;
    call.then(
      (token) => {
        this.open -= 1;
        this.#handOut(token);
      },
      (error: unknown) => {
        this.open -= 1;
        if (!(error instanceof TokenError) && !(error instanceof Ended)) this.wrongs.push(`threw ${String(error)}`);
      },
    );
  }

  #handOut(token: string): void {
    this.handedOut.push(token);
    if (this.handedOut.length % 2 === 0) this.fixture.manager.accepted(token);
    const known = this.issued.get(token);
    if (known === undefined) return void this.wrongs.push(`${token} was never issued`);
    if (this.refused.has(token)) this.wrongs.push(`${token} was refused before`);
    if (leftOf(known) <= 0 && known.step !== this.#step) this.wrongs.push(`${token} has expired and is not fresh`);
  }

  #respond(response: Response, rotates: boolean, seconds: number): void {
    const { fake } = this.fixture;
    const isLogin = fake.grants.at(-1) === "password";
    const quietMs = this.#quietMs(response, isLogin, seconds);
    if (quietMs > 0) this.#quietUntilMs = performance.now() + quietMs;
    if (response === "token" || response === "brief" || response === "lasting") this.#refusals = 0;
    fake.reply(this.#reply(response, rotates, seconds));
  }

  #quietMs(response: Response, isLogin: boolean, seconds: number): number {
    if (response === "throttled") return Math.min(300, seconds) * 1000;
    if (response === "failing" || response === "unsent" || response === "maybe") return 100;
    if (response === "redirect" || response === "untrusted") return 3000;
    if (response !== "refused" || !isLogin) return 0;
    this.#refusals += 1;
    return Math.min(60, 2 ** (this.#refusals - 1)) * 60_000;
  }

  #reply(response: Response, rotates: boolean, seconds: number): Reply {
    if (response === "refused") return refusal(401);
    if (response === "throttled") return responded(429, {}, { "retry-after": String(seconds) });
    if (response === "failing") return responded(503);
    if (response === "redirect") return responded(302);
    if (response === "unsent") return notSent();
    if (response === "maybe") return maybeSent();
    if (response === "untrusted") return untrusted();
    const token = `token-${this.issued.size + 1}`;
    const lifetimeMs = response === "lasting" ? Number.POSITIVE_INFINITY : response === "brief" ? 3000 : seconds * 1000;
    this.issued.set(token, {
      step: this.#step,
      endsWallMs: this.#sentWallMs + lifetimeMs,
      endsMonotonicMs: this.#sentMonotonicMs + lifetimeMs,
    });
    return granted(token, {
      expires_in: response === "lasting" ? undefined : lifetimeMs / 1000,
      ...(rotates ? undefined : { refresh_token: undefined }),
    });
  }

  /** Checks what was requested since the last look. */
  #look(): void {
    const { fake } = this.fixture;
    for (const at of fake.arrivalsMs.slice(this.#seenRequests)) {
      this.#sentMonotonicMs = at;
      this.#sentWallMs = Date.now() - (performance.now() - at);
      if (at < this.#quietUntilMs) this.wrongs.push(`requested ${this.#quietUntilMs - at} ms too early`);
    }
    this.#seenRequests = fake.arrivalsMs.length;
    if (fake.mostInFlight > 1) this.wrongs.push("two requests at once");
    expect(this.wrongs).toEqual([]);
  }
}

function leftOf({ endsWallMs, endsMonotonicMs }: Issued): number {
  return Math.min(endsWallMs - Date.now(), endsMonotonicMs - performance.now());
}

it("keeps its rules under any schedule of calls, responses, refused tokens and clocks", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      vi.useRealTimers();
      await fakeTime();
      await new World().run(script);
    }),
    { numRuns: 150 },
  );
});
