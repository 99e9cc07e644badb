import { sign } from "node:crypto";
import { CrossBorderClient, CrossBorderError, type RequestSigner } from "cross-border-payments";
import {
  type FlowDetails,
  type Journal,
  PaymentFlow,
  type ReleaseFundsByKey,
  type TakeFundsByKey,
} from "cross-border-payments/flow";
import { derivedSeed, seededRandom } from "../faults/seeded-random.js";
import { brokenLaw, type Facts, isSettled, told } from "../model/laws.js";
import { intentRequest } from "../support/corridor.js";
import { keyPairOf } from "../support/key-pairs.js";
import { modelBank } from "./bank.js";
import { type Schedule, scheduleOf } from "./schedule.js";
import { modelService } from "./service.js";
import { type Intention, SharedJournal } from "./shared-journal.js";
import type { Host } from "./virtual-time.js";
import { World } from "./world.js";

/** What a process works with. A planted defect replaces a part. */
export interface Parts {
  readonly journal: Journal;
  readonly client: CrossBorderClient;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Defect {
  readonly fetch?: (fetch: Fetch) => Fetch;
  readonly parts?: (parts: Parts) => Partial<Parts>;
  readonly flow?: (flow: PaymentFlow) => PaymentFlow;
  /** Where it shows. Default: in any schedule. */
  readonly where?: Partial<Schedule>;
  /** A seed that shows it. */
  readonly seed?: number;
}

/** Runs the schedule of a seed: the same seed, the same run. */
export async function simulate(seed: number, defect: Defect = {}) {
  const schedule = { ...scheduleOf(seed), ...defect.where };
  const world = new World(seed, schedule.weather);
  const { random } = Math;
  Math.random = seededRandom(derivedSeed(seed, 2));
  try {
    return await world.time.during(() => new Simulation(schedule, world, defect).run(seed));
  } finally {
    Math.random = random;
  }
}

/** Signs at once. Node's thread pool would take real time. */
const signer: RequestSigner = {
  publicKey: keyPairOf("gateway").publicKey,
  sign: async (text) => sign("sha256", text, keyPairOf("gateway").privateKey),
};

const leaseMs = 10_000;
/** Once faults have stopped, a call that is to stop ends within this time, and every flow settles within the next one. */
const stopMs = 120_000;
/** What was on its way has arrived after this time. */
const lateMs = 65_000;
const settleMs = 1_200_000;

interface Process {
  readonly host: Host;
  readonly flow: PaymentFlow;
  readonly whenDead: Set<() => void>;
}

interface OpenCall {
  readonly key: string;
  readonly name: string;
  readonly host: Host;
  abort(): void;
}

class Simulation {
  readonly #schedule: Schedule;
  readonly #world: World;
  readonly #defect: Defect;
  readonly #service: ReturnType<typeof modelService>;
  readonly #bank: ReturnType<typeof modelBank>;
  readonly #journal: SharedJournal;
  readonly #processes = new Map<Host, Process>();
  readonly #calls = new Set<OpenCall>();
  readonly #broken = new Set<string>();
  /** Bits of `told`, by key. */
  readonly #told = new Map<string, number>();
  /** How often callers have used each key. */
  readonly #uses = new Map<string, number>();
  #started = 0;

  constructor(schedule: Schedule, world: World, defect: Defect) {
    this.#schedule = schedule;
    this.#world = world;
    this.#defect = defect;
    this.#service = modelService(world, { ...schedule, aheadMs: this.#skew() });
    this.#bank = modelBank(world, this.#skew());
    this.#journal = new SharedJournal(world);
    world.kill = (host) => this.#kill(host);
  }

  /** @returns `broken`: the laws that are broken, each with its key. */
  async run(seed: number) {
    const { time } = this.#world;
    const { keys, processes, faultsMs, people } = this.#schedule;
    for (let i = 0; i < processes; i += 1) this.#start();
    for (const key of keys) {
      this.#act(this.#caller(key));
      if (this.#world.random() < 0.4) this.#act(this.#caller(key));
    }
    for (let i = 0; i < people; i += 1) this.#act(this.#operator(`person ${i + 1}`));
    await time.run(faultsMs);
    this.#world.note("faults stop, and callers lose their patience");
    this.#world.isCalm = true;
    for (const call of this.#calls) call.abort();
    await time.run(faultsMs + lateMs);
    await time.run(faultsMs + stopMs, () => this.#calls.size === 0);
    for (const { key, name } of this.#calls) this.#breaks(key, `6 ${name} doesn't stop`);
    await time.run(faultsMs + settleMs, () => keys.every((key) => this.#isDone(key)));
    await this.#close();
    for (const key of keys) this.#judge(key);
    const phases = keys.map((key) => this.#journal.phaseOf(key));
    return { seed, broken: [...this.#broken], log: this.#world.log, phases };
  }

  // Processes.

  #start(): void {
    const { time } = this.#world;
    this.#started += 1;
    const host: Host = { name: `P${this.#started}`, isDead: false, stalledUntilMs: 0, wallAheadMs: this.#skew() };
    const flow = time.within(host, () => this.#open(host));
    this.#processes.set(host, { host, flow, whenDead: new Set() });
    time.within(
      host,
      () => void flow.work({ everyMs: 10_000 }).catch((error) => this.#breaks("", `work ends: ${error}`)),
    );
    if (this.#world.meets("clock")) {
      time.at(time.nowMs + this.#world.upTo(60_000), undefined, () => {
        host.wallAheadMs += this.#skew() * 3;
        this.#world.note(`${host.name}: the clock jumps to ${host.wallAheadMs}`);
      });
    }
  }

  #open(host: Host): PaymentFlow {
    const { facts, readBacks, readBackDelayMs, people, isBankSlow } = this.#schedule;
    const world = this.#world;
    const bank = async <T>(name: string, work: () => T): Promise<T> => {
      const answer = await world.remote(host, "bank", name, work);
      if (isBankSlow)
        await new Promise<void>((resolve) => void world.time.at(world.time.nowMs + 1.5 * leaseMs, host, resolve));
      return answer;
    };
    let isLoaded = false;
    const send: Fetch = async (url, { method = "", body, headers }) => {
      if (!isLoaded) return Response.json([]);
      const signature = new Headers(headers).get("x-service-signature-base64") ?? "";
      const text = typeof body === "string" ? body : "";
      const request = { method, url: new URL(url), body: text, signature, sentAtMs: world.time.nowMs };
      return world.remote(host, "service", `${method} ${request.url.pathname}`, () => this.#service.handle(request));
    };
    const token = async (): Promise<string> => {
      if (!isLoaded) return "token";
      await world.remote(host, "journal", "token", () => {});
      if (world.meets("token")) throw new Error("no token");
      return "token";
    };
    const client = new CrossBorderClient({
      baseUrl: "https://service.test",
      auth: { accessToken: token },
      signingKey: signer,
      timeoutMs: 20_000,
      fetch: this.#defect.fetch?.(send) ?? send,
    });
    // Its first call loads files, which takes real time.
    const loading = client.paymentGateways.list({ size: 1 }).then(() => {
      isLoaded = true;
    });
    world.time.hold(loading);
    const parts: Parts = {
      journal: this.#journal.seenFrom(host),
      client,
      takeFunds: ({ key, intent }) => bank(`take ${key}`, () => this.#bank.take(key, intent.id)),
      releaseFunds: ({ key }) => bank(`release ${key}`, () => this.#bank.release(key)),
    };
    const flow = new PaymentFlow({
      ...parts,
      ...this.#defect.parts?.(parts),
      ...{ leaseMs, readBacks, readBackDelayMs, facts, owner: host.name, circuitBreaker: false },
      decisions: { people: people === 2 ? 2 : 1 },
    });
    return this.#defect.flow?.(flow) ?? flow;
  }

  #kill(host: Host): void {
    const process = this.#processes.get(host);
    if (process === undefined) return;
    host.isDead = true;
    this.#processes.delete(host);
    for (const end of process.whenDead) end();
    const { time } = this.#world;
    time.at(time.nowMs + this.#world.upTo(20_000), undefined, () => this.#start());
  }

  async #close(): Promise<void> {
    const { time } = this.#world;
    const closing = new Set(this.#processes.values());
    for (const process of closing) {
      time.within(process.host, () =>
        process.flow.close().then(({ pending }) => pending === 0 && closing.delete(process)),
      );
    }
    await time.run(time.nowMs + 20_000);
    for (const { host } of closing) this.#breaks("", `6 ${host.name} doesn't close`);
  }

  // People.

  #act(work: Promise<void>): void {
    work.catch((error: unknown) => this.#breaks("", `the simulation failed: ${error}`));
  }

  /** Calls until the payment has an outcome. */
  async #caller(key: string): Promise<void> {
    const { time, upTo, random } = bound(this.#world);
    const request = { ...intentRequest, memo: key };
    await time.sleep(upTo(20_000));
    const isQuoted = random() < 0.4;
    for (let tries = 0; tries < 8 && !this.#world.isCalm; tries += 1) {
      const patienceMs = this.#world.oneOf([0, 30_000, 300_000]);
      const options = (signal: AbortSignal) => ({ signal, ...(patienceMs !== undefined && { patienceMs }) });
      const quote = isQuoted
        ? await this.#call(key, "quote", (flow, signal) => flow.quote(key, request, { signal }))
        : undefined;
      if (quote !== undefined) await time.sleep(upTo(10_000));
      const outcome = await (quote === undefined
        ? this.#call(key, "run", (flow, signal) => flow.run(key, request, options(signal)))
        : random() < 0.15
          ? this.#call(key, "cancel", (flow) => flow.cancel(key))
          : this.#call(key, "confirm", (flow, signal) =>
              flow.confirm(key, { intentId: quote.intent.id }, options(signal)),
            ));
      if (outcome !== undefined) return this.#tell(key, outcome.status);
      await time.sleep(upTo(15_000));
    }
  }

  #tell(key: string, status: string): void {
    if (status === "paid" || status === "declined" || status === "rejected") {
      this.#told.set(key, (this.#told.get(key) ?? 0) | told[status]);
    }
  }

  async #call<T>(
    key: string,
    name: string,
    work: (flow: PaymentFlow, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    this.#checkNone(key);
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
    const { value, error } = await this.#ask(key, name, work);
    const isNone = error instanceof CrossBorderError && error.effect === "none";
    // An error says nothing of calls before it, nor of those beside it.
    if (isNone && this.#uses.get(key) === 1) this.#told.set(key, (this.#told.get(key) ?? 0) | told.none);
    return value;
  }

  /** What was told of a call is true until the next one. */
  #checkNone(key: string): void {
    const bits = this.#told.get(key) ?? 0;
    if ((bits & told.none) === 0) return;
    this.#judgeLaws(key);
    this.#told.set(key, bits & ~told.none);
  }

  /** In a process that is up. It may die before the call has ended. */
  #ask<T>(
    key: string,
    name: string,
    work: (flow: PaymentFlow, signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly value?: T; readonly error?: unknown }> {
    const process = this.#world.oneOf([...this.#processes.values()]);
    if (process === undefined) return Promise.resolve({});
    const { time } = this.#world;
    const { host, flow, whenDead } = process;
    const abort = new AbortController();
    const call = {
      key,
      name: `${host.name}: ${name} ${key}`,
      host,
      abort: () => time.within(host, () => abort.abort()),
    };
    this.#calls.add(call);
    this.#world.note(call.name);
    if (this.#world.meets("abort")) time.at(time.nowMs + this.#world.upTo(40_000), host, () => abort.abort());
    return new Promise((resolve) => {
      const end = (result: { readonly value?: T; readonly error?: unknown }) => {
        whenDead.delete(die);
        this.#calls.delete(call);
        const { error, value } = result;
        const status: unknown = error instanceof CrossBorderError ? error.code : Reflect.get(Object(value), "status");
        this.#world.note(`${call.name} ends: ${status ?? error ?? (value === undefined ? "dead" : "done")}`);
        resolve(result);
      };
      const die = () => end({});
      whenDead.add(die);
      time
        .within(host, () => work(flow, abort.signal))
        .then(
          (value) => end({ value }),
          (error: unknown) => end({ error }),
        );
    });
  }

  /** Decides about what is held, now and then wrongly. */
  async #operator(by: string): Promise<void> {
    const { time, upTo } = bound(this.#world);
    while (!this.#world.isCalm) {
      await time.sleep(10_000 + upTo(60_000));
      const key = this.#world.oneOf(this.#schedule.keys.filter((one) => this.#journal.phaseOf(one) === "held"));
      if (key === undefined) continue;
      const { value: seen } = await this.#ask(key, "details", (flow) => flow.details(key));
      if (seen?.outcome?.status !== "held") continue;
      await time.sleep(upTo(30_000));
      await this.#decide(key, by, seen);
    }
  }

  async #decide(key: string, by: string, { revision, outcome }: FlowDetails): Promise<void> {
    const proposal = outcome?.status === "held" ? outcome.proposal : undefined;
    const why = proposal?.why ?? `decision ${this.#journal.intentions.size + 1}`;
    const intention: Intention = this.#journal.intentions.get(why) ?? {
      key,
      seen: revision,
      wasListed: false,
      isToldNo: false,
    };
    this.#journal.intentions.set(why, intention);
    Object.assign(intention, { seen: revision, wasListed: this.#service.isListed(key) });
    const { random } = bound(this.#world);
    const action =
      this.#service.paymentsOf(key).length > 0 && random() < 0.7 ? "found" : random() < 0.5 ? "release" : "resend";
    const decision = { by, why, revision, ...(action !== "found" && random() < 0.3 && { withoutProof: true }) };
    const { error } = await this.#ask(key, `${by} decides ${why}, ${action},`, async (flow) => {
      if (this.#schedule.people === 1) return flow.resolve(key, action, decision);
      if (proposal === undefined) return flow.propose(key, action, decision);
      return random() < 0.9 ? flow.approve(key, { by, revision }) : flow.refuse(key, { by, revision });
    });
    // A proposal that is refused by its own person can still be approved by another.
    const isNo = error instanceof CrossBorderError && error.effect === "none" && error.code !== "flow_same_person";
    if (isNo && proposal === undefined) intention.isToldNo = true;
  }

  // The laws.

  /** Settled; and a held flow whose payment is listed is found some day. */
  #isDone(key: string): boolean {
    const phase = this.#journal.phaseOf(key);
    return isSettled({ phase }) && !(phase === "held" && this.#service.isListed(key));
  }

  #judge(key: string): void {
    this.#judgeLaws(key);
    if (!this.#isDone(key)) this.#breaks(key, `5 never settles: ${this.#journal.phaseOf(key)}`);
    const taken = this.#bank.takenFor(key);
    for (const { body } of this.#service.paymentsOf(key)) {
      if (body.senderGatewayTransactionId !== taken?.senderGatewayTransactionId)
        this.#breaks(key, "paid with other money");
      if (body.id !== taken?.intentId) this.#breaks(key, "paid another quote than the money was taken for");
    }
  }

  #judgeLaws(key: string): void {
    const law = brokenLaw(this.#factsOf(key));
    if (law !== undefined) this.#breaks(key, law);
  }

  #factsOf(key: string): Facts {
    const intentions = [...this.#journal.intentions.values()].filter((one) => one.key === key);
    const carriedOut = intentions.flatMap((one) => (one.carriedOut ? [{ ...one, ...one.carriedOut }] : []));
    const count = (action: string) => carriedOut.filter(({ decision }) => decision.action === action).length;
    const isUndecided = carriedOut.some(({ isToldNo }) => isToldNo);
    return {
      payments: this.#service.paymentsOf(key).length,
      bank: this.#bank.stateOf(key),
      phase: this.#journal.phaseOf(key),
      told: (this.#told.get(key) ?? 0) | (isUndecided ? told.undecided : 0),
      resends: count("resend"),
      releases: count("release"),
      isBlind: carriedOut.some(
        ({ decision, wasListed }) => wasListed && decision.action !== "found" && decision.withoutProof !== true,
      ),
      isStale: carriedOut.some(({ seen, revision }) => seen !== revision),
      isRestored: false,
      isOrdinary: this.#schedule.isOrdinary,
    };
  }

  #breaks(key: string, law: string): void {
    this.#broken.add(`${key} ${law}`.trim());
  }

  #skew(): number {
    const { skewMs } = this.#schedule;
    return this.#world.upTo(2 * skewMs + 1) - skewMs;
  }
}

function bound(world: World): Pick<World, "time" | "upTo" | "random"> {
  return { time: world.time, random: world.random, upTo: (ms) => world.upTo(ms) };
}
