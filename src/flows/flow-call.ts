import { clock } from "../core/clock.js";
import { Deadline, Ended, onAbort } from "../core/deadline.js";
import { AbortedError, CrossBorderError } from "../core/errors.js";
import { hide } from "../core/redact.js";

interface FlowCallOptions {
  /** Ends the waits, and the requests that move no money. */
  readonly stop: AbortSignal;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer wait ends the call. */
  readonly patienceMs: number;
  /** For `work`. A flow that waits makes room for another. */
  readonly slots?: Slots | undefined;
}

/** One call of a flow's method, with what ends it and when. */
export class FlowCall {
  readonly #options: FlowCallOptions;

  constructor(options: FlowCallOptions) {
    this.#options = options;
  }

  /** Options for requests that can be abandoned and repeated, which is all but the payment. */
  get requestOptions() {
    const { headers, stop: signal } = this.#options;
    return { headers, signal };
  }

  /** @throws {WaitTooLong} if the call doesn't wait so long. */
  assertPatience(atMs = 0): void {
    if (atMs - clock.wallMs() > this.#options.patienceMs) throw new WaitTooLong(atMs);
  }

  /** @throws {WaitTooLong} if the call doesn't wait so long. */
  pauseUntil(atMs: number): Promise<void> {
    this.assertPatience(atMs);
    return this.pause(Math.max(0, atMs - clock.wallMs()));
  }

  pause(ms: number): Promise<void> {
    return this.#untilStopped((deadline) => deadline.sleep(ms), 0);
  }

  /** Waits for a function of the bank. After `lendMs` the flow makes room for another. */
  race<T>(work: () => Promise<T> | T, lendMs: number): Promise<T> {
    return this.#untilStopped((deadline) => deadline.race((async () => work())()), lendMs);
  }

  /** @throws {AbortedError} as soon as the call is to stop. The work itself continues. */
  async #untilStopped<T>(work: (deadline: Deadline) => Promise<T>, lendMs: number): Promise<T> {
    const { stop, slots } = this.#options;
    const deadline = new Deadline({ signal: stop });
    try {
      return await (slots ? slots.lend(() => work(deadline), lendMs) : work(deadline));
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      throw new AbortedError("the caller's signal, or the end of the PaymentFlow, ended the wait");
    } finally {
      deadline.finish();
    }
  }
}

/** A wait that the call has no patience for. */
export class WaitTooLong extends CrossBorderError {
  readonly retryAtMs: number;

  constructor(retryAtMs: number) {
    const at = new Date(retryAtMs).toISOString();
    super(`The flow waits for the service until ${at}.`, { code: "flow_throttled", effect: "possible" });
    this.retryAtMs = retryAtMs;
  }
}

hide(WaitTooLong.prototype, "name", "WaitTooLong");

/** How many flows may be busy at a time. One that waits makes room for another. */
export class Slots {
  /** How many flows could continue, and wait for a slot. */
  queued = 0;
  readonly limit: number;
  #busy = 0;
  /** Those that wait for a slot, the one that has waited longest first. */
  readonly #queue: (() => void)[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Resolves when the caller has a slot. */
  async enter(): Promise<void> {
    if (this.#busy >= this.limit) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#busy += 1;
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
  }

  /** Gives the caller's slot back if work takes longer than this. Once the work has ended, the caller has a slot again. */
  async lend<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
    let hasLeft = false;
    const leave = (): void => {
      hasLeft = true;
      this.leave();
    };
    const timer = patienceMs > 0 ? clock.setTimer(leave, patienceMs) : undefined;
    if (timer === undefined) leave();
    else clock.unrefTimer(timer);
    try {
      return await work();
    } finally {
      clock.clearTimer(timer);
      if (hasLeft) {
        this.queued += 1;
        await this.enter();
        this.queued -= 1;
      }
    }
  }
}

/** What was still at work when `close` stopped waiting. */
export interface CloseReport {
  /** How many calls of the flow, such as `run`, hadn't ended because they waited for `takeFunds` or the journal. */
  readonly pending: number;
}

/** The work that a flow has been asked for and that has not ended. */
export class OpenWork {
  /** With a controller for each work, which its caller's signal aborts too. */
  readonly #pending = new Map<Promise<unknown>, AbortController>();
  /** Aborts when the time to close is almost over. A flow that still waits for a request then abandons it. */
  readonly abandon = new AbortController();
  #closing: Promise<CloseReport> | undefined;

  /**
   * Starts the work at once.
   *
   * @param work stops at the next safe point when its caller's signal aborts or the flow is closed.
   * @throws {CrossBorderError} `flow_closed` when the flow has been closed.
   */
  async run<T>(work: (stop: AbortSignal) => Promise<T>, callersSignal?: AbortSignal): Promise<T> {
    if (this.#closing !== undefined) throw new CrossBorderError("the flow is closed", { code: "flow_closed" });
    const stop = new AbortController();
    if (callersSignal?.aborted) stop.abort(callersSignal.reason);
    const stopListening = callersSignal && onAbort(callersSignal, () => stop.abort(callersSignal.reason));
    const pending = (async () => work(stop.signal))();
    this.#pending.set(pending, stop);
    try {
      return await pending;
    } finally {
      this.#pending.delete(pending);
      stopListening?.();
    }
  }

  /** Accepts nothing new, and resolves when all that is pending has ended, or its time is over. Never rejects. */
  close(timeoutMs: number): Promise<CloseReport> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<CloseReport> {
    const reason = new CrossBorderError("the flow was closed", { code: "flow_closed" });
    for (const stop of this.#pending.values()) stop.abort(reason);
    // Work that was abandoned must still store its state.
    const storeMs = Math.min(1000, timeoutMs / 5);
    await pause(timeoutMs - storeMs, undefined, Promise.allSettled(this.#pending.keys()));
    this.abandon.abort();
    await pause(storeMs, undefined, Promise.allSettled(this.#pending.keys()));
    return { pending: this.#pending.size };
  }
}

/** Waits for so long, or until the work ends, or the signal aborts. Never rejects. */
export async function pause(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: Promise<unknown> = new Promise(() => {}),
): Promise<void> {
  const deadline = new Deadline({ timeoutMs, signal });
  await deadline.race(work).catch(() => {});
  deadline.finish();
}
