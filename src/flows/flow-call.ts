import type { RequestOptions } from "../api/request-options.js";
import { AbortedError } from "../errors/errors.js";
import type { Alarm } from "../timing/alarm.js";
import { Deadline, Ended } from "../timing/deadline.js";

/** One call of a flow's method: its headers, and what ends its waits. */
export class FlowCall {
  /** Goes off once the pending request has to be given up, although nobody knows then what becomes of it. */
  readonly abandon: Alarm;
  /** Set once this call had the flow and lost it: from then on, what the journal shows says nothing of what the call itself has done. */
  hasLostLease = false;
  readonly #stop: AbortSignal | undefined;
  readonly #deadline: Deadline;
  readonly #headers: Pick<RequestOptions, "headers">;

  /** @param stop ends the waits, and the requests that move no money. It is the call's own: what listens to it goes with it. */
  constructor(stop: AbortSignal | undefined, abandon: Alarm, headers: Readonly<Record<string, string>> | undefined) {
    this.abandon = abandon;
    this.#stop = stop;
    this.#deadline = new Deadline({ signal: stop });
    this.#headers = { headers };
  }

  /** The options of requests that can be given up and repeated: of all but the payment. */
  get requestOptions(): RequestOptions {
    return { ...this.#headers, signal: this.#stop };
  }

  /** Of the payment: what was sent is not given up because its caller stopped waiting. */
  get paymentOptions(): RequestOptions {
    return this.#headers;
  }

  /** @throws {AbortedError} as soon as the call is to stop. */
  pause(ms: number): Promise<void> {
    return this.#untilStopped(this.#deadline.sleep(ms));
  }

  /** Waits for what others wait for too. @throws {AbortedError} as soon as the call is to stop; the work itself continues. */
  race<T>(work: Promise<T>): Promise<T> {
    return this.#untilStopped(this.#deadline.race(work));
  }

  async #untilStopped<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      throw new AbortedError("the caller's signal, or the end of the PaymentFlow, ended the wait");
    }
  }
}
