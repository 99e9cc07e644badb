import { AbortedError, JournalError } from "../../errors/errors.js";
import type { Alarm } from "../../timing/alarm.js";
import { now } from "../../timing/timestamp.js";
import { FlowCall } from "../flow-call.js";
import { type FlowContext, leaseRequest } from "../flow-context.js";
import type { FlowOutcome } from "../flow-outcome.js";
import { FlowPausedError } from "../flow-paused-error.js";
import { type FlowOperation, followFlow } from "../follow-flow.js";
import type { WorkGauges, Working } from "../gauges/work-gauges.js";
import type { JournalEntry } from "../journal.js";
import { continueFlow, releaseQuietly } from "../steps/drive-flow.js";
import { acquireEntry, type OwnedEntry } from "./own-flow.js";
import { RecoverySlots } from "./recovery-slots.js";

/** What became of a flow that was taken over. Neither is there when another owner got it meanwhile. */
export interface Recovered {
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: Error;
}

/** Never throws. */
export type ReportRecovered = (recovered: Recovered) => void;

/** Flows that wait are busy with nothing, but their leases are renewed. */
const acquiredPerSlot = 16;

/** One round checks so many; the next ones check the rest. */
const mostOverlong = 1000;

/** Takes over flows whose owners are gone, in one round or in many. How many may be busy, and what stops them, is one for all. */
export class Recovery implements Working {
  readonly slots: RecoverySlots;
  readonly #context: FlowContext;
  readonly #operation: FlowOperation;
  readonly #mostRunning: number;
  readonly #calls = new Set<RecoveryCall>();
  #isStopped = false;
  #endWork = () => {};

  /**
   * @param signal ends the waits, and then no more flows are taken over.
   * @throws {CrossBorderError} `flow_closed`
   */
  constructor(context: FlowContext, operation: FlowOperation, concurrency: number, signal: AbortSignal | undefined) {
    const { takeFunds, releaseFunds, leaseMs, openWork } = context;
    this.slots = new RecoverySlots(concurrency);
    this.#operation = operation;
    this.#mostRunning = concurrency * acquiredPerSlot;
    // Nothing ends a bank's function that never returns: it must not keep its slot from all other flows.
    this.#context = {
      ...context,
      takeFunds: (given) => this.slots.lend(() => takeFunds(given), leaseMs),
      releaseFunds: (given) => this.slots.lend(() => releaseFunds(given), leaseMs),
    };
    openWork.assertOpen();
    context.working.add(this);
    void openWork.run((stop) => this.#work(stop), signal);
  }

  get load(): WorkGauges {
    return { flows: this.#calls.size, queued: this.slots.queued };
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Takes a slot for one more flow if there is one. The flow gives it back. */
  tryEnter(): boolean {
    return this.#calls.size < this.#mostRunning && this.slots.tryEnter();
  }

  /**
   * Takes over the first flow by key after `after` whose owner is gone, and runs it in the caller's slot; `undefined` when there is none.
   * Never rejects.
   *
   * @param report is told what became of the flow, and of a journal that fails.
   */
  async takeOverNext(
    after: string | undefined,
    report: ReportRecovered,
  ): Promise<{ readonly key: string; readonly ended: Promise<void> } | undefined> {
    const owned = await this.#ofJournal(report, after, () => this.#acquire(after));
    return owned === undefined ? undefined : { key: owned.entry.key, ended: this.#run(owned, report) };
  }

  /**
   * Flows whose lease ends later than its own length from now, up to some. They are watched from now on: whose lease has not changed for its
   * whole length can be taken over by `takeOver`. Never rejects.
   */
  async overlong(report: ReportRecovered): Promise<readonly JournalEntry[]> {
    const { journal, scope, leaseObserver } = this.#context;
    const list = () => journal.overlong({ scope, limit: mostOverlong });
    const entries = (await this.#ofJournal(report, undefined, list)) ?? [];
    return entries.filter((entry) => leaseObserver.observed(entry) !== undefined);
  }

  /** As `takeOverNext` does with one flow of `overlong`; `undefined` when it is another's by now. Never rejects. */
  async takeOver(entry: JournalEntry, report: ReportRecovered): Promise<{ readonly ended: Promise<void> } | undefined> {
    const owned = await this.#ofJournal(report, entry.key, () => acquireEntry(this.#context, entry.key, entry));
    return owned === undefined ? undefined : { ended: this.#run(owned, report) };
  }

  /** To be called when no more flows are to be taken over, and those that were have ended. */
  end(): void {
    this.#context.working.delete(this);
    this.#endWork();
  }

  /** Each flow has a signal of its own: one for all would gather the listeners of all. */
  #work(stop: AbortSignal): Promise<void> {
    const onStop = (): void => {
      this.#isStopped = true;
      for (const call of this.#calls) call.stop.abort();
      this.slots.open();
    };
    if (stop.aborted) onStop();
    else stop.addEventListener("abort", onStop);
    return new Promise((resolve) => {
      this.#endWork = resolve;
    });
  }

  async #acquire(after: string | undefined): Promise<OwnedEntry | undefined> {
    const askedAt = now();
    const { journal, scope } = this.#context;
    const entry = await journal.acquireAbandoned(scope, leaseRequest(this.#context), after);
    return entry === undefined ? undefined : { entry, askedAt };
  }

  /** Where the journal fails, the flows that are running still come to their end. */
  async #ofJournal<T>(
    report: ReportRecovered,
    after: string | undefined,
    ask: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      const message = `recover: the journal failed${after === undefined ? "" : ` after key ${JSON.stringify(after)}`}`;
      report({ error: error instanceof JournalError ? error : new JournalError(message, { cause: error }) });
      return undefined;
    }
  }

  /** Never rejects. */
  async #run(owned: OwnedEntry, report: ReportRecovered): Promise<void> {
    const call = new RecoveryCall(new AbortController(), this.#context.openWork.abandon, this.slots);
    this.#calls.add(call);
    // It was leased while the work was told to stop: nothing is done for it here.
    const recovered = this.#isStopped
      ? await leave(this.#context, owned)
      : await recoverFlow(this.#context, this.#operation, owned, call);
    this.#calls.delete(call);
    report(recovered);
  }
}

/** One pass over all flows whose owners are gone, by key. */
export class RecoveryRound {
  readonly #recovery: Recovery;
  readonly #report: ReportRecovered;
  readonly #running = new Set<Promise<void>>();
  #after: string | undefined;
  /** Flows whose lease is over although the journal's clock says otherwise: they come after all others. */
  #overlong: JournalEntry[] | undefined;
  #isThrough = false;

  constructor(recovery: Recovery, report: ReportRecovered) {
    this.#recovery = recovery;
    this.#report = report;
  }

  get isOver(): boolean {
    return this.#isThrough || this.#recovery.isStopped;
  }

  /** Whether none of the flows that it took over is running. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Takes over one flow after the other for as long as there are free slots. */
  async takeOver(): Promise<void> {
    while (!this.isOver && this.#recovery.tryEnter()) {
      const next = await this.#next();
      if (next === undefined) {
        this.#isThrough = true;
        this.#recovery.slots.leave();
        return;
      }
      const ended = next.ended.then(() => {
        this.#running.delete(ended);
        this.#recovery.slots.leave();
      });
      this.#running.add(ended);
    }
  }

  async #next(): Promise<{ readonly ended: Promise<void> } | undefined> {
    if (this.#overlong === undefined) {
      const next = await this.#recovery.takeOverNext(this.#after, this.#report);
      if (next !== undefined) {
        this.#after = next.key;
        return next;
      }
      this.#overlong = [...(await this.#recovery.overlong(this.#report))];
    }
    for (let entry = this.#overlong.shift(); entry !== undefined; entry = this.#overlong.shift()) {
      const next = await this.#recovery.takeOver(entry, this.#report);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Resolves when the flows that it took over have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/** The call of a flow that was taken over. While it waits, it leaves its slot to others. */
class RecoveryCall extends FlowCall {
  readonly stop: AbortController;
  readonly #slots: RecoverySlots;

  constructor(stop: AbortController, abandon: Alarm, slots: RecoverySlots) {
    super(stop.signal, abandon, undefined);
    this.stop = stop;
    this.#slots = slots;
  }

  override async pause(ms: number): Promise<void> {
    this.#slots.leave();
    try {
      await super.pause(ms);
    } finally {
      await this.#slots.enter();
    }
  }
}

/** Never rejects. */
async function recoverFlow(
  context: FlowContext,
  operation: FlowOperation,
  owned: OwnedEntry,
  call: FlowCall,
): Promise<Recovered> {
  const { key } = owned.entry;
  try {
    const outcome = await followFlow(context.reporter, operation, key, () => continueFlow(context, owned, call));
    return { outcome };
  } catch (error) {
    return { error: error instanceof FlowPausedError ? error : new FlowPausedError(key, { cause: error }) };
  }
}

async function leave(context: FlowContext, { entry }: OwnedEntry): Promise<Recovered> {
  await releaseQuietly(context, entry);
  const { key } = entry;
  const cause = new AbortedError("the work was told to stop while the journal leased the flow");
  return { error: new FlowPausedError(key, { cause }) };
}
