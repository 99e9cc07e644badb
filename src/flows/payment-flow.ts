import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { traceFrom } from "../errors/trace-from.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import { checkResolution, type Resolution } from "./check-resolution.js";
import {
  type Approval,
  approveFlow,
  assertName,
  checkApproval,
  checkRefusal,
  proposeFlow,
  type Refusal,
  refuseFlow,
  type StoredDecision,
} from "./decide-in-pairs.js";
import { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowDetails, flowDetails } from "./flow-details.js";
import {
  type CloseOptions,
  type FlowQuery,
  type PaymentFlowOptions,
  type RecoverOptions,
  type RunOptions,
  readCloseOptions,
  readMoveOptions,
  readQuery,
  readRecoverOptions,
  readRunOptions,
  readWorkOptions,
  toFlowContext,
  type WorkOptions,
} from "./flow-options.js";
import { type DeclinedFlow, type FlowOutcome, type HeldFlow, toOutcome } from "./flow-outcome.js";
import {
  countFlows,
  type FlowCounts,
  type FlowStatus,
  heldFlows,
  listFlows,
  type StuckFlow,
  toStatus,
  type WaitingSince,
} from "./flow-status.js";
import { elsewhereError, type FlowsElsewhere, findElsewhere } from "./flows-elsewhere.js";
import { type FlowOperation, followFlow } from "./follow-flow.js";
import { type FlowGauges, GaugeReader } from "./gauges/flow-gauges.js";
import { checkMove, type MoveOptions, type MoveReport, moveFlows } from "./move-flows.js";
import { truthOf } from "./ownership/flow-truth.js";
import type { CloseReport } from "./ownership/open-work.js";
import { Recovery, type ReportRecovered } from "./ownership/recovery.js";
import { cancelFlow, confirmFlow, type QuotedFlow, quoteFlow } from "./quote-flow.js";
import { recoverFlows } from "./recover-flows.js";
import { andGoOn, resolveFlow } from "./resolve-flow.js";
import { runFlow } from "./run-flow.js";
import { copyRequest } from "./state/copy-request.js";
import { assertFlowKey } from "./state/flow-key.js";
import { readState } from "./state/flow-scope.js";
import { hasOutcome, type ResolveAction } from "./state/flow-state.js";
import { takeOverAll, workFlows } from "./work-flows.js";

/**
 * Payments that survive crashes: what can't be undone is stored in a journal before it is done, and the signed request before it is sent.
 * A request that may have been sent is never sent again automatically: the flow looks for it among the listed payments.
 */
export class PaymentFlow {
  readonly #context: FlowContext;
  readonly #gauges: GaugeReader;

  /** @throws {ConfigError} that names the option that is wrong. */
  constructor(options: PaymentFlowOptions) {
    this.#context = toFlowContext(options);
    this.#gauges = new GaugeReader(this.#context);
  }

  /**
   * Asks what a payment costs, and stores the quote under `key`. No money is taken. The same key and request have the same quote while
   * it is fresh, and a new one when it has expired.
   *
   * @throws {ApiError} when the service refuses the intent; nothing is stored then. Where no response says whether it made the intent,
   *   which moves nothing, a {CrossBorderError} with `effect` `none` and what failed as its `cause`.
   * @throws {InvalidArgumentError} `flow_key_reused` when the key belongs to another request; `flow_confirmed` when it is too late.
   */
  async quote(key: string, request: PaymentIntentRequest, options: RunOptions = {}): Promise<QuotedFlow> {
    assertFlowKey(key);
    const own = copyRequest(request);
    return this.#call("quote", key, readRunOptions("quote", options), (call) =>
      quoteFlow(this.#context, key, own, call),
    );
  }

  /**
   * Takes the money and pays, at exactly the price that was shown. The same key has the same outcome, however often and wherever it is
   * confirmed.
   *
   * @param confirmed the intent of the quote that its sender saw.
   * @throws {FlowPausedError} as `run` does.
   * @throws {InvalidArgumentError} `quote_changed` when the flow has another intent by now; `quote_expired`; `flow_unknown`.
   */
  async confirm(key: string, confirmed: { readonly intentId: string }, options: RunOptions = {}): Promise<FlowOutcome> {
    assertFlowKey(key);
    const intentId: unknown = Reflect.get(Object(confirmed), "intentId");
    if (typeof intentId !== "string" || intentId === "") {
      throw new InvalidArgumentError(
        `confirm needs { intentId }: the id of the intent whose price was shown; found ${describeValue(intentId)}`,
      );
    }
    return this.#call("confirm", key, readRunOptions("confirm", options), (call) =>
      confirmFlow(this.#context, key, intentId, call),
    );
  }

  /**
   * Declines a quote. Calling it again gives the same outcome.
   *
   * @throws {InvalidArgumentError} `flow_confirmed` when the money may have been taken; `flow_unknown`.
   */
  async cancel(key: string, reason?: string): Promise<DeclinedFlow> {
    assertFlowKey(key);
    if (reason !== undefined && typeof reason !== "string") {
      throw new InvalidArgumentError(`cancel: the reason must be a string; found ${describeValue(reason)}`);
    }
    return this.#call("cancel", key, {}, (call) => cancelFlow(this.#context, key, reason, call));
  }

  /**
   * Makes the payment that belongs to `key`, or returns the outcome that it has already had. The same key has the same outcome,
   * however often and wherever it is run; while another process runs it, this one waits for the outcome. A quote of the key is
   * confirmed. `paid` means recorded: see `isSettledBadly`.
   *
   * @throws {FlowPausedError} when it stops without an outcome: the service can't be reached, `takeFunds` throws, the journal fails,
   *   `signal` aborts. The flow is stored and still owns the payment, and `work`, `recover` or a later `run` continues it.
   * @throws {InvalidArgumentError} `flow_key_reused` when the key belongs to another request; it names the fields that differ.
   */
  async run(key: string, request: PaymentIntentRequest, options: RunOptions = {}): Promise<FlowOutcome> {
    assertFlowKey(key);
    // The flow belongs to this call, whatever becomes of the objects that it was given.
    const own = copyRequest(request);
    return this.#call("run", key, readRunOptions("run", options), (call) => runFlow(this.#context, key, own, call));
  }

  /**
   * Takes over every flow whose owner is gone, and yields the outcome of each as it settles. Read it to its end at start-up, and now
   * and then: nothing happens before `for await`. `work` does that for as long as the process lives.
   *
   * @throws {AggregateError} when flows could not be continued, after all others have settled: a `FlowPausedError` for each.
   */
  recover(options: RecoverOptions = {}): AsyncGenerator<FlowOutcome, void, undefined> {
    const { concurrency, signal } = readRecoverOptions(options);
    return recoverFlows(this.#context, concurrency, signal);
  }

  /**
   * Recovers flows for as long as the process lives: until `signal` aborts, or the flow is closed. It never rejects because something
   * failed: that goes to `on.error`. So do, once, open and held flows of its gateway under another base URL (`flow_elsewhere`): see {@link PaymentFlow.move}.
   */
  async work(options: WorkOptions = {}): Promise<void> {
    const { signal, everyMs, concurrency } = readWorkOptions(options);
    const { openWork, reporter } = this.#context;
    await openWork.run(async (stop) => {
      const reported = this.#reportElsewhere();
      const recovery = new Recovery(this.#context, "work", concurrency, stop);
      const takeOver = (report: ReportRecovered) => takeOverAll(recovery, report);
      await workFlows({ takeOver, everyMs, reporter, random: Math.random }, stop);
      recovery.end();
      await reported;
    }, signal);
  }

  /** How far a flow has got; `undefined` if there is no such flow. Only reads. */
  async status(key: string): Promise<FlowStatus | undefined> {
    assertFlowKey(key);
    const entry = await this.#context.journal.read(key);
    return entry === undefined ? undefined : toStatus(this.#context, entry);
  }

  /**
   * The same, with everything that an operator decides by: the requests that may have been sent, the looks and what they rest on, the
   * decisions, and `seen`, by which a decision names what was looked at. Only reads.
   */
  async details(key: string): Promise<FlowDetails | undefined> {
    assertFlowKey(key);
    const entry = await this.#context.journal.read(key);
    return entry === undefined ? undefined : flowDetails(this.#context, entry);
  }

  /**
   * The status of every flow, by key, or of those of one phase, after the key `after`.
   *
   * @throws {AggregateError} when flows could not be read, after all others.
   */
  list(query: FlowQuery = {}): AsyncGenerator<FlowStatus, void, undefined> {
    return listFlows(this.#context, readQuery(query));
  }

  /**
   * How many flows are in each phase, for metrics. Every phase is there, also with 0.
   *
   * The journal counts, and reads no flow. `elsewhere` is how many flows of the gateway are open or held under another base URL: see {@link PaymentFlow.move}.
   */
  counts(): Promise<FlowCounts> {
    return countFlows(this.#context);
  }

  /**
   * How things stand, for metrics and alarms: what the journal has of all processes, and the work, the circuit breaker and the tokens of this one.
   * `observeGauges` of `cross-border-payments/opentelemetry` exports it.
   *
   * It never rejects, and takes 5 s at most. What is asked of the journal is shared by all who ask within 5 s, costs the more the more flows are
   * open or held, and waits for no lock. Settled flows are counted once a minute.
   */
  gauges(): Promise<FlowGauges> {
    return this.#gauges.read();
  }

  /**
   * What waits for an operator: what is open or held under another base URL, one item for each (see {@link PaymentFlow.move}), every held flow, then every
   * flow that is stuck, which means that it failed at the same step three times.
   *
   * @throws {AggregateError} when flows could not be read, after all others: a `flow_unreadable` for each, with its key.
   */
  held(): AsyncGenerator<((HeldFlow | StuckFlow) & WaitingSince) | FlowsElsewhere, void, undefined> {
    return heldFlows(this.#context);
  }

  /** The outcome of a flow; `undefined` while it is running, or if there is no such flow. Only reads. */
  async outcome(key: string): Promise<FlowOutcome | undefined> {
    assertFlowKey(key);
    const entry = await this.#context.journal.read(key);
    const state = entry === undefined ? undefined : await readState(this.#context, entry);
    return state !== undefined && hasOutcome(state) ? toOutcome(key, state) : undefined;
  }

  /**
   * Settles a flow that is held or stuck as an operator decides.
   *
   * - `found`: the payment was made. Without `payment` it is looked for once more, and it is an error if it is not found.
   * - `release`: the payment was certainly not made, and never will be. The money is given back.
   * - `resend`: the payment was certainly not made. The same bytes are sent again, with the same signature. A flow that has sent nothing
   *   goes on.
   *
   * Before `release` and `resend` the payment is looked for once more, when its request can no longer be sent.
   *
   * With `decisions: { people: 2 }` it is refused (`flow_approval_needed`): see {@link PaymentFlow.propose}. So it is while a proposal waits (`flow_proposed`).
   *
   * The wait and the look can take minutes. Only then is the decision stored: where `signal` or the end of the process comes before that,
   * nothing is decided; where it comes after that, `work` or `recover` does what was decided.
   *
   * @throws {InvalidArgumentError} `flow_not_held` when the flow is neither held nor stuck, or another process is running it;
   *   `flow_payment_not_found` when the payment is not found, or the given one belongs to another flow; `flow_payment_found` when
   *   it is there, and is to be released or sent again; `flow_payment_unseen` when that can't be told, unless `withoutProof` is true.
   * @throws {FlowPausedError} when something else stops it: the flow is as before, or goes on as was decided.
   */
  async resolve<Action extends ResolveAction>(
    key: string,
    action: Action,
    resolution: Resolution<Action>,
    options: RunOptions = {},
  ): Promise<FlowOutcome> {
    assertFlowKey(key);
    const checked = checkResolution(action, resolution);
    const work = (call: FlowCall) => resolveFlow(this.#context, key, checked, call);
    return this.#call("resolve", key, readRunOptions("resolve", options), work);
  }

  /**
   * Proposes what another person is to approve, and stores that with what was to be seen of the flow: nothing else happens. A proposal that
   * the flow has outrun is replaced by the next one.
   *
   * @throws {InvalidArgumentError} `flow_not_held` as `resolve` does, and where no money is known to have been taken; `flow_proposed` while
   *   another proposal waits; `flow_moved_on` where `seen` is given and there is more to see by now; `flow_payment_not_found` when the given
   *   payment belongs to another flow.
   * @throws {FlowPausedError} when something else stops it.
   */
  async propose<Action extends ResolveAction>(
    key: string,
    action: Action,
    proposal: Resolution<Action>,
  ): Promise<StoredDecision> {
    assertFlowKey(key);
    const checked = checkResolution(action, proposal, "propose");
    assertName("propose", checked.decision.by);
    return this.#decide("propose", key, (call) => proposeFlow(this.#context, key, checked, call));
  }

  /**
   * Does what another person proposed, as `resolve` does it: the payment is looked for once more before `release` and `resend`, the
   * approval is stored after that, and a signal or the end of the process before that leaves the proposal waiting.
   *
   * @throws {InvalidArgumentError} as `resolve` does, and `flow_not_proposed`; `flow_same_person`; `flow_moved_on` where there is more to see of
   *   the flow than its proposer saw, or another proposal waits than the given one.
   * @throws {FlowPausedError} when something else stops it: the flow is as before, or goes on as was decided.
   */
  async approve(key: string, approval: Approval, options: RunOptions = {}): Promise<FlowOutcome> {
    assertFlowKey(key);
    const checked = checkApproval(approval);
    const work = (call: FlowCall) => approveFlow(this.#context, key, checked, call, andGoOn);
    return this.#call("approve", key, readRunOptions("approve", options), work);
  }

  /**
   * Ends a proposal: another person refuses it, or its proposer takes it back. The flow stays as it is.
   *
   * @throws {InvalidArgumentError} `flow_not_held` and `flow_not_proposed`; `flow_moved_on` where another proposal waits than the given one.
   * @throws {FlowPausedError} when something else stops it.
   */
  async refuse(key: string, refusal: Refusal): Promise<StoredDecision> {
    assertFlowKey(key);
    const checked = checkRefusal(refusal);
    return this.#decide("refuse", key, (call) => refuseFlow(this.#context, key, checked, call));
  }

  /** How many people a decision takes: the option `decisions`. */
  get people(): 1 | 2 {
    return this.#context.people;
  }

  /**
   * Moves the flows of an earlier base URL of the same service, settled and held ones too, so that the same keys keep their outcomes. Each is
   * leased as an owner leases it: one whose owner lives is left, and named. Calling it again goes on with what was left, also after a crash.
   * It sends nothing, and moves no money.
   *
   * Quotes move once they have expired. What is left of pruned flows stays, and its keys are not paid again. What was signed for the old
   * address is looked for, and signed anew where it is to be sent again.
   *
   * @throws {InvalidArgumentError} when `from` or `to` is not a base URL, or both are the same; nothing is read then.
   * @throws {JournalError} when the journal fails between two flows; call it again.
   */
  async move(options: MoveOptions): Promise<MoveReport> {
    const { signal, ...given } = readMoveOptions(options);
    const move = checkMove(this.#context, given);
    return this.#context.openWork.run((stop) => moveFlows(this.#context, move, stop), signal);
  }

  /**
   * Accepts nothing new, and lets what is pending reach a state from which another process can go on: it resolves when all of it has,
   * or after `timeoutMs`. Neither the client nor the journal is closed.
   */
  async close(options: CloseOptions = {}): Promise<CloseReport> {
    return this.#context.openWork.close(readCloseOptions(options).timeoutMs);
  }

  /** Never rejects. */
  async #reportElsewhere(): Promise<void> {
    const { reporter } = this.#context;
    try {
      for (const found of await findElsewhere(this.#context)) reporter.emit("error", elsewhereError(found));
    } catch (error) {
      reporter.emit("error", error);
    }
  }

  /** A decision leads to no other phase, so that there is no outcome to follow. */
  async #decide(
    operation: FlowOperation,
    key: string,
    work: (call: FlowCall) => Promise<StoredDecision>,
  ): Promise<StoredDecision> {
    const decided = await this.#call(operation, key, {}, async (call) => ({
      status: "held",
      stored: await work(call),
    }));
    return decided.stored;
  }

  async #call<Result extends { readonly status: string }>(
    operation: FlowOperation,
    key: string,
    { headers, signal }: RunOptions,
    work: (call: FlowCall) => Promise<Result>,
  ): Promise<Result> {
    const { openWork, reporter } = this.#context;
    try {
      openWork.assertOpen();
    } catch (error) {
      // This process does nothing more for the key, and others may have paid.
      throw traceFrom(await truthOf(this.#context, key, error));
    }
    try {
      return await openWork.run((stop) => {
        const call = new FlowCall(stop, openWork.abandon, headers);
        return followFlow(reporter, operation, key, () => work(call));
      }, signal);
    } catch (error) {
      throw traceFrom(error);
    }
  }
}
