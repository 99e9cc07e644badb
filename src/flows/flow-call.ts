import { clock } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { AbortedError } from "../core/errors.js";
import { WaitTooLong } from "./responses.js";
import type { Slots } from "./slots.js";

export interface FlowCallOptions {
  /** Ends the waits, and the requests that move no money. */
  readonly stop: AbortSignal;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer wait ends the call. */
  readonly patienceMs: number;
  /** Of `work`: a flow that waits makes room for another. */
  readonly slots?: Slots | undefined;
}

/** One call of a flow's method: what it gives up, and when. */
export class FlowCall {
  readonly #options: FlowCallOptions;

  constructor(options: FlowCallOptions) {
    this.#options = options;
  }

  /** Of requests that can be given up and repeated: of all but the payment. */
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
    const done = () => work(deadline);
    try {
      return await (slots ? slots.lend(done, lendMs) : done());
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      throw new AbortedError("the caller's signal, or the end of the PaymentFlow, ended the wait");
    } finally {
      deadline.finish();
    }
  }
}
