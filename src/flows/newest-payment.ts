import type { ApiClient } from "../api/api-client.js";
import { payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import { tokenOf } from "./read-payments.js";

/** For how long the newest payment is asked for once. */
const sharedForMs = 1000;

interface Look {
  readonly atMs: number;
  readonly token: Promise<string | null>;
}

/**
 * The mark at which the search for a later payment ends: the token of the newest payment. A mark may be older than the claim, never
 * younger, so that one look a second serves all flows of a process.
 */
export class NewestPayment {
  readonly #client: ApiClient;
  #look: Look | undefined;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Its paging token; `null` when there is no payment. */
  async token(call: FlowCall): Promise<string | null> {
    const atMs = clock.monotonicMs();
    if (this.#look === undefined || atMs - this.#look.atMs >= sharedForMs) {
      const look = { atMs, token: this.#request(call) };
      this.#look = look;
      // The next one asks again.
      look.token.catch(() => {
        if (this.#look === look) this.#look = undefined;
      });
    }
    return call.race(this.#look.token);
  }

  /** Belongs to all who wait for it: the signal of the first of them does not end it. */
  async #request(call: FlowCall): Promise<string | null> {
    const paging = { _sort: "createdAt.desc", _size: 1 };
    const [newest] = await this.#client.call(payments.list, [], { paging, lenient: true }, call.paymentOptions);
    return tokenOf(newest) ?? null;
  }
}
