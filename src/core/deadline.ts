import { clock, now, surelyLeftMs, type Timer, type Timestamp } from "./clock.js";

/** The work ended by its total time, or by its caller's signal. */
export type EndKind = "timeout" | "abort";

/** Thrown when a `Deadline` ends before the work does. */
export class Ended extends Error {
  readonly kind: EndKind;
  /** False only if it is certain that no byte of a request was written. */
  readonly sent: boolean;

  constructor(kind: EndKind, sent: boolean) {
    super(kind);
    this.name = "Ended";
    this.kind = kind;
    this.sent = sent;
  }
}

export interface DeadlineOptions {
  /** Total time from now. Without it only the signal ends the work. */
  readonly timeoutMs?: number | undefined;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** A request that has not been sent by then, by either clock, is not sent at all. */
  readonly sendBy?: Timestamp | undefined;
}

/** A timer that is set for longer goes off at once. */
const maxTimerMs = 2 ** 31 - 1;

type Listener = (kind: EndKind) => void;

/**
 * The end of one piece of work (a call, a token request, a flow), with its total time and its caller's signal in one place.
 * Every wait uses it. There is one timer, and one listener on each signal. `finish` removes both.
 */
export class Deadline {
  readonly #untilMs: number;
  readonly #sendBy: Timestamp | undefined;
  readonly #timer: Timer;
  readonly #stopListening: (() => void) | undefined;
  readonly #listeners = new Set<Listener>();
  #ended: EndKind | undefined;
  #abort: AbortController | undefined;

  constructor({ timeoutMs, signal, sendBy }: DeadlineOptions) {
    this.#untilMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() + timeoutMs;
    this.#sendBy = sendBy;
    this.#timer = timeoutMs === undefined ? undefined : clock.setTimer(() => this.#end("timeout"), timeoutMs);
    if (signal?.aborted) this.#end("abort");
    else if (signal !== undefined) this.#stopListening = onAbort(signal, () => this.#end("abort"));
  }

  /** Set once the work has ended. It checks the clock as well, since a blocked event loop delays timers. */
  get ended(): EndKind | undefined {
    if (this.#ended === undefined && clock.monotonicMs() >= this.#untilMs) this.#end("timeout");
    return this.#ended;
  }

  /** Milliseconds until the end, or 0 after it. */
  remainingMs(): number {
    return this.#ended === undefined ? Math.max(0, this.#untilMs - clock.monotonicMs()) : 0;
  }

  /** A signal that aborts at the end, for APIs that take one. Made on first use. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#onEndOrNow(() => abort.abort());
      this.#abort = abort;
    }
    return this.#abort.signal;
  }

  /** Calls `listener` at the end. The function it returns removes the listener. */
  onEnd(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** @throws {Ended} when the work has ended. */
  assertNotEnded(): void {
    if (this.ended !== undefined) throw this.failure(false);
  }

  /**
   * To be called just before the first byte of a request is written.
   *
   * @throws {Ended} when the work has ended, or the request was to be sent earlier.
   */
  assertMaySend(): void {
    this.assertNotEnded();
    if (this.#sendBy !== undefined && surelyLeftMs(this.#sendBy, now()) <= 0) throw new Ended("timeout", false);
  }

  /** The error to throw at the end. `sent` is false only if no byte of the request was written. */
  failure(sent: boolean): Ended {
    return new Ended(this.#ended ?? "timeout", sent);
  }

  /** Settles as `work` does, or throws `Ended` at the end. `work` itself continues. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.#onEndOrNow(() => reject(this.failure(false)));
      void work.then(resolve, reject).finally(stop);
    });
  }

  /** Waits for 24 days at most, or throws `Ended` at the end. */
  sleep(ms: number): Promise<void> {
    let timer: Timer;
    const slept = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, Math.min(ms, maxTimerMs));
    });
    return this.race(slept).finally(() => clock.clearTimer(timer));
  }

  /** Removes the timer and every listener once the work is done. */
  finish(): void {
    clock.clearTimer(this.#timer);
    this.#listeners.clear();
    this.#stopListening?.();
  }

  #onEndOrNow(listener: Listener): () => void {
    if (this.#ended !== undefined) listener(this.#ended);
    return this.onEnd(listener);
  }

  #end(kind: EndKind): void {
    if (this.#ended !== undefined) return;
    this.#ended = kind;
    for (const listener of [...this.#listeners]) listener(kind);
    this.finish();
  }
}

/** The listeners of each signal in use, behind one for all. Node warns of a leak if a signal has more than ten. */
const listenersOf = new Map<AbortSignal, Set<() => void>>();

/** Calls `listener` when the signal aborts. The function that it returns removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const listeners = listenersOf.get(signal) ?? new Set();
  if (listeners.size === 0) signal.addEventListener("abort", tellAll);
  listenersOf.set(signal, listeners.add(listener));
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    listenersOf.delete(signal);
    signal.removeEventListener("abort", tellAll);
  };
}

function tellAll({ target }: Event): void {
  listenersOf.get(target as AbortSignal)?.forEach((listener) => void listener());
}
