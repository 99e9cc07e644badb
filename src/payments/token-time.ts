import type { Payment } from "../resources/payments.js";
import { createdMsOf, updatedMsOf } from "./creation-order.js";

/**
 * Whether paging tokens can have been given in the order of time: to each payment when it was made, or when it changed for the last time,
 * or in between. UUIDs were not, nor were numbers from ranges that several machines have of their own; such tokens do not grow with a change.
 */
export class TokenTime {
  /** How far the clocks of the service's machines may differ. */
  readonly #skewMs: number;
  #newestCreatedMs = Number.NEGATIVE_INFINITY;
  #oldestUpdatedMs = Number.POSITIVE_INFINITY;
  #mayRise = true;
  #mayFall = true;

  constructor(skewMs: number) {
    this.#skewMs = skewMs;
  }

  /** Which way tokens go with time; `undefined` where they follow no time. */
  get direction(): "up" | "down" | undefined {
    if (this.#mayRise) return "up";
    return this.#mayFall ? "down" : undefined;
  }

  get newestCreatedMs(): number {
    return this.#newestCreatedMs;
  }

  /** Takes one payment after the other, in the order of their tokens. */
  add(payment: Payment): void {
    const [createdMs, updatedMs] = [createdMsOf(payment), updatedMsOf(payment)];
    if (updatedMs < this.#newestCreatedMs - this.#skewMs) this.#mayRise = false;
    if (createdMs > this.#oldestUpdatedMs + this.#skewMs) this.#mayFall = false;
    if (createdMs > this.#newestCreatedMs) this.#newestCreatedMs = createdMs;
    if (updatedMs < this.#oldestUpdatedMs) this.#oldestUpdatedMs = updatedMs;
  }
}
