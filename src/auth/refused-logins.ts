import { later, leftMs, now, type Timestamp } from "../timing/timestamp.js";
import { refusedHoldMs } from "./token-timing.js";

/** The logins in a row that were refused. After each of them there is none for longer, since identity servers lock accounts. */
export class RefusedLogins {
  #count = 0;
  #last: Timestamp | undefined;

  /** @returns for how long there is to be no login. */
  add(): number {
    this.#count += 1;
    this.#last = now();
    return refusedHoldMs(this.#count);
  }

  clear(): void {
    this.#count = 0;
  }

  /** Whether a login with other credentials may be tried at once. A function that never returns the same twice must not lock the account. */
  get mayTryOthers(): boolean {
    if (this.#count <= 3 || this.#last === undefined) return true;
    return leftMs(later(this.#last, refusedHoldMs(1)), now()) <= 0;
  }
}
