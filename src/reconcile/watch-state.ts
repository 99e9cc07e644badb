import { PagingError } from "../core/errors.js";
import { createdMsOf } from "../paging/newest-first.js";
import { textOf } from "../paging/reader.js";
import { type Payment, payments } from "../resources/payments.js";

interface Remembered {
  readonly createdMs: number;
  readonly status: string;
}

type Refuse = (problem: string) => Error;

const version = "pw2";

/** The newest payments that a watch handed out, with their statuses. Everything created after `floorMs` that isn't here is new. */
export class WatchState {
  readonly #max: number;
  readonly #remembered = new Map<string, Remembered>();
  #floorMs: number;

  /** @param sinceMs only payments created at this time or later are returned. `undefined` means all. */
  constructor(max: number, sinceMs = Number.NEGATIVE_INFINITY) {
    this.#max = max;
    this.#floorMs = sinceMs - 1;
  }

  /** Back to when payments must be read to see every new payment and every change. */
  get floorMs(): number {
    return this.#floorMs;
  }

  /** When the newest payment was created that was handed out. */
  get newestMs(): number {
    return Math.max(this.#floorMs, ...[...this.#remembered.values()].map(({ createdMs }) => createdMs));
  }

  /** What a payment has to be handed out as, if at all. */
  newsOf(payment: Payment): "created" | "changed" | undefined {
    const { id, createdMs, status } = parse(payment);
    const before = this.#remembered.get(id);
    if (before === undefined) return createdMs > this.#floorMs ? "created" : undefined;
    return before.status === status ? undefined : "changed";
  }

  /** Remembers a payment as handed out. Call it with the oldest first. */
  remember(payment: Payment): void {
    const { id, ...rest } = parse(payment);
    this.#remembered.set(id, rest);
    while (this.#remembered.size > this.#max) {
      const [oldestId, { createdMs }] = this.#oldest(id, rest);
      // Others of the same time may be waiting to be handed out.
      if (createdMs >= rest.createdMs) return;
      this.#remembered.delete(oldestId);
      this.#floorMs = Math.max(this.#floorMs, createdMs);
    }
  }

  #oldest(...start: [string, Remembered]): readonly [string, Remembered] {
    let oldest = start;
    for (const entry of this.#remembered) if (entry[1].createdMs < oldest[1].createdMs) oldest = entry;
    return oldest;
  }

  /** JSON of the service, the floor, the statuses, and for each payment its id, its time, and the number of its status. */
  toCursor(baseUrl: string): string {
    const statuses = [...new Set([...this.#remembered.values()].map(({ status }) => status))];
    const rows = [...this.#remembered].map(([id, { createdMs, status }]) => [id, createdMs, statuses.indexOf(status)]);
    // Infinity is null, since JSON has no infinity.
    return JSON.stringify([version, baseUrl, this.#floorMs, statuses, rows]);
  }

  /** @throws what `refuse` makes if it isn't a cursor of this version and this service. */
  static ofCursor(cursor: string, baseUrl: string, max: number, refuse: Refuse): WatchState {
    const [found, service, floorMs, statuses, rows] = parseArray(cursor);
    if (found === undefined && /^pw\d+\./.test(cursor)) {
      throw refuse("after is a cursor of an earlier version. Start without it, and with since");
    }
    if (found !== version || !Array.isArray(statuses) || !Array.isArray(rows)) {
      throw refuse(
        "after isn't a cursor of watchPayments, or not all of one. Store it whole: it can have 50,000 characters",
      );
    }
    if (service !== baseUrl) throw refuse("after is a cursor of another service: its client had another baseUrl");
    const state = new WatchState(max);
    if (typeof floorMs === "number") state.#floorMs = floorMs;
    for (const [id, createdMs, status] of rows as [string, number, number][]) {
      state.#remembered.set(id, { createdMs, status: String(statuses[status]) });
    }
    return state;
  }
}

/** @throws {PagingError} if a payment has no id, or no time that can be read. */
function parse(payment: Payment): Remembered & { readonly id: string } {
  const id = textOf(payment.id);
  const createdMs = createdMsOf(payment);
  if (id !== undefined && !Number.isNaN(createdMs)) {
    const { senderGatewayStatus, receiverGatewayStatus } = payment;
    return { id, createdMs, status: `${senderGatewayStatus}/${receiverGatewayStatus}` };
  }
  const lacking = id === undefined ? "an id" : "a createdAt that can be read";
  const { name: operation } = payments.list;
  throw new PagingError(`${operation}: a payment without ${lacking} is listed, so these payments can't be watched`, {
    operation,
  });
}

function parseArray(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
