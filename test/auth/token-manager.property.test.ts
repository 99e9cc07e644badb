import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { TokenError } from "../../src/core/errors.js";
import { type Answer, answers } from "./answers.js";
import { granted } from "./fake-token-endpoint.js";
import { fakeTime, managerFixture, pass, settle, withFakeTime } from "./manager-fixture.js";

withFakeTime();

const anyMs = (max: number) => fc.integer({ min: 1, max });
const is = <Name extends string>(name: Name) => fc.constant(name);
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: is("call"), maxRetries: fc.nat(2), timeoutMs: anyMs(90_000) }) },
    { weight: 1, arbitrary: fc.record({ do: is("refuse-token"), nth: fc.nat(3) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: is("reply"),
        answer: fc.oneof(fc.constant(undefined), fc.constantFrom(...answers)),
        lifetime: fc.constantFrom(3, 30, 300, Number.POSITIVE_INFINITY),
        rotates: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: is("pass"), ms: fc.oneof(anyMs(3000), fc.constant(60_000), anyMs(320_000)) }),
    },
    { weight: 2, arbitrary: fc.record({ do: is("approach-expiry"), leftMs: anyMs(6000) }) },
    { weight: 1, arbitrary: fc.record({ do: is("set-clock"), byMs: fc.integer({ min: -400_000, max: 400_000 }) }) },
  ),
  { minLength: 5, maxLength: 40 },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

interface Issued {
  readonly step: number;
  readonly endsWallMs: number;
  readonly endsMonotonicMs: number;
}

const leftOf = ({ endsWallMs, endsMonotonicMs }: Issued) =>
  Math.min(endsWallMs - Date.now(), endsMonotonicMs - performance.now());

/** An observer, who knows which tokens are good, and until when the endpoint must be left alone. */
class World {
  readonly #fixture = managerFixture([], { random: Math.random });
  readonly #issued = new Map<string, Issued>();
  readonly #refused = new Set<string>();
  readonly #handedOut: string[] = [];
  readonly #wrongs: string[] = [];
  #open = 0;
  #step = 0;
  #refusals = 0;
  #quietUntilMs = 0;
  #sent = { wallMs: 0, monotonicMs: 0 };
  #seenRequests = 0;

  async run(script: readonly Step[]): Promise<void> {
    const { fake } = this.#fixture;
    for (const step of script) {
      this.#step += 1;
      // Only a call or a response starts a request.
      const isIdle = this.#open === 0 && ["pass", "approach-expiry", "set-clock"].includes(step.do);
      const requests = fake.requests.length;
      await this.#do(step);
      if (isIdle && fake.requests.length > requests) this.#wrongs.push("a request that no call waits for");
      this.#check();
    }
    for (let turn = 0; turn < 60 && this.#open > 0; turn++) {
      this.#step += 1;
      if (fake.pending > 0) this.#issue(300, true);
      await pass(2000);
      this.#check();
    }
    expect(this.#open).toBe(0);
  }

  async #do(step: Step): Promise<void> {
    if (step.do === "call") this.#call(step);
    if (step.do === "refuse-token") this.#refuseToken(step.nth);
    if (step.do === "reply" && this.#fixture.fake.pending > 0) {
      if (step.answer === undefined) this.#issue(step.lifetime, step.rotates);
      else this.#refuse(step.answer);
    }
    if (step.do === "set-clock") vi.setSystemTime(Date.now() + step.byMs);
    const leftMs = Math.max(0, ...[...this.#issued.values()].slice(-1).map(leftOf));
    if (step.do === "pass") await pass(step.ms);
    else if (step.do === "approach-expiry" && leftMs < 1e6) await pass(Math.max(0, leftMs - step.leftMs));
    else await settle();
  }

  #call(options: { readonly maxRetries: number; readonly timeoutMs: number }): void {
    const [token = "", issued] = [...this.#issued].at(-1) ?? [];
    if (issued !== undefined && leftOf(issued) > 1000 && !this.#refused.has(token)) {
      const given = this.#fixture.manager.current(new Deadline({}), options.maxRetries);
      if (given !== token) this.#wrongs.push(`${token} lives and was not used`);
    }
    this.#watch(this.#fixture.call(options));
  }

  #refuseToken(nth: number): void {
    const token = this.#handedOut.at(-1 - nth);
    if (token === undefined) return;
    this.#refused.add(token);
    this.#watch(
      this.#fixture.renew(token).catch((error: unknown) => {
        // There is no other one for now, and the service may change its mind.
        if (error instanceof TokenError && error.code === "token_rejected") this.#refused.delete(token);
        throw error;
      }),
    );
  }

  #watch(call: Promise<string>): void {
    this.#open += 1;
    const end = () => {
      this.#open -= 1;
    };
    call.finally(end).then(
      (token) => this.#handOut(token),
      (error: unknown) => {
        if (!(error instanceof TokenError) && !(error instanceof Ended)) this.#wrongs.push(`threw ${String(error)}`);
      },
    );
  }

  #handOut(token: string): void {
    this.#handedOut.push(token);
    if (this.#handedOut.length % 2 === 0) this.#fixture.manager.accepted(token);
    const known = this.#issued.get(token);
    if (known === undefined) this.#wrongs.push(`${token} was never issued`);
    else if (leftOf(known) <= 0 && known.step !== this.#step) this.#wrongs.push(`${token} has expired`);
    if (this.#refused.has(token)) this.#wrongs.push(`${token} was refused before`);
  }

  #refuse({ reply, holdMs, after }: Answer): void {
    const { fake } = this.#fixture;
    const isLogin = fake.grants.at(-1) === "password";
    const isRefusal = holdMs === 60_000;
    if (isLogin && isRefusal) this.#refusals += 1;
    const factor = isRefusal ? Math.min(60, 2 ** (this.#refusals - 1)) : 1;
    if (isLogin || after !== "login at once") this.#quietUntilMs = performance.now() + holdMs * factor;
    fake.reply(reply);
  }

  #issue(lifetime: number, rotates: boolean): void {
    this.#refusals = 0;
    const token = `token-${this.#issued.size + 1}`;
    const { wallMs, monotonicMs } = this.#sent;
    const ms = lifetime * 1000;
    this.#issued.set(token, { step: this.#step, endsWallMs: wallMs + ms, endsMonotonicMs: monotonicMs + ms });
    const expires_in = Number.isFinite(lifetime) ? lifetime : undefined;
    this.#fixture.fake.reply(granted(token, { expires_in, ...(rotates ? {} : { refresh_token: undefined }) }));
  }

  /** Checks the requests since the last time. */
  #check(): void {
    const { arrivalsMs, mostInFlight } = this.#fixture.fake;
    for (const at of arrivalsMs.slice(this.#seenRequests)) {
      this.#sent = { monotonicMs: at, wallMs: Date.now() - (performance.now() - at) };
      if (at < this.#quietUntilMs) this.#wrongs.push(`requested ${this.#quietUntilMs - at} ms too early`);
    }
    this.#seenRequests = arrivalsMs.length;
    if (mostInFlight > 1) this.#wrongs.push("two requests at once");
    expect(this.#wrongs).toEqual([]);
  }
}

it("keeps its rules under any schedule of calls, responses, refused tokens and clocks", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      vi.useRealTimers();
      await fakeTime();
      await new World().run(script);
    }),
    { numRuns: 200 },
  );
});
