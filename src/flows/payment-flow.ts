import { CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import { type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { Deadline } from "../timing/deadline.js";
import { now } from "../timing/timestamp.js";
import { copyRequest } from "./copy-request.js";
import { finishFlow } from "./drive-flow.js";
import type { FlowContext } from "./flow-context.js";
import { assertFlowKey } from "./flow-key.js";
import {
  assertRunOptions,
  type PaymentFlowOptions,
  type RecoverOptions,
  type RunOptions,
  toFlowContext,
  withRecoverDefaults,
} from "./flow-options.js";
import { type FlowOutcome, type HeldFlow, toOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import { type FlowState, isSettled, type ResolveAction } from "./flow-state.js";
import type { JournalEntry, JournalState } from "./journal.js";
import { pauseFlow } from "./pause-flow.js";
import { recoverFlows } from "./recover-flows.js";
import { checkResolution, type Resolution, resolveFlow } from "./resolve-flow.js";

/**
 * Payments that survive crashes: each step is stored in a journal before it is taken, and the signed request before it is sent.
 * A request that may have been sent is never sent again automatically: the flow looks for it among the listed payments.
 */
export class PaymentFlow {
  readonly #context: FlowContext;

  /** @throws {ConfigError} that names the option that is wrong. */
  constructor(options: PaymentFlowOptions) {
    this.#context = toFlowContext(options);
  }

  /**
   * Makes the payment that belongs to `key`, or returns the outcome that it has already had. The same key has the same outcome,
   * however often and wherever it is run; while another process runs it, this one waits for the outcome.
   *
   * @throws {FlowPausedError} when it stops without an outcome: the service can't be reached, `takeFunds` throws, the journal fails,
   *   `signal` aborts. The flow is stored and still owns the payment, and a later `run` or `recover` continues it.
   * @throws {InvalidArgumentError} `flow_key_reused` when the key belongs to another request; it names the fields that differ.
   */
  async run(key: string, request: PaymentIntentRequest, options: RunOptions = {}): Promise<FlowOutcome> {
    assertFlowKey(key);
    assertRunOptions(options);
    // The flow belongs to this call, whatever becomes of the objects that it was given.
    const state: FlowState = { phase: "created", request: copyRequest(request) };
    const { signal } = options;
    const { client, codec } = this.#context;
    await client.check(paymentIntents.create, [], { body: state.request });
    const stored = await codec.encode(state);
    const deadline = new Deadline({ signal });
    try {
      const askedAt = now();
      const { entry, created } = await this.#begin(key, stored);
      const outcome = created ? await finishFlow(this.#context, { entry, state, askedAt }, deadline) : undefined;
      return outcome ?? (await this.#finishOrWait(key, state.request, deadline));
    } finally {
      deadline.finish();
    }
  }

  /**
   * Takes over every flow whose owner is gone, and yields the outcome of each as it settles. Run it at start-up, and now and then.
   *
   * @throws {AggregateError} when flows could not be continued, after all others have settled: a `FlowPausedError` for each.
   */
  recover(options: RecoverOptions = {}): AsyncGenerator<FlowOutcome, void, undefined> {
    return this.#recover(typeof options === "object" && options !== null ? { ...options } : options);
  }

  /** The outcome of a flow; `undefined` while it is running, or if there is no such flow. Only reads. */
  async outcome(key: string): Promise<FlowOutcome | undefined> {
    assertFlowKey(key);
    const entry = await this.#context.journal.read(key);
    const state = entry === undefined ? undefined : await this.#context.codec.decode(entry);
    return state !== undefined && isSettled(state) ? toOutcome(key, state) : undefined;
  }

  /**
   * Every held flow, for the operator's page.
   *
   * @throws {AggregateError} when flows could not be read, after all others: a `flow_unreadable` for each, with its key.
   */
  async *held(): AsyncGenerator<HeldFlow, void, undefined> {
    const { journal } = this.#context;
    const failures: CrossBorderError[] = [];
    for (let after: string | undefined; ; ) {
      const entries = await journal.list({ phase: "held", after, limit: 100 });
      for (const entry of entries) {
        const outcome = await this.#readHeld(entry, failures);
        if (outcome !== undefined) yield outcome;
      }
      after = entries.at(-1)?.key;
      if (after === undefined) break;
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
  }

  /**
   * Settles a held flow as an operator decides.
   *
   * - `found`: the payment was made. Without `payment` it is looked for once more, and it is an error if it is not found.
   * - `release`: the payment was certainly not made, and never will be. The money is given back.
   * - `resend`: the payment was certainly not made. The same bytes are sent again, with the same signature.
   *
   * Before `release` and `resend` the payment is looked for once more, when its request can no longer be sent.
   *
   * @throws {InvalidArgumentError} `flow_not_held` when the flow is not held, or another process is running it;
   *   `flow_payment_not_found` when the payment is not found, or the given one belongs to another flow; `flow_payment_found` when
   *   it is there, and is to be released or sent again; `flow_payment_unseen` when that can't be told, unless `evenUnseen` is true.
   * @throws {FlowPausedError} when something else stops it: the flow is held as before, or goes on as was decided.
   */
  async resolve<Action extends ResolveAction>(
    key: string,
    action: Action,
    resolution: Resolution<Action>,
  ): Promise<FlowOutcome> {
    assertFlowKey(key);
    return resolveFlow(this.#context, key, checkResolution(action, resolution));
  }

  async *#recover(options: RecoverOptions): AsyncGenerator<FlowOutcome, void, undefined> {
    const { concurrency, signal } = withRecoverDefaults(options);
    yield* recoverFlows(this.#context, concurrency, signal);
  }

  async #readHeld(entry: JournalEntry, failures: CrossBorderError[]): Promise<HeldFlow | undefined> {
    try {
      const state = await this.#context.codec.decode(entry);
      const outcome = isSettled(state) ? toOutcome(entry.key, state) : undefined;
      return outcome?.status === "held" ? outcome : undefined;
    } catch (error) {
      if (!(error instanceof CrossBorderError)) throw error;
      failures.push(error);
      return undefined;
    }
  }

  /** A write that failed may have been stored all the same: only a key that is not there afterwards has no flow. */
  async #begin(
    key: string,
    stored: JournalState,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    const { journal, leaseRequest } = this.#context;
    try {
      return await journal.begin(key, stored, leaseRequest);
    } catch (cause) {
      const isThere = await journal.read(key).then(
        (entry) => entry !== undefined,
        () => true,
      );
      throw isThere ? new FlowPausedError(key, { cause }) : cause;
    }
  }

  /** Until there is an outcome: takes the flow over once its owner is gone, and waits until then. */
  async #finishOrWait(key: string, request: PaymentIntentRequest, deadline: Deadline): Promise<FlowOutcome> {
    const { leaseMs } = this.#context.leaseRequest;
    try {
      for (;;) {
        const outcome = await this.#finish(key, request, deadline);
        if (outcome !== undefined) return outcome;
        await pauseFlow(Math.min(250, leaseMs / 4), deadline);
      }
    } catch (cause) {
      if (cause instanceof FlowPausedError || isKeyReused(cause)) throw cause;
      throw new FlowPausedError(key, { cause });
    }
  }

  /** The outcome, if there is one or this process can take the flow over; `undefined` while another process runs it. */
  async #finish(key: string, request: PaymentIntentRequest, deadline: Deadline): Promise<FlowOutcome | undefined> {
    const { journal, codec, leaseRequest } = this.#context;
    const entry = await journal.read(key);
    if (entry === undefined) {
      throw new InvalidArgumentError(`the journal no longer has the flow of key ${JSON.stringify(key)}`);
    }
    const state = await codec.decode(entry);
    assertSameRequest(key, state.request, request);
    if (isSettled(state)) return toOutcome(key, state);
    const askedAt = now();
    const leased = await journal.acquire(key, leaseRequest);
    if (leased === undefined) return undefined;
    return finishFlow(this.#context, { entry: leased, state: await codec.decode(leased), askedAt }, deadline);
  }
}

function assertSameRequest(key: string, known: PaymentIntentRequest, request: PaymentIntentRequest): void {
  const names = new Set([...Object.keys(known), ...Object.keys(request)]);
  const differing = [...names].filter((name) => Reflect.get(known, name) !== Reflect.get(request, name)).sort();
  if (differing.length === 0) return;
  throw new InvalidArgumentError(
    `the key ${JSON.stringify(key)} belongs to another request, which differs in ${differing.join(", ")}: each payment needs its own key`,
    { code: "flow_key_reused" },
  );
}

function isKeyReused(error: unknown): boolean {
  return error instanceof InvalidArgumentError && error.code === "flow_key_reused";
}
