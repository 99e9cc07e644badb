import type { ApiClient } from "../../api/api-client.js";
import { nameOf, zonedMsOf } from "../../payments/listed-payment.js";
import { type Payment, payments } from "../../resources/payments.js";
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
  /** By how much the clocks of the service's machines may differ. */
  readonly #skewMs: number;
  #look: Look | undefined;

  constructor(client: ApiClient, known: Pick<KnownPayments, "note">, skewMs: number) {
    this.#client = client;
    this.#known = known;
    this.#skewMs = skewMs;
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
    const [newest] = await this.#list(1, call);
    if (newest === undefined) return { none: true };
    this.#known.note(newest);
    // What was made by a clock that is ahead stays the newest for as long: whatever is made meanwhile is listed as if it were older.
    const mark = this.#isAhead(newest) ? (await this.#list(100, call)).find((other) => !this.#isAhead(other)) : newest;
    const { id, token } = nameOf(mark ?? {});
    // A payment without either can't be recognised.
    if (id === undefined && token === undefined) return null;
    return { ...(id !== undefined && { id }), ...(token !== undefined && { token }) };
  }

  #list(size: number, call: FlowCall) {
    const paging = { _sort: "createdAt.desc", _size: size };
    return this.#client.call(payments.list, [], { paging, lenient: true }, call.paymentOptions);
  }

  /** Of a time without a zone nobody can tell. */
  #isAhead({ createdAt }: Payment): boolean {
    return zonedMsOf(createdAt) - clock.wallMs() > this.#skewMs;
  }
}
