import { clock } from "../../timing/clock.js";

interface Begun<Value> {
  readonly value: Promise<Value>;
  /** When it ended. Absent while it is under way. */
  endedAtMs?: number;
}

/** One reading for all who ask while it is under way, and for a while after its end. One that failed is not kept. */
export class SharedReading<Value> {
  readonly #read: () => Promise<Value>;
  readonly #keptMs: number;
  #begun: Begun<Value> | undefined;

  constructor(read: () => Promise<Value>, keptMs: number) {
    this.#read = read;
    this.#keptMs = keptMs;
  }

  get(): Promise<Value> {
    const endedAtMs = this.#begun?.endedAtMs;
    if (endedAtMs !== undefined && clock.monotonicMs() - endedAtMs >= this.#keptMs) this.#begun = undefined;
    this.#begun ??= this.#begin();
    return this.#begun.value;
  }

  #begin(): Begun<Value> {
    const begun: Begun<Value> = { value: this.#read() };
    begun.value.then(
      () => {
        begun.endedAtMs = clock.monotonicMs();
      },
      () => {
        this.#begun = undefined;
      },
    );
    return begun;
  }
}
