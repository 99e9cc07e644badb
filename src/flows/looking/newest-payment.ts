import type { ApiClient } from "../../api/api-client.js";
import { nameOf } from "../../payments/listed-payment.js";
import { payments } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import type { FlowCall } from "../flow-call.js";
import type { Mark } from "../state/flow-state.js";
import type { KnownPayments } from "./known-payments.js";

/** For how long the newest payment is asked for once. */
const sharedForMs = 1000;

interface Look {
  readonly atMs: number;
  readonly mark: Promise<Mark>;
}

/**
 * The mark at which the search for a later payment ends, and which it has to meet: the newest payment. A mark may be older than the claim, never
 * younger, so that one look a second serves all flows of a process.
 */
export class NewestPayment {
  readonly #client: ApiClient;
  readonly #known: Pick<KnownPayments, "note">;
  #look: Look | undefined;

  constructor(client: ApiClient, known: Pick<KnownPayments, "note">) {
    this.#client = client;
    this.#known = known;
  }

  async mark(call: FlowCall): Promise<Mark> {
    const atMs = clock.monotonicMs();
    if (this.#look === undefined || atMs - this.#look.atMs >= sharedForMs) {
      const look = { atMs, mark: this.#request(call) };
      this.#look = look;
      // The next one asks again.
      look.mark.catch(() => {
        if (this.#look === look) this.#look = undefined;
      });
    }
    return call.race(this.#look.mark);
  }

  /** Belongs to all who wait for it: the signal of the first of them does not end it. */
  async #request(call: FlowCall): Promise<Mark> {
    const paging = { _sort: "createdAt.desc", _size: 1 };
    const [newest] = await this.#client.call(payments.list, [], { paging, lenient: true }, call.paymentOptions);
    if (newest === undefined) return { none: true };
    this.#known.note(newest);
    const { id, token } = nameOf(newest);
    // A payment without either can't be recognised.
    if (id === undefined && token === undefined) return null;
    return { ...(id !== undefined && { id }), ...(token !== undefined && { token }) };
  }
}
