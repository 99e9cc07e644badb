import { now } from "../core/clock.js";
import type { FlowContext } from "./context.js";
import { askJournal, Driver, newLease } from "./driver.js";
import { FlowCall, pause, Slots } from "./flow-call.js";
import { type Driven, type FlowOperation, type FlowOutcome, follow, toResult } from "./outcome.js";
import { assertNone, entriesOf, type WorkGauges } from "./status.js";

/** Receives the outcome or the error of a flow that was taken over or searched for again. */
type Report = (outcome: FlowOutcome | undefined, error?: unknown) => void;

type Checks = Map<string, { readonly heldAtMs: number; readonly dueAfterMs: number }>;

/** So many flows for each slot are taken over at most. Most of them wait then. */
const maxPerSlot = 16;
/** `recover` doesn't wait for longer. */
const recoverPatienceMs = 30_000;
/** A held flow is searched for again when it has been held for a minute, and then whenever that time has doubled, or after 6 h. */
const firstCheckMs = 60_000;
const maxCheckMs = 6 * 3_600_000;
/** How often `work` lists what is held. */
const listHeldEveryMs = 60_000;

/** Continues the flows without a living owner, and searches again for the payments of held ones. */
export class Work {
  readonly #context: FlowContext;
  readonly #slots = new Set<Slots>();
  #flows = 0;
  /** How long each held flow has been held when it is searched for the next time. */
  #checks: Checks = new Map();

  /** Of `work`, whose failures are events. */
  readonly #report: Report = (outcome, error) => {
    if (outcome === undefined) this.#context.reporter.emit("error", error);
  };

  constructor(context: FlowContext) {
    this.#context = context;
  }

  get load(): WorkGauges {
    return { flows: this.#flows, queued: [...this.#slots].reduce((sum, { queued }) => sum + queued, 0) };
  }

  /** See `PaymentFlow.recover`. */
  async *recover(concurrency: number, signal: AbortSignal | undefined): AsyncGenerator<FlowOutcome, void, undefined> {
    const outcomes: FlowOutcome[] = [];
    const failures: unknown[] = [];
    let [isOver, wake] = [false, (): void => {}];
    const report: Report = (outcome, error) => {
      if (outcome === undefined) failures.push(error);
      else outcomes.push(outcome);
      wake();
    };
    const all = this.#context.openWork.run(async (stop) => {
      const slots = this.#open(concurrency);
      const flows = await this.#takeOver("recover", slots, recoverPatienceMs, report, stop);
      await this.#recheck(report, stop);
      await Promise.all(flows);
      this.#slots.delete(slots);
    }, signal);
    // A caller that stops reading leaves flows running.
    void Promise.allSettled([all]).then(() => {
      isOver = true;
      wake();
    });
    for (;;) {
      const outcome = outcomes.shift();
      if (outcome !== undefined) yield outcome;
      else if (isOver) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    await all;
    assertNone(failures);
  }

  /** See `PaymentFlow.work`. */
  async work(concurrency: number, everyMs: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#context.openWork.run(async (stop) => {
      await Promise.all([this.#recoverAlways(concurrency, everyMs, stop), this.#recheckAlways(stop)]);
    }, signal);
  }

  async #recoverAlways(concurrency: number, everyMs: number, stop: AbortSignal): Promise<void> {
    const slots = this.#open(concurrency);
    const running = new Set<Promise<unknown>>();
    while (!stop.aborted) {
      try {
        const ended = Promise.all(await this.#takeOver("work", slots, Number.POSITIVE_INFINITY, this.#report, stop));
        running.add(ended);
        void ended.then(() => running.delete(ended));
        // A round doesn't wait for slow flows, since flows that are abandoned later need recovery, too.
        await pause(everyMs, stop, ended);
      } catch (error) {
        this.#report(undefined, error);
      }
      await pause(roundDelayMs(everyMs), stop);
    }
    await Promise.all(running);
    this.#slots.delete(slots);
  }

  async #recheckAlways(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#recheck(this.#report, stop).catch((error: unknown) => this.#report(undefined, error));
      await pause(roundDelayMs(listHeldEveryMs), stop);
    }
  }

  /** Takes over every flow without a living owner. It returns those that haven't ended, and none of them rejects. */
  async #takeOver(
    operation: "recover" | "work",
    slots: Slots,
    patienceMs: number,
    report: Report,
    stop: AbortSignal,
  ): Promise<Iterable<Promise<void>>> {
    const { journal, scope } = this.#context;
    const running = new Set<Promise<void>>();
    let after: string | undefined;
    while (!stop.aborted) {
      await slots.enter();
      const requestedAt = now();
      const lease = newLease(this.#context);
      const entry = await askJournal(() => journal.acquireAbandoned(scope, lease, after)).catch((error: unknown) => {
        slots.leave();
        throw error;
      });
      if (entry === undefined) {
        slots.leave();
        break;
      }
      after = entry.key;
      const driver = new Driver(this.#context, entry.key, new FlowCall({ stop, patienceMs, slots }));
      const flow = this.#settle(operation, entry.key, () => driver.resume(entry, requestedAt), report).finally(() => {
        running.delete(flow);
        slots.leave();
      });
      running.add(flow);
      if (running.size >= maxPerSlot * slots.limit) await Promise.race(running);
    }
    return running;
  }

  /** Searches for the payments of the held flows that are due. */
  async #recheck(report: Report, stop: AbortSignal): Promise<void> {
    const checks: Checks = new Map();
    for await (const { key, updatedAtMs: heldAtMs, readAtMs } of entriesOf(this.#context, "held")) {
      if (stop.aborted) return;
      const known = this.#checks.get(key);
      const dueAfterMs = known?.heldAtMs === heldAtMs ? known.dueAfterMs : firstCheckMs;
      const heldForMs = readAtMs - heldAtMs;
      const isDue = heldForMs >= dueAfterMs;
      checks.set(key, { heldAtMs, dueAfterMs: isDue ? heldForMs + Math.min(heldForMs, maxCheckMs) : dueAfterMs });
      if (!isDue) continue;
      const driver = new Driver(this.#context, key, new FlowCall({ stop, patienceMs: 0 }));
      await this.#settle("recheck", key, () => driver.run({ kind: "recheck" }), report);
    }
    this.#checks = checks;
  }

  /** Never rejects. */
  async #settle(operation: FlowOperation, key: string, drive: () => Promise<Driven>, report: Report): Promise<void> {
    this.#flows += 1;
    try {
      const { reporter } = this.#context;
      // A quote is never taken over.
      const work = async () => toResult(operation, key, await drive()) as FlowOutcome | undefined;
      const outcome = await follow(reporter, operation, key, work);
      if (outcome !== undefined) report(outcome);
    } catch (error) {
      report(undefined, error);
    } finally {
      this.#flows -= 1;
    }
  }

  #open(concurrency: number): Slots {
    const slots = new Slots(concurrency);
    this.#slots.add(slots);
    return slots;
  }
}

/** Between half of the time and all of it, so that the processes of a fleet don't ask the journal at the same moment. */
function roundDelayMs(everyMs: number): number {
  return Math.round((everyMs * (1 + Math.random())) / 2);
}
