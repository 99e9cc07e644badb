import type { Ending } from "../wire/transport.js";
import { WireFailure, type WireFailureKind } from "../wire/wire-failure.js";
import type { Waiting } from "./waiting.js";

type Listener = (kind: WireFailureKind) => void;

/**
 * The end of one call: its total deadline and its caller's signal in one place. There is one timer and one listener on the
 * signal, and `finish` takes both away.
 */
export class CallControl implements Waiting, Ending {
  readonly maxRetries: number;
  readonly #deadlineMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#end("abort");
  #listeners: Listener[] = [];
  #ended: WireFailureKind | undefined;

  constructor(options: {
    readonly timeoutMs: number;
    readonly maxRetries: number;
    readonly signal?: AbortSignal | undefined;
  }) {
    this.maxRetries = options.maxRetries;
    this.#deadlineMs = performance.now() + options.timeoutMs;
    this.#timer = setTimeout(() => this.#end("timeout"), options.timeoutMs);
    this.#signal = options.signal;
    if (this.#signal?.aborted) this.#end("abort");
    else this.#signal?.addEventListener("abort", this.#onAbort);
  }

  get ended(): WireFailureKind | undefined {
    return this.#ended;
  }

  remainingMs(): number {
    return this.#ended === undefined ? Math.max(0, this.#deadlineMs - performance.now()) : 0;
  }

  onEnd(listener: Listener): () => void {
    this.#listeners.push(listener);
    return () => {
      const index = this.#listeners.lastIndexOf(listener);
      if (index >= 0) this.#listeners.splice(index, 1);
    };
  }

  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // It stays until the call is finished: an end that comes after the work changes nothing any more.
      this.#onEndNow((kind) => reject(endedFailure(kind)));
      work.then(resolve, reject);
    });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        stop();
        resolve();
      }, ms);
      const stop = this.#onEndNow((kind) => {
        clearTimeout(timer);
        reject(endedFailure(kind));
      });
    });
  }

  /** The call is over: nothing of it is left behind. */
  finish(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#listeners = [];
  }

  #onEndNow(listener: Listener): () => void {
    if (this.#ended !== undefined) listener(this.#ended);
    return this.onEnd(listener);
  }

  #end(kind: WireFailureKind): void {
    if (this.#ended !== undefined) return;
    this.#ended = kind;
    for (const listener of this.#listeners.slice()) listener(kind);
    this.finish();
  }
}

function endedFailure(kind: WireFailureKind): WireFailure {
  return new WireFailure({ kind, sent: false, reason: kind === "timeout" ? "DEADLINE" : "ABORTED" });
}
