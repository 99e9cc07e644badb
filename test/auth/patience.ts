import type { Waiting } from "../../src/timing/waiting.js";
import { WireFailure, type WireFailureKind } from "../../src/wire/wire-failure.js";

/** The patience of a call in a test: a deadline on the faked clock, and an end from outside. */
export class Patience implements Waiting {
  readonly maxRetries: number;
  readonly #deadlineMs: number;
  readonly #ends = new Set<(failure: WireFailure) => void>();
  readonly #timer: NodeJS.Timeout;
  #ended: WireFailure | undefined;

  constructor({ timeoutMs = 30_000, maxRetries = 2 }: { timeoutMs?: number; maxRetries?: number } = {}) {
    this.maxRetries = maxRetries;
    this.#deadlineMs = performance.now() + timeoutMs;
    this.#timer = setTimeout(() => this.#end("timeout"), timeoutMs);
  }

  abort(): void {
    this.#end("abort");
  }

  /** The call is over: no timer is left behind. */
  finish(): void {
    clearTimeout(this.#timer);
  }

  remainingMs(): number {
    return this.#ended === undefined ? Math.max(0, this.#deadlineMs - performance.now()) : 0;
  }

  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      if (this.#ended === undefined) this.#ends.add(reject);
      else reject(this.#ended);
    });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const timer = setTimeout(resolve, ms);
      this.#ends.add((failure) => {
        clearTimeout(timer);
        reject(failure);
      });
    });
  }

  #end(kind: WireFailureKind): void {
    this.#ended ??= new WireFailure({ kind, sent: false, reason: kind === "timeout" ? "DEADLINE" : "ABORTED" });
    for (const end of this.#ends) end(this.#ended);
    this.finish();
  }
}
