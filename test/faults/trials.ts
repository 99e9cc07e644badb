import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CrossBorderClient, CrossBorderError, type PaymentRequest, type SigningKeyPair } from "cross-border-payments";
import { signingKeysOf } from "../support/key-pairs.js";
import { intent, payment } from "./calls.js";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.js";
import { LoopLag } from "./loop-lag.js";
import { derivedSeed, seededRandom, weighted } from "./seeded-random.js";

export interface TrialOptions {
  readonly trials: number;
  readonly seed: number;
  /** Calls at once. */
  readonly atOnce?: number;
}

/** What must never happen, counted. */
export interface Faulty {
  /** `effect: "none"` for something that the service did. */
  falseNone: number;
  /** `effect: "done"`, or a record, for something that it did not do. */
  falseDone: number;
  /** Payments that arrived again after they may have been made. */
  paymentsRepeated: number;
  paymentsMadeTwice: number;
  /** A call got the response to another one. */
  strangeResponses: number;
  untypedErrors: number;
  unhandledRejections: number;
  /** Calls that settled more than 50 ms after their deadline, without the time in which the event loop was blocked. */
  late: number;
}

export interface TrialReport {
  readonly faulty: Faulty;
  readonly trials: number;
  readonly seed: number;
  readonly elapsedMs: number;
  /** Calls by how they ended. */
  readonly ends: ReadonlyMap<string, number>;
  /** Connections by what the proxy did to them. */
  readonly played: ReadonlyMap<string, number>;
}

/** How one call ended, kept until it is known what the service did. */
interface Verdict {
  readonly key: string | undefined;
  readonly operation: string;
  readonly effect: "none" | "possible" | "done" | "well";
}

const timeoutMs = 400;
const graceMs = 50;
/** How many trials share a sandbox, which keeps everything. */
const blockSize = 5000;

/** Random operations through the fault proxy, each compared with what the sandbox really did. */
export async function runTrials({ trials, seed, atOnce = 64 }: TrialOptions): Promise<TrialReport> {
  const faulty: Faulty = {
    falseNone: 0,
    falseDone: 0,
    paymentsRepeated: 0,
    paymentsMadeTwice: 0,
    strangeResponses: 0,
    untypedErrors: 0,
    unhandledRejections: 0,
    late: 0,
  };
  const [ends, played] = [new Map<string, number>(), new Map<string, number>()];
  const onUnhandled = (): void => {
    faulty.unhandledRejections += 1;
  };
  process.on("unhandledRejection", onUnhandled);
  const lag = new LoopLag();
  const keys = signingKeysOf("gateway");
  const startMs = performance.now();
  for (let first = 0; first < trials; first += blockSize) {
    const block = new Block(seed, first, Math.min(blockSize, trials - first), lag, faulty, ends);
    await block.run(keys, atOnce, played);
  }
  lag.stop();
  process.off("unhandledRejection", onUnhandled);
  return { faulty, trials, seed, elapsedMs: performance.now() - startMs, ends, played };
}

/** The trials against one sandbox. */
class Block {
  readonly #seed: number;
  readonly #first: number;
  readonly #count: number;
  readonly #lag: LoopLag;
  readonly #faulty: Faulty;
  readonly #ends: Map<string, number>;
  readonly #verdicts: Verdict[] = [];
  /** Intents that exist, for reads. */
  readonly #intentIds: string[] = [];

  constructor(seed: number, first: number, count: number, lag: LoopLag, faulty: Faulty, ends: Map<string, number>) {
    this.#seed = seed;
    this.#first = first;
    this.#count = count;
    this.#lag = lag;
    this.#faulty = faulty;
    this.#ends = ends;
  }

  async run(keys: SigningKeyPair, atOnce: number, played: Map<string, number>): Promise<void> {
    const proxy = await startFaultProxy({
      seed: derivedSeed(this.#seed, this.#first),
      keyOf: ({ senderGatewayTransactionId, memo, email }) => textOf(senderGatewayTransactionId ?? memo ?? email),
      sandbox: { tokenLifetimeSeconds: 1 },
    });
    const addresses = { baseUrl: proxy.origin, authUrl: proxy.directOrigin };
    const { authUrl, ...credentials } = proxy.sandbox.clientOptions(addresses).auth;
    const options = { signingKey: keys.privateKey, timeoutMs, maxRetries: 2 };
    const clients = [
      // Most calls get their token around the proxy: after a failed login none of them would be sent.
      new CrossBorderClient({ ...options, baseUrl: proxy.origin, auth: { ...credentials, authUrl } }),
      new CrossBorderClient({ ...options, baseUrl: proxy.origin, auth: { ...credentials, authUrl: proxy.origin } }),
    ] as const;
    try {
      await prepare(proxy, credentials, keys);
      proxy.begin();
      let next = 0;
      const worker = async (): Promise<void> => {
        for (let index = next++; index < this.#count; index = next++) await this.#try(index, clients);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      // What lost its caller may still be done.
      await proxy.quiet();
      this.#judge(proxy);
      for (const [name, count] of proxy.played) played.set(name, (played.get(name) ?? 0) + count);
    } finally {
      await proxy.close();
      for (const client of clients) void client.close().catch(() => {});
    }
  }

  async #try(index: number, [direct, through]: readonly [CrossBorderClient, CrossBorderClient]): Promise<void> {
    const number = this.#first + index;
    const random = seededRandom(derivedSeed(this.#seed, number));
    const client = random() < 0.9 ? direct : through;
    const abort = random() < 0.05 ? new AbortController() : undefined;
    const { operation, key, call } = this.#pick(random, `trial-${number}`);
    const startMs = performance.now();
    let deadlineMs = startMs + timeoutMs;
    const timer =
      abort &&
      setTimeout(() => {
        deadlineMs = performance.now();
        abort.abort();
      }, random() * 30);
    let effect: Verdict["effect"] = "well";
    let end = "well";
    try {
      await call(client, abort?.signal);
    } catch (error) {
      if (error instanceof StrangeResponse) this.#faulty.strangeResponses += 1;
      else if (!(error instanceof CrossBorderError)) this.#faulty.untypedErrors += 1;
      else [effect, end] = [error.effect, `${error.name} ${error.effect}`];
    }
    const settledMs = performance.now();
    clearTimeout(timer);
    if (this.#lag.latenessMs(deadlineMs, settledMs) > graceMs) this.#faulty.late += 1;
    this.#ends.set(end, (this.#ends.get(end) ?? 0) + 1);
    this.#verdicts.push({ key, operation, effect });
  }

  #pick(random: () => number, key: string): Trial {
    const knownId = this.#intentIds[Math.floor(random() * this.#intentIds.length)];
    return weighted<() => Trial>(random, [
      [45, () => payTrial(key)],
      [20, () => this.#intentTrial(key)],
      [15, () => providerTrial(key)],
      [20, () => (knownId === undefined ? this.#intentTrial(key) : readTrial(knownId))],
    ])();
  }

  #intentTrial(key: string): Trial {
    return {
      operation: "paymentIntents.create",
      key,
      call: async (client, signal) => {
        const made = await client.paymentIntents.create({ ...intent, memo: key }, { signal });
        assertOwn(made.memo === key);
        this.#intentIds.push(made.id);
      },
    };
  }

  /** Compares what the calls reported with what was done. */
  #judge(proxy: FaultProxy): void {
    const stored = new Map<string, number>();
    for (const { senderGatewayTransactionId: key } of proxy.sandbox.payments)
      stored.set(key, (stored.get(key) ?? 0) + 1);
    for (const { key, operation, effect } of this.#verdicts) {
      if (key === undefined) continue;
      const { arrivals, refusals, commits } = proxy.deedOf(key);
      if (effect === "none" && commits > 0) this.#faulty.falseNone += 1;
      if ((effect === "done" || effect === "well") && commits === 0) this.#faulty.falseDone += 1;
      if (operation !== "payments.create") continue;
      if (arrivals > refusals + 1) this.#faulty.paymentsRepeated += 1;
      if (commits > 1 || (stored.get(key) ?? 0) > 1) this.#faulty.paymentsMadeTwice += 1;
    }
  }
}

interface Trial {
  readonly operation: string;
  /** Where something is created: what identifies it on the service's side. */
  readonly key: string | undefined;
  call(client: CrossBorderClient, signal: AbortSignal | undefined): Promise<void>;
}

/** A response that belongs to another call. */
class StrangeResponse extends Error {}

function assertOwn(isOwn: boolean): void {
  if (!isOwn) throw new StrangeResponse("the response belongs to another call");
}

function payTrial(key: string): Trial {
  const request: PaymentRequest = { ...payment, senderGatewayTransactionId: key };
  return {
    operation: "payments.create",
    key,
    call: async (client, signal) => {
      const made = await client.payments.create(request, { signal });
      assertOwn(made.senderGatewayTransactionId === key);
    },
  };
}

function providerTrial(key: string): Trial {
  return {
    operation: "liquidityProviders.create",
    key,
    call: async (client, signal) => {
      const made = await client.liquidityProviders.create(
        { firstName: "Lina", lastName: "Quid", email: key },
        { signal },
      );
      assertOwn(made.email === key);
    },
  };
}

function readTrial(id: string): Trial {
  return {
    operation: "paymentIntents.get",
    key: undefined,
    call: async (client, signal) => assertOwn((await client.paymentIntents.get(id, { signal })).id === id),
  };
}

/** Two gateways and a rate, created around the proxy. */
async function prepare(
  { directOrigin }: FaultProxy,
  credentials: Omit<ReturnType<FaultProxy["sandbox"]["clientOptions"]>["auth"], "authUrl">,
  keys: SigningKeyPair,
): Promise<void> {
  await using client = new CrossBorderClient({
    baseUrl: directOrigin,
    auth: { ...credentials, authUrl: directOrigin },
    maxRetries: 0,
  });
  for (const [institutionId, currency] of [
    ["alpha", "EUR"],
    ["beta", "KES"],
  ] as const) {
    await client.paymentGateways.create({ institutionId, currency, rsaPublicKeyBase64: keys.publicKeyBase64 });
  }
  const { id } = await client.liquidityProviders.create({ firstName: "Rita", lastName: "Rate", email: "rate" });
  const rate = { baseGatewayId: "alpha", counterGatewayId: "beta", baseCurrency: "EUR", counterCurrency: "KES" };
  await client.liquidityProviders.exchangeRates(id).create({ ...rate, buyPrice: "150", sellPrice: "150" });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The report on one line. */
export function summaryOf({ faulty, trials, seed, elapsedMs, ends }: TrialReport): string {
  const counts = Object.entries(faulty).map(([name, count]) => `${name} ${count}`);
  const outcomes = [...ends].sort(([, one], [, other]) => other - one).map(([name, count]) => `${name} ${count}`);
  const pace = Math.round((trials / elapsedMs) * 1000);
  return `${trials} trials, seed ${seed}, ${pace}/s: ${counts.join(", ")} (${outcomes.join(", ")})`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: {
      trials: { type: "string", default: "100000" },
      seed: { type: "string", default: "42" },
      "at-once": { type: "string", default: "64" },
    },
  });
  const { trials, seed, "at-once": atOnce } = values;
  const report = await runTrials({ trials: Number(trials), seed: Number(seed), atOnce: Number(atOnce) });
  process.stdout.write(`${summaryOf(report)}\n`);
  process.stdout.write(`connections: ${[...report.played].map(([name, count]) => `${name} ${count}`).join(", ")}\n`);
  process.exitCode = Object.values(report.faulty).every((count) => count === 0) ? 0 : 1;
}
