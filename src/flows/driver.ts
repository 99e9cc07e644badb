import { clock, later, now, sleep, surelyLeftMs, type Timer, type Timestamp } from "../core/clock.js";
import { InvalidArgumentError, JournalError } from "../core/errors.js";
import type { StoredFlow } from "./codec.js";
import type { FlowContext } from "./context.js";
import { next, resume, start } from "./core/next.js";
import type { Call, Claimed, Command, Entry, Flow, FundsRequested, Happened, Step } from "./core/state.js";
import { isOpen, withStep } from "./core/steps.js";
import type { FlowCall } from "./flow-call.js";
import type { JournalEntry, LeaseId, LeaseRequest } from "./journal.js";
import { type Driven, FlowSteps } from "./outcome.js";
import { Outside, toFailure } from "./outside.js";
import { assertOwnEntry, isExpired } from "./status.js";

/** Waits between the copies of what a journal is asked for. */
const repeatDelaysMs = [50, 250, 1_000, 2_000] as const;

/**
 * Calls a journal, and repeats a call that failed or has an unknown result with the same arguments. Each method recognizes its
 * own repetition.
 *
 * @throws {JournalError} if that doesn't help.
 */
export async function askJournal<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      // What can't be stored at all can't be stored the next time.
      if (error instanceof InvalidArgumentError) throw error;
      const delayMs = repeatDelaysMs[tries];
      if (delayMs !== undefined) await sleep(delayMs);
      else if (error instanceof JournalError) throw error;
      else throw new JournalError("the journal failed", { stored: "unknown", cause: error });
    }
  }
}

/** A request for a lease, which the lease is known by. */
export function newLease({ owner, leaseMs }: FlowContext): LeaseRequest {
  return { owner, leaseMs, nonce: crypto.randomUUID() };
}

/** A lease that this process got, which it renews in the background. It is counted from before the first copy of its request. */
class Lease {
  readonly id: LeaseId;
  /** Of the newest state that its owner stored, or found. */
  revision: number;
  readonly acquiredAt: Timestamp;
  readonly #context: FlowContext;
  readonly #key: string;
  #renewedAt: Timestamp;
  #timer: Timer;
  #isOver = false;

  constructor(context: FlowContext, { key, epoch, nonce, revision }: JournalEntry, requestedAt: Timestamp) {
    this.#context = context;
    this.#key = key;
    this.id = { epoch, nonce };
    this.revision = revision;
    this.acquiredAt = now();
    this.#renewedAt = requestedAt;
    this.#wait();
  }

  /** Nothing is sent after this time by either local clock. A tenth of the lease is left then. */
  get sendBy(): Timestamp {
    return later(this.#renewedAt, this.#context.leaseMs * 0.9);
  }

  /** Makes sure that half of the lease is left, if the journal grants that. */
  async refresh(): Promise<void> {
    if (surelyLeftMs(later(this.#renewedAt, this.#context.leaseMs / 2), now()) <= 0) await this.#renew();
  }

  /** The owner renews it no longer. */
  end(): void {
    this.#isOver = true;
    clock.clearTimer(this.#timer);
  }

  #wait(): void {
    const renew = () => void this.#renew().then(() => !this.#isOver && this.#wait());
    this.#timer = clock.setTimer(renew, this.#context.leaseMs / 3);
    clock.unrefTimer(this.#timer);
  }

  /** It never rejects. An owner that lost its lease learns so with the next write, and before it sends. */
  async #renew(): Promise<void> {
    const { journal, leaseMs } = this.#context;
    const requestedAt = now();
    try {
      if (await journal.renew(this.#key, this.id, leaseMs)) this.#renewedAt = requestedAt;
    } catch {}
  }
}

/** Runs the core's commands for one key, with the journal, the client, and the bank's functions. */
export class Driver {
  readonly #context: FlowContext;
  readonly #key: string;
  readonly #call: FlowCall;
  readonly #outside: Outside;
  readonly #steps: FlowSteps;
  #asked: Call = { kind: "recover" };
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
    this.#outside = new Outside(context, key, call);
    this.#steps = new FlowSteps(context.reporter, key);
  }

  run(call: Call): Promise<Driven> {
    this.#asked = call;
    return this.#drive(start(call));
  }

  /** Continues a flow that was just acquired. @param requestedAt when the lease was asked for. */
  async resume(entry: JournalEntry, requestedAt: Timestamp): Promise<Driven> {
    return this.#drive(resume(await this.#owned(entry, requestedAt)));
  }

  async #drive({ state, command }: Step): Promise<Driven> {
    try {
      while (command !== undefined) {
        const happened = await this.#perform(command);
        ({ state, command } = next(state, { ...happened, nowMs: clock.wallMs() }, this.#context.config));
      }
      if (state.at !== "done") throw new Error(`the flow stopped in ${state.at}`);
      const { expiresAtMs = clock.wallMs() } = this.#entry ?? {};
      const revision = this.#lease?.revision ?? this.#entry?.revision ?? 0;
      return { result: state.result, flow: this.#stored?.flow, revision, expiresAtMs };
    } finally {
      this.#lease?.end();
    }
  }

  async #perform(command: Command): Promise<Happened> {
    try {
      return await this.#does(command);
    } catch (error) {
      // Nothing is known of another's flow, and nothing was done to it.
      if (error instanceof InvalidArgumentError && error.code === "flow_foreign") throw error;
      const failure = toFailure(error);
      this.#steps.failed(this.#stored?.flow, failure);
      return { is: "failed", failure };
    }
  }

  async #does(command: Command): Promise<Happened> {
    switch (command.do) {
      case "read":
        return this.#read();
      case "createIntent":
        return this.#outside.createIntent(command.request, this.#asked.kind === "run");
      case "begin":
        return this.#begin(command.flow);
      case "replaceQuote":
        return this.#replaceQuote(command.flow, command.inTime);
      case "acquire":
        return this.#acquire();
      case "write":
        return this.#write(command.flow);
      case "release":
        return this.#release();
      case "takeFunds":
        return this.#takeFunds(command.flow);
      case "releaseFunds":
        return this.#outside.releaseFunds(command.flow);
      case "sign":
        return this.#outside.sign(command.flow, command.funds.senderGatewayTransactionId);
      case "send":
        return this.#send(command.flow);
      case "search":
        return this.#outside.search(command.flow, command.backToMs, this.#stored?.flow.phase === "claimed");
      case "wait":
        if (command.until === "notBefore") await this.#call.pauseUntil(command.atMs);
        else await this.#wait(command.until);
        return { is: "done" };
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
    return this.#keep(entry, await this.#context.codec.decode(entry));
  }

  #keep(entry: JournalEntry, stored: StoredFlow): Entry {
    this.#entry = entry;
    this.#stored = stored;
    return { flow: stored.flow, revision: entry.revision, isExpired: isExpired(entry) };
  }

  async #owned(entry: JournalEntry, requestedAt: Timestamp): Promise<Entry> {
    this.#lease = new Lease(this.#context, entry, requestedAt);
    try {
      return await this.#known(entry);
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #begin(flow: Flow): Promise<Happened> {
    const { journal, codec, scope } = this.#context;
    const own = { service: scope.service, gateway: flow.request.senderGatewayId };
    const stored = this.#stepTo(flow);
    const state = await codec.encode(this.#key, own, stored);
    const lease = newLease(this.#context);
    const requestedAt = now();
    const { entry, created } = await askJournal(() => journal.begin(this.#key, own, state, lease));
    if (!created) return this.#seen(entry);
    return this.#becameOwner(entry, stored, requestedAt);
  }

  async #replaceQuote(flow: Flow, inTime: boolean): Promise<Happened> {
    const { journal, codec } = this.#context;
    const quote = this.#ownEntry();
    const stored = this.#stepTo(flow);
    const state = await codec.encode(this.#key, quote.scope, stored);
    const lease = newLease(this.#context);
    const requestedAt = now();
    if (!(await askJournal(() => journal.write(this.#key, quote, state, { lease, inTime })))) return { is: "refused" };
    const written = { ...quote, epoch: quote.epoch + 1, revision: quote.revision + 1, nonce: lease.nonce };
    // Only the journal knows until when it is valid.
    const entry = flow.phase === "quoted" ? await askJournal(() => journal.read(this.#key)) : written;
    return this.#becameOwner(entry?.nonce === lease.nonce ? entry : written, stored, requestedAt);
  }

  #becameOwner(entry: JournalEntry, stored: StoredFlow, requestedAt: Timestamp): Happened {
    this.#steps.stored(this.#stored?.flow, stored.flow);
    if (isOpen(stored.flow)) this.#lease = new Lease(this.#context, entry, requestedAt);
    return { is: "owned", entry: this.#keep(entry, stored) };
  }

  async #acquire(): Promise<Happened> {
    const lease = newLease(this.#context);
    const requestedAt = now();
    const entry = await askJournal(() => this.#context.journal.acquire(this.#key, lease));
    return entry === undefined ? { is: "busy" } : { is: "owned", entry: await this.#owned(entry, requestedAt) };
  }

  async #write(flow: Flow): Promise<Happened> {
    const { journal, codec, owner } = this.#context;
    const call = this.#asked;
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
    return { flow, history: withStep(this.#stored?.history ?? [], flow, clock.wallMs(), by) };
  }

  #ownLease(): Lease {
    if (this.#lease === undefined) throw new Error("this process doesn't own the flow");
    return this.#lease;
  }

  #ownEntry(): JournalEntry {
    if (this.#entry === undefined) throw new Error("the flow was not read");
    return this.#entry;
  }

  // The bank and the service.

  async #takeFunds(flow: FundsRequested): Promise<Happened> {
    const funds = await this.#outside.takeFunds(flow);
    await this.#ownLease().refresh();
    return { is: "funds", funds };
  }

  /** Only the owner of a stored claim gets here, and only once. */
  async #send({ signed }: Claimed): Promise<Happened> {
    const lease = this.#ownLease();
    await lease.refresh();
    const response = await this.#outside.send(signed, lease.sendBy);
    this.#requestEndedAt = now();
    return { is: "response", response };
  }

  // Waits.

  async #wait(until: "readBack" | "listed" | "others"): Promise<void> {
    const { leaseMs, readBackDelayMs, config } = this.#context;
    switch (until) {
      case "readBack":
        return this.#call.pause(readBackDelayMs);
      case "listed": {
        const { listedWithinMs = 0 } = config.facts;
        const sinceMs = Math.max(this.#ownLease().acquiredAt.monotonicMs, this.#requestEndedAt?.monotonicMs ?? 0);
        return this.#call.pauseUntil(clock.wallMs() + listedWithinMs - (clock.monotonicMs() - sinceMs));
      }
      case "others": {
        const flow = this.#stored?.flow;
        // Its owner waits, too.
        if (flow?.phase === "funds-requested") this.#call.assertPatience(flow.notBeforeMs);
        return this.#call.pause(Math.min(250, leaseMs / 4));
      }
    }
  }
}

function personOf(call: Extract<Call, { kind: "resolve" }>): string {
  return "by" in call ? call.by : call.decision.by;
}
