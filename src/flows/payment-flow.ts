import { randomUUID } from "node:crypto";
import { type ApiClient, apiClientKey } from "../api/api-client.js";
import { AbortedError, ConfigError, CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import { type PaymentIntentRequest, paymentIntentEndpoints } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import { type FlowCipher, FlowCodec } from "./flow-codec.js";
import { type FlowOutcome, type HeldFlow, toOutcome } from "./flow-outcome.js";
import {
  type Decision,
  differingFields,
  type FlowState,
  isSettled,
  type SettledState,
  type StateOf,
} from "./flow-state.js";
import {
  newClaim,
  type Owned,
  type ReleaseFundsByKey,
  type StepContext,
  steps,
  type TakeFundsByKey,
  Unclaimed,
} from "./flow-steps.js";
import type { Journal, JournalEntry, LeaseRequest } from "./journal.js";
import { Lease, LeaseLost } from "./lease.js";
import { lookForPayment } from "./read-back.js";

/** How to build a `PaymentFlow`. */
export interface PaymentFlowOptions {
  /** A `CrossBorderClient` with a signing key. */
  readonly client: { readonly [apiClientKey]: ApiClient };
  /** Where flows outlive the process: a `SqliteJournal`, a `PostgresJournal`, or one of your own. */
  readonly journal: Journal;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  /** How long a flow stays with an owner that gives no sign of life. Default: 30,000. */
  readonly leaseMs?: number | undefined;
  /** Time between two read-backs of a payment whose response was lost. Default: 10,000. */
  readonly readBackDelayMs?: number | undefined;
  /** How often it is looked for before it is held. At least 2, which is the default. */
  readonly readBacks?: number | undefined;
  /** Encrypts what the journal stores: the intent holds names and account numbers. Default: none. */
  readonly cipher?: FlowCipher | undefined;
  /** Name of this process, for operators. Default: a random one. */
  readonly owner?: string | undefined;
}

export interface RunOptions {
  /** Ends the waiting. What was written stays, and a later `run` or `recover` takes the flow up where it was. */
  readonly signal?: AbortSignal | undefined;
}

export interface RecoverOptions extends RunOptions {
  /** How many flows are taken up at a time. Default: 8. */
  readonly concurrency?: number | undefined;
}

/** An operator's decision about a held flow, on record. */
export interface Resolution {
  /** Who decides. */
  readonly by: string;
  /** On what grounds. */
  readonly why: string;
}

/**
 * Payments that survive crashes: each step is written to a journal before it is taken, the signed request itself before its first
 * byte leaves. A request that may have been sent is never sent again on its own; it is looked for among the stored payments.
 */
export class PaymentFlow {
  readonly #context: StepContext;
  readonly #journal: Journal;
  readonly #codec: FlowCodec;
  readonly #leaseRequest: LeaseRequest;

  /** @throws {ConfigError} that names the option at fault. */
  constructor(options: PaymentFlowOptions) {
    const {
      client,
      journal,
      takeFunds,
      releaseFunds,
      leaseMs = 30_000,
      readBackDelayMs = 10_000,
      readBacks = 2,
    } = options;
    const caller = client?.[apiClientKey];
    if (caller === undefined) throw new ConfigError("client must be a CrossBorderClient");
    if (typeof journal?.begin !== "function")
      throw new ConfigError("journal must be a Journal, such as a SqliteJournal");
    if (typeof takeFunds !== "function") throw new ConfigError("takeFunds must be a function");
    if (typeof releaseFunds !== "function") throw new ConfigError("releaseFunds must be a function");
    assertMs("leaseMs", leaseMs, 100);
    assertMs("readBackDelayMs", readBackDelayMs, 0);
    if (!Number.isInteger(readBacks) || readBacks < 2) {
      throw new ConfigError("readBacks must be a whole number, 2 or more: one look proves nothing");
    }
    this.#journal = journal;
    this.#codec = new FlowCodec(options.cipher);
    this.#leaseRequest = { owner: options.owner ?? randomUUID(), leaseMs };
    this.#context = { caller, takeFunds, releaseFunds, readBackDelayMs, readBacks };
  }

  /**
   * Makes the payment that belongs to `key`, or gives what became of it. The same key gives the same outcome, however often and
   * from wherever it is run; while another process is at it, this one waits for the outcome.
   *
   * What fails on the way without harm is thrown: a service that is away, a `takeFunds` that throws. The flow then stays where
   * it was, and a later `run` or `recover` goes on from there.
   *
   * @throws {InvalidArgumentError} `flow_key_reused` when the key belongs to another request; it names the fields that differ.
   */
  async run(key: string, request: PaymentIntentRequest, options: RunOptions = {}): Promise<FlowOutcome> {
    assertKey(key);
    await this.#context.caller.check(paymentIntentEndpoints.create, { path: [], body: request });
    const askedAt = now();
    const first: FlowState = { phase: "created", request: { ...request } };
    const begun = await this.#journal.begin(key, await this.#codec.encode(first), this.#leaseRequest);
    if (begun.created) {
      const outcome = await this.#own(begun.entry, first, askedAt, options);
      if (outcome !== undefined) return outcome;
    }
    return this.#runOrWait(key, request, options);
  }

  /**
   * Takes up every flow whose owner is gone, and gives what became of each as it settles. Run it at start-up, and now and then.
   *
   * @throws {AggregateError} after all others are through, when flows could not be taken on: their errors, each with the key.
   */
  async *recover(options: RecoverOptions = {}): AsyncGenerator<FlowOutcome, void, undefined> {
    const { concurrency = 8 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidArgumentError("recover: concurrency must be a whole number above 0");
    }
    const running = new Map<string, Promise<Recovered>>();
    const failures: Error[] = [];
    let after: string | undefined;
    let more = true;
    while (more || running.size > 0) {
      if (options.signal?.aborted) more = false;
      while (more && running.size < concurrency) {
        const askedAt = now();
        const entry = await this.#journal.acquireAbandoned(this.#leaseRequest, after);
        if (entry === undefined) more = false;
        else {
          after = entry.key;
          running.set(entry.key, this.#recoverOne(entry, askedAt, options));
        }
      }
      if (running.size === 0) break;
      const { key, outcome, error } = await Promise.race(running.values());
      running.delete(key);
      if (error !== undefined) failures.push(error);
      if (outcome !== undefined) yield outcome;
    }
    if (failures.length > 0) {
      throw new AggregateError(failures, `${failures.length} flows could not be taken on; they stay where they are`);
    }
  }

  /** What became of a flow, or `undefined` while it is under way or unknown. Reads only. */
  async outcome(key: string): Promise<FlowOutcome | undefined> {
    assertKey(key);
    const entry = await this.#journal.read(key);
    const state = entry === undefined ? undefined : await this.#codec.decode(entry);
    return state !== undefined && isSettled(state) ? toOutcome(key, state) : undefined;
  }

  /** Every held flow, for the operator's page. */
  async *held(): AsyncGenerator<HeldFlow, void, undefined> {
    for (let after: string | undefined; ; ) {
      const entries = await this.#journal.list({ phase: "held", after, limit: 100 });
      for (const entry of entries) {
        const state = await this.#codec.decode(entry);
        const outcome = isSettled(state) ? toOutcome(entry.key, state) : undefined;
        if (outcome?.status === "held") yield outcome;
      }
      after = entries.at(-1)?.key;
      if (after === undefined) return;
    }
  }

  /**
   * Settles a held flow, on an operator's word.
   *
   * - `found`: the payment was made. Without `payment` it is looked for once more, and not found is an error.
   * - `release`: the payment was certainly not made, and never will be. The money is given back.
   * - `resend`: the payment was certainly not made. The same bytes are sent again, with the same signature.
   *
   * @throws {InvalidArgumentError} `flow_not_held` when the flow is not held, or another process is at it.
   */
  resolve(key: string, action: "found", resolution: Resolution & { readonly payment?: Payment }): Promise<FlowOutcome>;
  resolve(key: string, action: "release" | "resend", resolution: Resolution): Promise<FlowOutcome>;
  async resolve(
    key: string,
    action: Decision["action"],
    resolution: Resolution & { readonly payment?: Payment },
  ): Promise<FlowOutcome> {
    assertKey(key);
    const decision = toDecision(action, resolution);
    const askedAt = now();
    const entry = await this.#journal.acquire(key, this.#leaseRequest);
    if (entry === undefined) throw notHeld(key, "there is no such flow, or another process is at it");
    const lease = new Lease(this.#journal, entry, this.#leaseRequest.leaseMs, askedAt);
    try {
      const state = await this.#codec.decode(entry);
      if (state.phase !== "held") throw notHeld(key, `it is ${state.phase}`);
      const decided = await this.#decide(
        lease,
        { ...state, decisions: [...state.decisions, decision] },
        action,
        resolution,
      );
      await this.#write(lease, decided);
      return toOutcome(key, await this.#drive(this.#owned(lease, undefined), decided));
    } catch (error) {
      if (error instanceof LeaseLost) throw notHeld(key, "another process took it over");
      throw error;
    } finally {
      await lease.end();
    }
  }

  async #decide(
    lease: Lease,
    state: StateOf<"held">,
    action: Decision["action"],
    { payment, why }: Resolution & { readonly payment?: Payment },
  ): Promise<FlowState> {
    if (action === "release") {
      const refusal = { by: "operator", code: "released", message: why } as const;
      return { ...state, phase: "refused", refusal };
    }
    if (action === "resend")
      return { ...state, phase: "claimed", ...(await newClaim(lease, state.claim, state.claims)) };
    if (payment !== undefined) return { ...state, phase: "paid", payment: assertOwnPayment(payment, state) };
    const { found } = await lookForPayment(this.#context.caller, { ...state, phase: "unknown" });
    if (found === undefined) {
      throw new InvalidArgumentError(
        "resolve: the payment is not among the stored ones: give its record, if you have it",
        {
          code: "flow_payment_not_found",
        },
      );
    }
    return { ...state, phase: "paid", payment: found };
  }

  /** Until there is an outcome: takes the flow over when its owner is gone, waits while it is not. */
  async #runOrWait(key: string, request: PaymentIntentRequest, options: RunOptions): Promise<FlowOutcome> {
    for (;;) {
      const entry = await this.#journal.read(key);
      if (entry === undefined)
        throw new InvalidArgumentError(`the journal lost the flow of key ${JSON.stringify(key)}`);
      const state = await this.#codec.decode(entry);
      assertSameRequest(key, state.request, request);
      if (isSettled(state)) return toOutcome(key, state);
      const askedAt = now();
      const taken = await this.#journal.acquire(key, this.#leaseRequest);
      if (taken !== undefined) {
        const outcome = await this.#own(taken, await this.#codec.decode(taken), askedAt, options);
        if (outcome !== undefined) return outcome;
      }
      await sleep(Math.min(250, this.#leaseRequest.leaseMs / 4), options.signal);
    }
  }

  async #recoverOne(entry: JournalEntry, askedAt: Timestamp, options: RunOptions): Promise<Recovered> {
    const { key } = entry;
    try {
      return { key, outcome: await this.#own(entry, await this.#codec.decode(entry), askedAt, options) };
    } catch (error) {
      return { key, error: new Error(`flow ${JSON.stringify(key)} could not be taken on`, { cause: error }) };
    }
  }

  /** Drives a flow that this process has the lease of; `undefined` when it was lost on the way. */
  async #own(
    entry: JournalEntry,
    state: FlowState,
    askedAt: Timestamp,
    options: RunOptions,
  ): Promise<FlowOutcome | undefined> {
    const lease = new Lease(this.#journal, entry, this.#leaseRequest.leaseMs, askedAt);
    try {
      return toOutcome(entry.key, await this.#drive(this.#owned(lease, options.signal), state));
    } catch (error) {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    } finally {
      await lease.end();
    }
  }

  async #drive(owned: Owned, from: FlowState): Promise<SettledState> {
    let state = from;
    while (!isSettled(state)) {
      const before = state;
      try {
        state = await this.#step(owned, before);
      } catch (error) {
        if (!(error instanceof Unclaimed)) throw withFunds(error, before);
        await this.#write(owned.lease, error.state);
        throw withFunds(error.error, before);
      }
      await this.#write(owned.lease, state);
    }
    return state;
  }

  #step(owned: Owned, state: Exclude<FlowState, SettledState>): Promise<FlowState> {
    // The phase picks the step, and with it the state's type; the compiler can't follow that through the table.
    const step = steps[state.phase] as (context: StepContext, owned: Owned, state: FlowState) => Promise<FlowState>;
    return step(this.#context, owned, state);
  }

  async #write(lease: Lease, state: FlowState): Promise<void> {
    await lease.write(await this.#codec.encode(state));
  }

  #owned(lease: Lease, signal: AbortSignal | undefined): Owned {
    return { lease, signal, sleep: (ms) => sleep(ms, signal) };
  }
}

interface Recovered {
  readonly key: string;
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: Error;
}

/** Whoever gets the error learns that money is taken, and which. */
function withFunds(error: unknown, state: FlowState): unknown {
  if (error instanceof CrossBorderError && "senderGatewayTransactionId" in state && state.intent !== undefined) {
    const { senderGatewayTransactionId = "", intent } = state;
    error.funds = { intentId: intent.id, senderGatewayTransactionId };
  }
  return error;
}

function assertKey(key: unknown): asserts key is string {
  // Journals store keys as texts: what no UTF-8 can hold, and what PostgreSQL refuses, must not become another key.
  if (typeof key !== "string" || key === "" || key.length > 512 || /[\0\p{Cs}]/u.test(key)) {
    throw new InvalidArgumentError(
      "the key of a flow must be a string of 1 to 512 characters, well-formed and without NUL",
    );
  }
}

function assertSameRequest(key: string, known: PaymentIntentRequest, request: PaymentIntentRequest): void {
  const names = differingFields(known, request);
  if (names.length === 0) return;
  throw new InvalidArgumentError(
    `the key ${JSON.stringify(key)} belongs to another request, which differs in ${names.join(", ")}: each payment needs a key of its own`,
    { code: "flow_key_reused" },
  );
}

function assertOwnPayment(payment: Payment, { claims, senderGatewayTransactionId }: StateOf<"held">): Payment {
  const own =
    claims.some(({ signature }) => signature === payment?.creationRequestSignatureBase64) ||
    payment?.senderGatewayTransactionId === senderGatewayTransactionId;
  if (own) return payment;
  throw new InvalidArgumentError(
    "resolve: the payment given has neither this flow's signature nor its senderGatewayTransactionId",
    { code: "flow_payment_not_found" },
  );
}

function toDecision(action: Decision["action"], resolution: Resolution): Decision {
  if (action !== "resend" && action !== "release" && action !== "found") {
    throw new InvalidArgumentError('resolve: the action must be "resend", "release" or "found"');
  }
  const { by, why } = resolution ?? {};
  if (typeof by !== "string" || by === "" || typeof why !== "string" || why === "") {
    throw new InvalidArgumentError("resolve needs { by, why }: who decides, and on what grounds");
  }
  return { action, by, why, atMs: Date.now() };
}

function notHeld(key: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} can't be resolved: ${why}`, {
    code: "flow_not_held",
  });
}

function assertMs(option: string, value: unknown, least: number): void {
  if (typeof value !== "number" || !(value >= least && value <= 2 ** 31 - 1)) {
    throw new ConfigError(`${option} must be a number of milliseconds, ${least} or more; found ${String(value)}`);
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(new AbortedError("the caller's signal ended the wait; the flow stays where it is"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
