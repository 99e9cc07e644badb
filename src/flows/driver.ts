import { AbortedError, InvalidArgumentError } from "../errors/errors.js";
import { uniqueId } from "../platform/unique-id.js";
import { type PaymentIntentRequest, PaymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { Deadline, Ended } from "../timing/deadline.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import { assertPayable } from "./assert-payable.js";
import { isOpenPhase, type StoredFlow, stepTo } from "./codec.js";
import type { FlowContext } from "./context.js";
import { isAnother } from "./core/match.js";
import { next, resume, start } from "./core/next.js";
import type {
  Call,
  Claimed,
  Command,
  Entry,
  Event,
  Flow,
  FundsRequested,
  Refused,
  Response,
  Result,
  Sent,
  State,
  Step,
} from "./core/state.js";
import { FlowSteps } from "./flow-steps.js";
import { frozenCopy, readFlowFunds } from "./funds.js";
import type { JournalEntry, LeaseRequest } from "./journal.js";
import { askJournal, Lease } from "./lease.js";
import { toRefusal } from "./outcome.js";
import { paymentInput } from "./payment-from-intent.js";
import { isPassing, toFailure, toResponse, toServiceRefusal, WaitTooLong } from "./responses.js";
import { searchForPayment } from "./search.js";
import type { Slots } from "./slots.js";
import { assertOwnEntry, isExpired } from "./status.js";

/** One call of a flow's method. */
export interface FlowCall {
  /** Ends the waits, and the requests that move no money. */
  readonly stop: AbortSignal;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer wait ends the call. */
  readonly patienceMs: number;
  /** Of `work`: a flow that waits makes room for another. */
  readonly slots?: Slots | undefined;
}

/** What became of a call. */
export interface Driven {
  readonly result: Result;
  /** The newest state that the call has seen or stored. */
  readonly flow: Flow | undefined;
  readonly revision: number;
  /** Of a quote. */
  readonly expiresAtMs: number;
}

type WithoutTime<E> = E extends unknown ? Omit<E, "nowMs"> : never;
/** What the core is told, before the time is added. */
type Happened = WithoutTime<Event>;

/** Runs the commands of the core for one key: over the journal, the client, and the bank's functions. */
export class Driver {
  readonly #context: FlowContext;
  readonly #key: string;
  readonly #call: FlowCall;
  readonly #steps: FlowSteps;
  /** As it was read last. */
  #entry: JournalEntry | undefined;
  /** The flow of that entry, or as it was stored since. */
  #stored: StoredFlow | undefined;
  #lease: Lease | undefined;
  /** When this process's own request for the payment ended. */
  #requestEndedAt: Timestamp | undefined;

  constructor(context: FlowContext, key: string, call: FlowCall) {
    this.#context = context;
    this.#key = key;
    this.#call = call;
    this.#steps = new FlowSteps(context.reporter, key);
  }

  run(call: Call): Promise<Driven> {
    return this.#drive(start(call));
  }

  /** Continues a flow that was just acquired. @param requestedAt when the lease was asked for. */
  async resume(entry: JournalEntry, requestedAt: Timestamp): Promise<Driven> {
    return this.#drive(resume(await this.#owned(entry, requestedAt)));
  }

  async #drive({ state, command }: Step): Promise<Driven> {
    try {
      while (command !== undefined) {
        const event: Event = { ...(await this.#perform(command, state)), nowMs: clock.wallMs() };
        ({ state, command } = next(state, event, this.#context.config));
      }
      if (state.at !== "done") throw new Error(`the flow stopped in ${state.at}`);
      const { expiresAtMs = clock.wallMs() } = this.#entry ?? {};
      const revision = this.#lease?.revision ?? this.#entry?.revision ?? 0;
      return { result: state.result, flow: this.#stored?.flow, revision, expiresAtMs };
    } finally {
      this.#lease?.end();
    }
  }

  async #perform(command: Command, state: State): Promise<Happened> {
    try {
      return await this.#does(command, state.at === "writing" ? state.owner.call : state.call);
    } catch (error) {
      // Nothing is known of another's flow, and nothing was done to it.
      if (error instanceof InvalidArgumentError && error.code === "flow_foreign") throw error;
      const failure = toFailure(error);
      this.#steps.failed(this.#stored?.flow, failure);
      return { is: "failed", failure };
    }
  }

  #does(command: Command, call: Call): Promise<Happened> {
    switch (command.do) {
      case "read":
        return this.#read();
      case "createIntent":
        return this.#createIntent(command.request, call);
      case "begin":
        return this.#begin(command.flow);
      case "replaceQuote":
        return this.#replaceQuote(command.flow, command.inTime);
      case "acquire":
        return this.#acquire();
      case "write":
        return this.#write(command.flow, call);
      case "release":
        return this.#release();
      case "takeFunds":
        return this.#takeFunds(command.flow);
      case "releaseFunds":
        return this.#releaseFunds(command.flow);
      case "sign":
        return this.#sign(command.flow, command.funds.senderGatewayTransactionId);
      case "send":
        return this.#send(command.flow);
      case "search":
        return this.#search(command.flow, command.backToMs);
      case "wait":
        return command.until === "notBefore" ? this.#waitUntil(command.atMs) : this.#wait(command.until);
    }
  }

  // The journal.

  async #read(): Promise<Happened> {
    const { journal } = this.#context;
    const entry = await askJournal(() => journal.read(this.#key));
    if (entry !== undefined) return this.#seen(entry);
    this.#entry = undefined;
    this.#stored = undefined;
    return { is: "entry", entry: undefined };
  }

  async #seen(entry: JournalEntry): Promise<Happened> {
    assertOwnEntry(this.#context, entry);
    if (entry.prunedAtMs !== undefined) return { is: "pruned" };
    return { is: "entry", entry: await this.#known(entry) };
  }

  async #known(entry: JournalEntry): Promise<Entry> {
    this.#stored = await this.#context.codec.decode(entry);
    this.#entry = entry;
    return { flow: this.#stored.flow, revision: entry.revision, isExpired: isExpired(entry) };
  }

  async #owned(entry: JournalEntry, requestedAt: Timestamp): Promise<Entry> {
    const { journal, leaseMs } = this.#context;
    const lease = new Lease(journal, entry, leaseMs, requestedAt);
    try {
      const known = await this.#known(entry);
      this.#lease = lease;
      return known;
    } catch (error) {
      lease.end();
      await journal.release(this.#key, lease.id).catch(() => {});
      throw error;
    }
  }

  async #begin(flow: Flow): Promise<Happened> {
    const { journal, codec, scope } = this.#context;
    const own = { service: scope.service, gateway: flow.request.senderGatewayId };
    const stored = this.#stepTo(flow);
    const state = await codec.encode(this.#key, own, stored);
    const lease = this.#leaseRequest();
    const requestedAt = now();
    const { entry, created } = await askJournal(() => journal.begin(this.#key, own, state, lease));
    if (!created) return this.#seen(entry);
    return this.#becameOwner(entry, stored, requestedAt);
  }

  async #replaceQuote(flow: Flow, inTime: boolean): Promise<Happened> {
    const { journal, codec } = this.#context;
    const quote = this.#entry;
    if (quote === undefined) throw new Error("there is no quote");
    const stored = this.#stepTo(flow);
    const state = await codec.encode(this.#key, quote.scope, stored);
    const lease = this.#leaseRequest();
    const requestedAt = now();
    if (!(await askJournal(() => journal.write(this.#key, quote, state, { lease, inTime })))) return { is: "refused" };
    const written = { ...quote, epoch: quote.epoch + 1, revision: quote.revision + 1, nonce: lease.nonce };
    // Only the journal knows until when it is valid.
    const entry = flow.phase === "quoted" ? await askJournal(() => journal.read(this.#key)) : written;
    return this.#becameOwner(entry?.nonce === lease.nonce ? entry : written, stored, requestedAt);
  }

  #becameOwner(entry: JournalEntry, stored: StoredFlow, requestedAt: Timestamp): Happened {
    const { journal, leaseMs } = this.#context;
    const { flow } = stored;
    this.#steps.stored(this.#stored?.flow, flow);
    this.#entry = entry;
    this.#stored = stored;
    if (isOpenPhase(flow.phase)) this.#lease = new Lease(journal, entry, leaseMs, requestedAt);
    return { is: "owned", entry: { flow, revision: entry.revision, isExpired: isExpired(entry) } };
  }

  async #acquire(): Promise<Happened> {
    const { journal } = this.#context;
    const lease = this.#leaseRequest();
    const requestedAt = now();
    const entry = await askJournal(() => journal.acquire(this.#key, lease));
    return entry === undefined ? { is: "busy" } : { is: "owned", entry: await this.#owned(entry, requestedAt) };
  }

  async #write(flow: Flow, call: Call): Promise<Happened> {
    const { journal, codec, owner } = this.#context;
    const lease = this.#ownLease();
    const before = this.#stored?.flow;
    const stored = this.#stepTo(flow, call.kind === "resolve" ? personOf(call) : owner);
    const state = await codec.encode(this.#key, this.#ownEntry().scope, stored);
    const id = { ...lease.id, revision: lease.revision };
    if (!(await askJournal(() => journal.write(this.#key, id, state)))) {
      this.#lease = undefined;
      lease.end();
      return { is: "refused" };
    }
    lease.revision += 1;
    this.#stored = stored;
    this.#steps.stored(before, flow);
    if (call.kind === "resolve" && before?.phase === "held") this.#steps.decided(before, flow, call);
    return { is: "stored" };
  }

  async #release(): Promise<Happened> {
    const lease = this.#lease;
    lease?.end();
    // If it fails, the lease ends by time.
    if (lease !== undefined) await this.#context.journal.release(this.#key, lease.id).catch(() => {});
    return { is: "done" };
  }

  #stepTo(flow: Flow, by = this.#context.owner): StoredFlow {
    return stepTo(flow, this.#stored, clock.wallMs(), by);
  }

  #leaseRequest(): LeaseRequest {
    const { owner, leaseMs } = this.#context;
    return { owner, leaseMs, nonce: uniqueId() };
  }

  #ownLease(): Lease {
    if (this.#lease === undefined) throw new Error("this process doesn't own the flow");
    return this.#lease;
  }

  #ownEntry(): JournalEntry {
    if (this.#entry === undefined) throw new Error("the flow was not read");
    return this.#entry;
  }

  // The bank.

  async #takeFunds(flow: FundsRequested): Promise<Happened> {
    const { takeFunds, circuitBreaker, config } = this.#context;
    if (flow.signed === undefined) circuitBreaker?.assertClosed();
    const intent = frozenCopy(flow.intent);
    const returned: unknown = await this.#outside(() => takeFunds({ key: this.#key, intent }));
    const funds = readFlowFunds(returned, clock.wallMs() + config.bankSkewMs);
    const claimed = flow.signed?.senderGatewayTransactionId;
    if (claimed !== undefined && funds !== null && funds.senderGatewayTransactionId !== claimed) {
      throw new InvalidArgumentError(
        "takeFunds returned another senderGatewayTransactionId than before: its first answer is final. Nothing is sent until it returns the same one",
      );
    }
    await this.#ownLease().refresh();
    return { is: "funds", funds };
  }

  async #releaseFunds(flow: Refused): Promise<Happened> {
    const { releaseFunds } = this.#context;
    const { senderGatewayTransactionId } = flow.signed;
    const intent = frozenCopy(flow.intent);
    const refusal = toRefusal(flow.refusal);
    await this.#outside(() => releaseFunds({ key: this.#key, intent, senderGatewayTransactionId, refusal }));
    return { is: "done" };
  }

  /** Calls a function of the bank, which can take any time. */
  #outside<T>(work: () => Promise<T> | T): Promise<T> {
    return this.#untilStopped((deadline) => deadline.race((async () => work())()), this.#context.leaseMs);
  }

  // The service.

  async #createIntent(request: PaymentIntentRequest, call: Call): Promise<Happened> {
    const { client, circuitBreaker } = this.#context;
    if (call.kind === "run") circuitBreaker?.assertMayBegin();
    try {
      const intent = await new PaymentIntents(client).create(request, this.#requestOptions);
      await assertPayable(client, request, intent, this.#requestOptions);
      return { is: "intent", intent };
    } catch (error) {
      const refusal = toServiceRefusal(error);
      if (refusal === undefined || isPassing(refusal)) throw error;
      return { is: "intentRefused", refusal, failure: toFailure(error) };
    }
  }

  async #sign({ intent }: FundsRequested, senderGatewayTransactionId: string): Promise<Happened> {
    const input = paymentInput(intent, senderGatewayTransactionId);
    const request = await this.#context.client.sign(payments.create, [], input, this.#requestOptions);
    const { path, signature } = request;
    return { is: "signed", signed: { senderGatewayTransactionId, path, body: request.body, signature } };
  }

  /** The only place that sends a payment: once, and not after the lease. */
  async #send({ signed }: Claimed): Promise<Happened> {
    const { client, circuitBreaker, openWork } = this.#context;
    const lease = this.#ownLease();
    await lease.refresh();
    // What was sent isn't given up because its caller stopped waiting.
    const end = new AbortController();
    const stopListening = openWork.abandon.listen(() => end.abort());
    let response: Response;
    try {
      const options = { headers: this.#call.headers, maxRetries: 0, signal: end.signal };
      // The transport looks at both clocks again, right before it writes the first byte.
      const payment = await client.send(payments.create, signed, lease.sendBy, options);
      response = isAnother(signed, payment)
        ? { is: "unknown", said: { code: "another_payment", message: "the response is another payment's" } }
        : { is: "paid", payment };
    } catch (error) {
      response = toResponse(error);
    } finally {
      stopListening();
      this.#requestEndedAt = now();
    }
    if (response.is !== "notSent") circuitBreaker?.note(response.is === "unknown");
    return { is: "response", response };
  }

  /** The search that follows a refusal isn't given up: what the service said of the payment still has to be stored. */
  async #search({ signed }: Sent, backToMs: number): Promise<Happened> {
    const { stop, headers } = this.#call;
    const isAfterRefusal = this.#stored?.flow.phase === "claimed";
    const signal = isAfterRefusal ? undefined : stop;
    try {
      const result = await searchForPayment(this.#context, signed, { since: backToMs, signal, headers });
      return { is: "searched", result };
    } catch (error) {
      if (!isAfterRefusal) throw error;
      return { is: "searched", result: { is: "unreadable" } };
    }
  }

  get #requestOptions() {
    return { headers: this.#call.headers, signal: this.#call.stop };
  }

  // Waits.

  async #wait(until: "readBack" | "listed" | "others"): Promise<Happened> {
    const { leaseMs, readBackDelayMs, config } = this.#context;
    switch (until) {
      case "readBack":
        return this.#pause(readBackDelayMs);
      case "listed": {
        const { listedWithinMs = 0 } = config.facts;
        const sinceMs = Math.max(this.#ownLease().acquiredAt.monotonicMs, this.#requestEndedAt?.monotonicMs ?? 0);
        return this.#waitUntil(clock.wallMs() + listedWithinMs - (clock.monotonicMs() - sinceMs));
      }
      case "others": {
        const flow = this.#stored?.flow;
        // Its owner waits, too.
        if (flow?.phase === "funds-requested") this.#assertPatience(flow.notBeforeMs);
        return this.#pause(Math.min(250, leaseMs / 4));
      }
    }
  }

  async #waitUntil(atMs: number): Promise<Happened> {
    this.#assertPatience(atMs);
    return this.#pause(Math.max(0, atMs - clock.wallMs()));
  }

  #assertPatience(atMs = 0): void {
    if (atMs - clock.wallMs() > this.#call.patienceMs) throw new WaitTooLong(atMs);
  }

  async #pause(ms: number): Promise<Happened> {
    await this.#untilStopped((deadline) => deadline.sleep(ms), 0);
    return { is: "done" };
  }

  /**
   * Does what can take long: after `lendMs` it makes room for another flow.
   *
   * @throws {AbortedError} as soon as the call is to stop. The work itself continues.
   */
  async #untilStopped<T>(work: (deadline: Deadline) => Promise<T>, lendMs: number): Promise<T> {
    const { stop, slots } = this.#call;
    const deadline = new Deadline({ signal: stop });
    const done = () => work(deadline);
    try {
      return await (slots ? slots.lend(done, lendMs) : done());
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      throw new AbortedError("the caller's signal, or the end of the PaymentFlow, ended the wait");
    } finally {
      deadline.finish();
    }
  }
}

function personOf(call: Extract<Call, { kind: "resolve" }>): string {
  return "by" in call ? call.by : call.decision.by;
}
