import { describeValue } from "../core/describe.js";
import { InvalidArgumentError, traceFrom } from "../core/errors.js";
import { type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { type FlowContext, toFlowContext } from "./context.js";
import type { Call } from "./core/state.js";
import { Driver } from "./driver.js";
import { type CloseReport, FlowCall } from "./flow-call.js";
import { ownRequest } from "./funds.js";
import { assertFlowKey } from "./journal.js";
import { type FlowApproval, type FlowResolution, readApproval, readProposal, readResolution } from "./operate.js";
import {
  type CloseOptions,
  closeOptions,
  type FlowQuery,
  type PatientOptions,
  type PaymentFlowOptions,
  patientOptions,
  queryOptions,
  type RecoverOptions,
  type RunOptions,
  readOptions,
  recoverOptions,
  runOptions,
  type WorkOptions,
  workOptions,
} from "./options.js";
import {
  type DeclinedFlow,
  type FlowOperation,
  type FlowOutcome,
  follow,
  type HeldFlow,
  type QuotedFlow,
  type ResolveAction,
  toResult,
} from "./outcome.js";
import {
  countFlows,
  type FlowCounts,
  type FlowDetails,
  type FlowGauges,
  type FlowListItem,
  type FlowStatus,
  heldFlows,
  listFlows,
  readDetails,
  readGauges,
  readStatus,
  type WaitingSince,
} from "./status.js";
import { Work } from "./work.js";

/**
 * Payments that survive crashes. The flow stores each step in a journal before it takes it, and the signed request before it
 * sends it. It never sends a request again that may have been sent. It searches the list of payments for it.
 */
export class PaymentFlow {
  readonly #context: FlowContext;
  readonly #work: Work;

  /** @throws {ConfigError} that names the option that is wrong, or if the client has no signing key. */
  constructor(options: PaymentFlowOptions) {
    this.#context = toFlowContext(options);
    this.#work = new Work(this.#context);
  }

  /**
   * Asks for the price of a payment and stores the quote under `key`. No money is taken.
   *
   * The same key and request return the same quote while it is valid, and a new one later.
   *
   * @throws {ApiError} if the service refuses the intent. Nothing is stored then.
   * @throws {InvalidArgumentError} `flow_key_reused` if the key belongs to another request, `flow_confirmed` if it is too late.
   */
  async quote(key: string, request: PaymentIntentRequest, options: RunOptions = {}): Promise<QuotedFlow> {
    const read = readOptions("quote", runOptions, options);
    const asked = await this.#readRequest(key, request, read);
    return this.#call("quote", key, { kind: "quote", request: asked }, read);
  }

  /**
   * Takes the money and pays, at exactly the price that was shown. However often you confirm a key, it has one outcome.
   *
   * @param confirmed the intent of the quote that its sender saw.
   * @throws {FlowPausedError} as `run` does.
   * @throws {InvalidArgumentError} `quote_changed` if the flow has another intent now, `quote_expired`, or `flow_unknown`.
   */
  async confirm(
    key: string,
    confirmed: { readonly intentId: string },
    options: PatientOptions = {},
  ): Promise<FlowOutcome> {
    const intentId: unknown = Reflect.get(Object(confirmed), "intentId");
    if (typeof intentId !== "string" || intentId === "") {
      throw new InvalidArgumentError(
        `confirm needs { intentId }: the id of the intent whose price was shown; got ${describeValue(intentId)}`,
      );
    }
    return this.#outcome("confirm", key, { kind: "confirm", intentId }, options);
  }

  /**
   * Declines a quote. A repeated call has the same outcome.
   *
   * @throws {InvalidArgumentError} `flow_confirmed` if the money may have been taken, or `flow_unknown`.
   */
  async cancel(key: string, reason?: string): Promise<DeclinedFlow> {
    if (reason !== undefined && typeof reason !== "string") {
      throw new InvalidArgumentError(`cancel: the reason must be a string; got ${describeValue(reason)}`);
    }
    return this.#call("cancel", key, { kind: "cancel", reason });
  }

  /**
   * Makes the payment of `key`, or returns its outcome if it has one. However often you run a key, it has one outcome. If another
   * process runs it, this one waits. A quote of the key is confirmed. `paid` means recorded (see `isSettledBadly`).
   *
   * @throws {FlowPausedError} if it stops without an outcome, because the service can't be reached, `takeFunds` throws, the
   * journal fails, or `signal` aborts. The flow is stored and still owns the payment. `work`, `recover`, or a later `run`
   * continues it.
   *
   * @throws {InvalidArgumentError} `flow_key_reused` if the key belongs to another request, `flow_pruned`, or `flow_foreign`.
   */
  async run(key: string, request: PaymentIntentRequest, options: PatientOptions = {}): Promise<FlowOutcome> {
    const asked = await this.#readRequest(key, request, options);
    return this.#outcome("run", key, { kind: "run", request: asked }, options);
  }

  /**
   * Takes over every flow without a living owner, searches for the payments of held flows, and yields each outcome as it settles.
   * It starts with `for await`. `work` does the same for as long as the process lives.
   *
   * @throws {AggregateError} after all others have settled, with a `FlowPausedError` for each flow that couldn't be continued.
   */
  recover(options: RecoverOptions = {}): AsyncGenerator<FlowOutcome, void, undefined> {
    const { concurrency = 8, signal } = readOptions("recover", recoverOptions, options);
    return this.#work.recover(concurrency, signal);
  }

  /**
   * Recovers flows for as long as the process lives, and searches for the payments of held ones at growing intervals, until
   * `signal` aborts or the flow is closed. Failures go to `on.error` and never reject it.
   */
  async work(options: WorkOptions = {}): Promise<void> {
    const { signal, everyMs = 5_000, concurrency = 8 } = readOptions("work", workOptions, options);
    await this.#work.work(concurrency, everyMs, signal);
  }

  /** Returns the state of a flow, or `undefined` if there is no such flow. It only reads. */
  async status(key: string): Promise<FlowStatus | undefined> {
    assertFlowKey(key);
    return readStatus(this.#context, key);
  }

  /**
   * Like `status`, with everything that an operator needs to decide, such as the signed request, the searches, and the history.
   * It only reads.
   */
  async details(key: string): Promise<FlowDetails | undefined> {
    assertFlowKey(key);
    return readDetails(this.#context, key);
  }

  /**
   * Every flow, by key, or those of one phase, after the key `after`.
   *
   * @throws {AggregateError} if flows could not be read, after all others.
   */
  list(query: FlowQuery = {}): AsyncGenerator<FlowListItem, void, undefined> {
    return listFlows(this.#context, readOptions("list", queryOptions, query));
  }

  /**
   * Lists every held flow, by key. Each waits for an operator.
   *
   * @throws {AggregateError} after all others, with a `flow_unreadable` for each flow that couldn't be read.
   */
  held(): AsyncGenerator<HeldFlow & WaitingSince, void, undefined> {
    return heldFlows(this.#context);
  }

  /** How many flows are in each phase, for metrics. Every phase is there, also with 0. */
  counts(): Promise<FlowCounts> {
    return countFlows(this.#context);
  }

  /**
   * Returns figures for metrics and alarms. The journal counts the flows of all processes, and this process adds its work,
   * circuit breaker, and tokens. `observeGauges` of `cross-border-payments/opentelemetry` exports them.
   *
   * It never rejects, and takes 5 s at most.
   */
  gauges(): Promise<FlowGauges> {
    return readGauges(this.#context, this.#work.load);
  }

  /**
   * Settles a held flow by an operator's decision.
   *
   * - `found` if the payment was made. Without `payment` it must be listed.
   * - `release` if it wasn't made and never will be. The money is returned.
   * - `resend` if it wasn't made. The same signed bytes are sent again.
   *
   * `release` and `resend` search for the payment first. If decisions take two people, use {@link PaymentFlow.propose}.
   *
   * @throws {InvalidArgumentError} `flow_not_held`, `flow_busy` if another process works on it, `flow_changed` if it changed since you
   *   saw it, `flow_payment_not_found` if the payment isn't listed or belongs to another flow, `flow_payment_found` if a payment to
   *   release or resend is listed, `flow_payment_unseen` if the search can't tell (unless `withoutProof` is true), and
   *   `flow_approval_needed` if a decision takes two people.
   * @throws {FlowPausedError} if something else stops it. The flow is as before, or continues as decided.
   */
  async resolve(
    key: string,
    action: ResolveAction,
    resolution: FlowResolution,
    options: PatientOptions = {},
  ): Promise<FlowOutcome> {
    const { decision, revision } = readResolution("resolve", action, resolution);
    if (this.people === 2) {
      throw new InvalidArgumentError("resolve: decisions take two people: one calls propose, and another approve", {
        code: "flow_approval_needed",
        effect: "possible",
      });
    }
    return this.#outcome("resolve", key, { kind: "resolve", step: "decide", decision, revision }, options);
  }

  /**
   * Stores a decision that another person must approve. It replaces an earlier proposal and does nothing else. The `revision` of
   * the result contains the proposal, and an approval must name it.
   *
   * @throws {InvalidArgumentError} `flow_not_held`, `flow_busy`, and `flow_changed`, as `resolve` does.
   * @throws {FlowPausedError} if something else stops it.
   */
  async propose(key: string, action: ResolveAction, proposal: FlowResolution): Promise<HeldFlow> {
    return this.#call("propose", key, { kind: "resolve", ...readProposal(action, proposal) });
  }

  /**
   * Carries out what another person proposed, as `resolve` does, with the proposal's `payment` and `withoutProof`.
   *
   * @throws {InvalidArgumentError} as `resolve` does, `flow_not_proposed` and `flow_same_person`.
   * @throws {FlowPausedError} if something else stops it. The flow is as before, or continues as decided.
   */
  async approve(key: string, approval: FlowApproval, options: PatientOptions = {}): Promise<FlowOutcome> {
    return this.#outcome("approve", key, { kind: "resolve", ...readApproval("approve", approval) }, options);
  }

  /**
   * Drops a proposal, because another person refuses it or its proposer withdraws it. The flow stays as it is.
   *
   * @throws {InvalidArgumentError} `flow_not_held`, `flow_not_proposed`, `flow_busy`, and `flow_changed`.
   * @throws {FlowPausedError} if something else stops it.
   */
  async refuse(key: string, refusal: FlowApproval): Promise<HeldFlow> {
    return this.#call("refuse", key, { kind: "resolve", ...readApproval("refuse", refusal) });
  }

  /** How many people a decision takes (option `decisions`). */
  get people(): 1 | 2 {
    return this.#context.people;
  }

  /**
   * Accepts no new calls and waits until pending ones reach a state that another process can continue, or until `timeoutMs` is
   * over. The client and the journal stay open.
   */
  async close(options: CloseOptions = {}): Promise<CloseReport> {
    const { timeoutMs = 10_000 } = readOptions("close", closeOptions, options);
    return this.#context.openWork.close(timeoutMs);
  }

  /** A wrong request is refused before any I/O. */
  async #readRequest(
    key: string,
    request: PaymentIntentRequest,
    { headers }: RunOptions,
  ): Promise<PaymentIntentRequest> {
    assertFlowKey(key);
    // The flow keeps copies, so later changes to the caller's objects have no effect.
    const asked = ownRequest(request);
    const { client, scope } = this.#context;
    await client.check(paymentIntents.create, [], { body: asked }, { headers }).catch((error: unknown) => {
      throw traceFrom(error);
    });
    if (scope.gateway !== undefined && asked.senderGatewayId !== scope.gateway) {
      throw new InvalidArgumentError(
        "the request's senderGatewayId is not the gatewayId of this PaymentFlow: each gateway needs a PaymentFlow of its own",
      );
    }
    return asked;
  }

  async #outcome(operation: FlowOperation, key: string, call: Call, options: PatientOptions): Promise<FlowOutcome> {
    const { patienceMs = 30_000, ...read } = readOptions(operation, patientOptions, options);
    return this.#call(operation, key, call, { ...read, patienceMs });
  }

  /** The core gives each kind of call the results that its method promises. */
  async #call<Result extends FlowOutcome | QuotedFlow>(
    operation: FlowOperation,
    key: string,
    call: Call,
    { signal, headers, patienceMs = 0 }: PatientOptions = {},
  ): Promise<Result> {
    const { openWork, reporter } = this.#context;
    try {
      assertFlowKey(key);
      return await openWork.run(
        (stop) =>
          follow(reporter, operation, key, async () => {
            const driver = new Driver(this.#context, key, new FlowCall({ stop, headers, patienceMs }));
            return toResult(operation, key, await driver.run(call)) as Result;
          }),
        signal,
      );
    } catch (error) {
      throw traceFrom(error);
    }
  }
}
