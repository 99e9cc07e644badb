import { clock } from "../core/clock.js";
import { onAbort } from "../core/deadline.js";
import { CrossBorderError } from "../core/errors.js";

/** What was still at work when `close` stopped waiting. */
export interface CloseReport {
  /** How many calls of the flow, such as `run`, had not ended: their `takeFunds`, or their journal, was still being waited for. */
  readonly pending: number;
}

/** The work that a flow has been asked for and that has not ended. */
export class OpenWork {
  readonly #pending = new Set<Promise<unknown>>();
  /** A controller for each work, which its caller's signal aborts too. */
  readonly #stops = new Set<AbortController>();
  /** Aborts when the time to close is almost over: a flow that still waits for a request gives it up. */
  readonly abandon = new AbortController();
  #closing: Promise<CloseReport> | undefined;

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** @throws {CrossBorderError} `flow_closed` when the flow has been closed. */
  assertOpen(): void {
    if (this.isClosed) throw new CrossBorderError("the flow is closed", { code: "flow_closed" });
  }

  /**
   * Starts the work at once.
   *
   * @param work is told to stop where it is safe when its caller's signal aborts or the flow is closed.
   * @throws {CrossBorderError} `flow_closed` when the flow has been closed.
   */
  async run<T>(work: (stop: AbortSignal) => Promise<T>, callersSignal?: AbortSignal): Promise<T> {
    this.assertOpen();
    const stop = new AbortController();
    if (callersSignal?.aborted) stop.abort(callersSignal.reason);
    const stopListening = callersSignal && onAbort(callersSignal, () => stop.abort(callersSignal.reason));
    this.#stops.add(stop);
    const pending = (async () => work(stop.signal))();
    this.#pending.add(pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(pending);
      this.#stops.delete(stop);
      stopListening?.();
    }
  }

  /** Accepts nothing new, and resolves when all that is pending has ended, or its time is over. Never rejects. */
  close(timeoutMs: number): Promise<CloseReport> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<CloseReport> {
    for (const stop of this.#stops) stop.abort(new CrossBorderError("the flow was closed", { code: "flow_closed" }));
    // What is given up still has to be stored.
    const storeMs = Math.min(1000, timeoutMs / 5);
    await this.#ended(timeoutMs - storeMs);
    this.abandon.abort();
    await this.#ended(storeMs);
    return { pending: this.#pending.size };
  }

  /** Resolves when nothing is pending, and after `ms` in any case. */
  #ended(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.setTimer(resolve, ms);
      void Promise.allSettled(this.#pending).then(() => {
        clock.clearTimer(timer);
        resolve();
      });
    });
  }
}
