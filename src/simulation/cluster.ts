import { apiClientKey } from "../api/api-client.js";
import { createReporter } from "../events/reporter.js";
import type { FlowClient } from "../flows/flow-client.js";
import { PaymentFlow } from "../flows/payment-flow.js";
import type { FlowCipher } from "../flows/state/flow-codec.js";
import { HttpClient } from "../http/http-client.js";
import { RetryBudget } from "../http/retry-budget.js";
import { SchemaLoader } from "../http/schema.js";
import type { Signer } from "../signing/signer.js";
import { firstAddress } from "./addresses.js";
import type { SimulatedJournal } from "./simulated-journal.js";
import type { SimulatedNetwork } from "./simulated-network.js";
import { SimulatedProcess } from "./simulated-process.js";
import type { Truth } from "./truth.js";
import { type FundsPair, watchedFunds } from "./watched-funds.js";
import type { World } from "./world.js";

/** Loaded once for all simulations: a schedule must wait for nothing real. */
const schemas = new SchemaLoader();

/** Await it before the first schedule. */
export async function prepareClients(): Promise<void> {
  await schemas.load();
}

/** What the processes of a schedule have in common. */
export interface Surroundings {
  readonly world: World;
  readonly truth: Truth;
  readonly journal: SimulatedJournal;
  readonly network: SimulatedNetwork;
  readonly funds: FundsPair;
}

/** The processes of the bank's back end. One that was killed is replaced by another. */
export class Cluster {
  readonly #surroundings: Surroundings;
  readonly #processes: SimulatedProcess[] = [];
  #started = 0;
  /** Of processes that start from now on. */
  address = firstAddress;
  /** Called with each process once it runs. */
  onStarted: (process: SimulatedProcess) => void = () => {};
  /** Called with each process that was killed. */
  onReplaced: (process: SimulatedProcess) => void = () => {};

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    const { world } = surroundings;
    for (let index = 0; index < world.profile.processes; index++) this.#start(index, 0);
    world.onKilled = (process) => this.replace(process);
  }

  get processes(): readonly SimulatedProcess[] {
    return this.#processes;
  }

  /** One of the bank's own. */
  any(): SimulatedProcess {
    const own = this.#processes.filter(({ isForeign }) => !isForeign);
    const process = own[this.#surroundings.world.choices.below(own.length)];
    if (process === undefined) throw new Error("a bank has at least one process");
    return process;
  }

  /** Accepts nothing new, and ends once what is pending has reached a safe state, or a bound. */
  shutDown(process: SimulatedProcess): void {
    const { world } = this.#surroundings;
    world.note(`${process.name} shuts down`);
    world.marks.happenedTo(process.name, "its process shuts down");
    void process.flow.close().then(() => {
      if (!process.isDead) this.replace(process);
    });
  }

  /** The process is dead, and another one starts in its place. */
  replace(process: SimulatedProcess): void {
    process.isDead = true;
    this.onReplaced(process);
    const { world } = this.#surroundings;
    this.#start(this.#processes.indexOf(process), 1 + world.choices.below(2 * world.profile.leaseMs));
  }

  #start(index: number, delayMs: number): void {
    this.#started += 1;
    const isForeign = index === 1 && this.#surroundings.world.profile.sharesJournal !== "no";
    const process = new SimulatedProcess(`process ${this.#started}`, isForeign, this.address);
    this.#processes[index] = process;
    process.start(this.#flowOf(process));
    const { world } = this.#surroundings;
    const { livesMs } = world.profile;
    world.plan(delayMs, `start of ${process.name}`, process, () => {
      this.onStarted(process);
      if (livesMs !== undefined) this.#endAfter(process, livesMs);
    });
  }

  /** It is closed, or it is just gone. */
  #endAfter(process: SimulatedProcess, livesMs: number): void {
    const { world } = this.#surroundings;
    const isClosed = this.#started % 2 === 0;
    world.plan(livesMs, `the end of ${process.name}`, undefined, () => {
      if (process.isDead) return;
      world.note(`${process.name} has lived for ${livesMs} ms`);
      if (isClosed) this.shutDown(process);
      else this.replace(process);
    });
  }

  #flowOf(process: SimulatedProcess): PaymentFlow {
    const { world, truth, journal, network, funds } = this.#surroundings;
    const { profile } = world;
    const { takeFunds, releaseFunds } = process.isForeign
      ? foreignFunds(truth)
      : watchedFunds(funds, process, world, truth);
    return new PaymentFlow({
      client: clientOf(network, process, profile.isStrict ? "strict" : "off"),
      ...(profile.sharesJournal === "by id"
        ? { gatewayId: process.isForeign ? "another gateway" : "our gateway" }
        : undefined),
      ...(profile.ciphers ? { cipher: cipherOf(process, world) } : undefined),
      journal: journal.of(process),
      takeFunds,
      releaseFunds,
      leaseMs: profile.leaseMs,
      readBackDelayMs: profile.readBackDelayMs,
      quoteTtlMs: profile.quoteTtlMs,
      owner: process.name,
      on: { flow: (event) => world.marks.decided(event) },
      bankSkewMs: profile.bankSkewMs,
      service: {
        clockSkewMs: profile.machineSkewMs,
        ...(profile.tellsSingleUse ? { singleUseIntents: true } : undefined),
        ...(profile.tellsListedWithin ? { listedWithinMs: profile.listedWithinMs ?? 2000 } : undefined),
      },
    });
  }
}

/** A real client, over a simulated network. */
function clientOf(network: SimulatedNetwork, process: SimulatedProcess, validation: "strict" | "off"): FlowClient {
  const http = new HttpClient({
    ...process.address,
    transport: network.of(process),
    tokens: { current: () => "token", renew: async () => "another token" },
    signer: signerOf(process.isForeign ? "another gateway's key" : "our key"),
    signedOperations: new Set(),
    headers: {},
    signQuery: false,
    timeoutMs: 5000,
    maxRetries: 1,
    validation,
    maxRecordBytes: 2 ** 20,
    maxListBytes: 2 ** 20,
    reporter: createReporter([]),
    budget: new RetryBudget(),
    random: () => 0.5,
    schemas,
  });
  const client = {
    [apiClientKey]: http,
    pay: () => Promise.reject(new Error("the simulation pays by flows only")),
    close: () => http.close(),
  };
  return client;
}

/** Nobody may ask another gateway for our money. */
function foreignFunds(truth: Truth): FundsPair {
  return {
    takeFunds: ({ key }) => {
      truth.touched(key);
      return null;
    },
    releaseFunds: ({ key }) => truth.touched(key),
  };
}

/** A key service, which takes its time. */
function cipherOf(process: SimulatedProcess, world: World): FlowCipher {
  const remote = (label: string, execute: () => string) =>
    world.remote(process, { label, fault: undefined, isSlow: false, execute, toError: () => new Error(label) });
  return {
    encrypt: (text) => remote("encrypt", () => `encrypted ${text}`),
    decrypt: (text) => remote("decrypt", () => text.slice("encrypted ".length)),
  };
}

/** As deterministic as RSASSA-PKCS1-v1_5 and as long as a signature of 2048 bits, without its price. */
function signerOf(key: string): Signer {
  return {
    sign: async (path, body) => {
      let one = 0x811c9dc5 ^ key.length;
      let other = path.length;
      for (const byte of typeof body === "string" ? new TextEncoder().encode(body) : body) {
        one = Math.imul(one ^ byte, 0x01000193);
        other = Math.imul(other + byte, 0x85ebca6b) ^ (other >>> 13);
      }
      const hash = (one >>> 0).toString(16).padStart(8, "0") + (other >>> 0).toString(16).padStart(8, "0");
      return btoa(hash.repeat(16));
    },
    describe: async (path) => ({ path, bodySha256: "not computed", publicKeySha256: key }),
  };
}
