import { clock } from "../core/clock.js";
import type { Reporter } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { Transport } from "../wire/transport.js";
import type { RequestSettings } from "./prepare.js";
import type { ValidationMode } from "./read.js";
import type { Schemas } from "./schema.js";
import type { TokenSource } from "./token-source.js";

/** Shared by the calls of a client. */
export interface CallContext extends RequestSettings {
  readonly origin: string;
  readonly transport: Transport;
  readonly tokens: TokenSource;
  /** Absent if the client was built without a signing key. */
  readonly signer: Signer | undefined;
  readonly schemas: Schemas;
  readonly reporter: Reporter;
  /** The fields that were reported as different. */
  readonly reported: Set<string>;
  readonly budget: RetryBudget;
  readonly inFlight: InFlight;
  readonly random: () => number;
  /** Headers of every call, with names in lower case. The headers of one call replace them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly validation: ValidationMode;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
  /** Operations that are signed besides those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
}

/** Counts the calls in flight, so that a client that closes can wait for them. Derived clients share it. */
export class InFlight {
  isClosed = false;
  #count = 0;
  #onNone: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone?.();
  }

  /** Lets no further call begin, and resolves when there are none. */
  close(): Promise<void> {
    this.isClosed = true;
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#onNone = resolve;
    });
  }
}

/**
 * Bounds the retries of a whole client, so that a long outage doesn't multiply its requests. Each retry takes one. Each success
 * returns a fifth, and each second returns one, so a single call always has its retries.
 */
export class RetryBudget {
  readonly #capacity: number;
  #left: number;
  #countedMs = clock.monotonicMs();

  /** @param capacity enough for ten calls a second during an outage of some seconds. */
  constructor(capacity = 200) {
    this.#capacity = capacity;
    this.#left = capacity;
  }

  /** Takes one retry. Returns false if none is left. */
  take(): boolean {
    const nowMs = clock.monotonicMs();
    this.giveBack((nowMs - this.#countedMs) / 1000);
    this.#countedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  giveBack(retries: number): void {
    this.#left = Math.min(this.#capacity, this.#left + retries);
  }
}
