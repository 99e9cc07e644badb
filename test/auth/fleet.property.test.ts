import fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { SessionAuth } from "../../src/auth/auth-options.js";
import { Ended } from "../../src/core/deadline.js";
import { TokenError } from "../../src/core/errors.js";
import { seededRandom } from "../faults/seeded-random.js";
import { runs } from "../support/thorough.js";
import { type Fleet, fleetOf, type Member, type StoreFault } from "./fleet-fixture.js";
import { client, fakeTime, handled, pass, settle, withFakeTime } from "./manager-fixture.js";
import type { IdentityFault } from "./rotating-identity.js";

withFakeTime();

const leewayMs = 5000;

const is = <Name extends string>(...names: Name[]) => fc.constantFrom(...names);
const member = fc.nat(9);
const call = fc.record({ do: is("call"), member, timeoutMs: fc.integer({ min: 1, max: 90_000 }) });
const passing = fc.record({
  do: is("pass"),
  ms: fc.oneof(fc.nat(700), fc.nat(20_000), fc.integer({ min: 290_000, max: 305_000 })),
});
const latency = fc.record({ do: is("latency"), storeMs: fc.nat(300), identityMs: fc.nat(3000) });
const storeFaults: (StoreFault | undefined)[] = [
  "refuses",
  "hangs",
  "loses-responses",
  "repeats",
  undefined,
  undefined,
];
const identityFaults: IdentityFault[] = ["lost", "lost-before", "unsent", "failing", "throttled", "bad-gateway"];
const anything = fc.oneof(
  { weight: 8, arbitrary: call },
  { weight: 5, arbitrary: passing },
  { weight: 1, arbitrary: latency },
  { weight: 4, arbitrary: fc.record({ do: is("stop", "resume", "resume"), member }) },
  { weight: 2, arbitrary: fc.record({ do: is("kill", "refuse-token"), member }) },
  { weight: 2, arbitrary: fc.record({ do: is("store"), fault: fc.constantFrom(...storeFaults) }) },
  { weight: 2, arbitrary: fc.record({ do: is("identity"), fault: fc.constantFrom(...identityFaults) }) },
  { weight: 2, arbitrary: fc.record({ do: is("wipe", "fill", "end-sessions", "lose-locks", "keep-locks") }) },
);
type Step = typeof anything extends fc.Arbitrary<infer One> ? One : never;

/** What an observer outside of the processes sees. */
class World {
  readonly fleet: Fleet;
  readonly members: Member[];
  readonly wrongs: string[] = [];
  readonly #random: () => number;
  readonly #lastTokens = new Map<Member, string>();
  #open = 0;

  /** @param toAuth what the processes log in with. Default: a password. */
  constructor(size: number, seed: number, toAuth?: (fleet: Fleet) => SessionAuth) {
    this.#random = seededRandom(seed);
    const fleet = fleetOf(0, { random: this.#random });
    const auth = toAuth === undefined ? {} : { auth: toAuth(fleet) };
    this.fleet = { ...fleet, join: () => fleet.join(auth) };
    this.members = Array.from({ length: size }, () => this.fleet.join());
  }

  async run(script: readonly Step[]): Promise<void> {
    for (const step of script) {
      await this.#do(step);
      expect(this.wrongs).toEqual([]);
      expect(this.#sharedAndReused()).toEqual([]);
    }
    // Whatever happened, every call ends with its deadline.
    await pass(91_000);
    expect(this.#open).toBe(0);
  }

  /** The session that a process began without the store is its own, and follows the rules of a client without one. */
  #sharedAndReused(): string[] {
    const { identity, store } = this.fleet;
    return identity.reused.filter((token) => store.written.some((value) => value.includes(`"${token}"`)));
  }

  async #do(step: Step): Promise<void> {
    const { identity, store } = this.fleet;
    if (step.do === "pass") return pass(step.ms);
    if ("member" in step) this.#doTo(this.#member(step.member), step);
    if (step.do === "store") store.fault = step.fault;
    if (step.do === "identity") identity.faults.push(step.fault);
    if (step.do === "wipe") store.wipe();
    if (step.do === "fill") await store.fill("rubbish");
    if (step.do === "end-sessions") identity.endSessions();
    if (step.do === "lose-locks" || step.do === "keep-locks") store.losesLocks = step.do === "lose-locks";
    if (step.do === "latency") {
      store.latencyMs = () => step.storeMs * this.#random();
      identity.latencyMs = () => step.identityMs * this.#random();
    }
    await settle();
  }

  #doTo(member: Member, step: Extract<Step, { readonly member: number }>): void {
    if (step.do === "stop") member.stop();
    if (step.do === "resume") member.resume();
    if (step.do === "call") this.#watch(member, member.call({ timeoutMs: step.timeoutMs }));
    if (step.do === "refuse-token") {
      const used = this.#lastTokens.get(member);
      if (used !== undefined) this.#watch(member, member.renew(used), used);
    }
    if (step.do === "kill") {
      member.stop();
      this.members.splice(this.members.indexOf(member), 1, this.fleet.join());
    }
  }

  #member(number: number): Member {
    const member = this.members[number % this.members.length];
    if (member === undefined) throw new Error("a fleet of none");
    return member;
  }

  #watch(member: Member, call: Promise<string>, refused?: string): void {
    this.#open += 1;
    call.then(
      (token) => {
        this.#open -= 1;
        if (!this.fleet.identity.lives(token)) this.wrongs.push(`${token} has expired`);
        if (token === refused) this.wrongs.push(`${token} was refused before`);
        this.#lastTokens.set(member, token);
      },
      (error: unknown) => {
        this.#open -= 1;
        if (!(error instanceof TokenError) && !(error instanceof Ended)) this.wrongs.push(`threw ${String(error)}`);
      },
    );
  }
}

/** Runs scripts in new worlds of a fake time. */
function tryAll(
  { most, script, numRuns }: { most: number; script: fc.Arbitrary<Step[]>; numRuns: number },
  work: (size: number, seed: number, script: Step[]) => Promise<void>,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: most }), fc.nat(), script, async (...given) => {
      vi.useRealTimers();
      await fakeTime();
      await work(...given);
    }),
    { numRuns: runs(numRuns) },
  );
}

const scriptOf = (step: fc.Arbitrary<Step>) => fc.array(step, { minLength: 10, maxLength: 60 });

it("never sends a refresh token that may have been used, whatever stops, dies, fails and is lost", async () => {
  await tryAll({ most: 6, script: scriptOf(anything), numRuns: 150 }, (size, seed, script) =>
    new World(size, seed).run(script),
  );
});

it("sends no refresh token of a user's session twice, and says that it ended only where it has", async () => {
  // A store that is lost, unreadable, or that no longer holds the session leaves the processes with what they know.
  const script = scriptOf(anything.filter((step) => step.do !== "wipe" && step.do !== "fill"));
  const outcomes = new Set<boolean>();
  await tryAll({ most: 4, script, numRuns: 150 }, async (size, seed, steps) => {
    const world = new World(size, seed, ({ identity }) => ({ ...client, refreshToken: identity.begin() }));
    const { identity, store } = world.fleet;
    identity.refreshLifetime = undefined;
    await world.run(steps);
    for (const member of world.members) member.resume();
    store.fault = undefined;
    const [leaver = world.fleet.join()] = world.members;
    const ended = handled(leaver.manager.endSession());
    await pass(200_000);
    const hasEnded = (await ended) === undefined;
    outcomes.add(hasEnded);
    expect(identity.reused).toEqual([]);
    if (hasEnded) expect(identity.isEnded).toBe(true);
  });
  expect(outcomes.size).toBe(2);
});

it("makes one request a lifetime, and one login, however many processes call and whenever", async () => {
  const steps = fc.oneof({ weight: 2, arbitrary: call }, passing, { weight: 1, arbitrary: latency });
  await tryAll({ most: 10, script: scriptOf(steps), numRuns: 100 }, async (size, seed, script) => {
    const world = new World(size, seed);
    const { identity } = world.fleet;
    identity.refreshLifetime = undefined;
    const startMs = performance.now();
    await world.run(script);
    const lifetimes = Math.floor((performance.now() - startMs) / (identity.lifetime * 1000 - leewayMs));
    expect(identity.requests.length).toBeLessThanOrEqual(1 + lifetimes);
    expect(identity.logins).toBeLessThanOrEqual(1);
  });
});
