import { PagingError } from "../errors/errors.js";
import { compareTokens } from "../paging/cursor-order.js";
import { payments } from "../resources/payments.js";
import { type Digest, DigestSum, digestOf, digestText } from "./digest.js";
import { tokenTimeOf } from "./token-time.js";
import type { WatchedPayment } from "./watched-payment.js";

/** What a cursor says of a stretch of the list: which payments were handed out, and in which states. */
export interface StretchMark {
  /** The highest token of the stretch. */
  readonly last: string;
  readonly ids: Digest;
  readonly states: Digest;
}

/** What was handed out so far, without saying it of each payment. */
export interface WindowMark {
  /** Payments up to this token are not read again; `undefined` where all are. */
  readonly after: string | undefined;
  /** The payments after it, in the order of their tokens. */
  readonly stretches: readonly StretchMark[];
  /** When the newest payment was created that was handed out, in milliseconds since 1970. */
  readonly newestMs?: number | undefined;
}

interface Entry {
  readonly id: string;
  token: string;
  createdMs: number;
  /** Since when it counts as seen. */
  readonly sinceMs: number;
  state: Digest;
}

interface Stretch extends StretchMark {
  last: string;
  readonly ids: DigestSum;
  readonly states: DigestSum;
  count: number;
}

/** More stretches make restarts hand out fewer payments again, and cursors longer. */
const mostStretches = 32;

/** The last stretch grows to this before another begins. */
const smallestStretch = 16;

/** So many payments are kept beyond their time where nothing shows that the tokens follow time. */
const mostOverdue = 100_000;

/** The state of a payment that was handed out in one that is not known any more. */
const unknownState: Digest = { high: 0, low: 0 };

/** The recent payments as they were handed out last. */
export class PaymentWindow {
  readonly #entries = new Map<string, Entry>();
  /** In the order of the payments' tokens. */
  readonly #order: Entry[] = [];
  #stretches: Stretch[] = [];
  #after: string | undefined;
  #last: string | undefined;

  constructor(after: string | undefined) {
    this.#after = after;
    this.#last = after;
  }

  /** Payments up to this token are not read again. */
  get after(): string | undefined {
    return this.#after;
  }

  get last(): string | undefined {
    return this.#last;
  }

  get size(): number {
    return this.#order.length;
  }

  /** Notes a payment as handed out, and says whether it has to be. */
  see(payment: WatchedPayment, sinceMs: number): "created" | "changed" | undefined {
    const entry = this.#entries.get(payment.id);
    if (entry === undefined) {
      this.#insert({ ...payment, sinceMs });
      return "created";
    }
    if (entry.token !== payment.token) {
      // Its place in the list moved on, with or without a change that shows.
      this.#order.splice(this.#order.lastIndexOf(entry), 1);
      this.#leaveStretch(entry);
      this.#insert({ ...entry, token: payment.token });
      return this.see(payment, sinceMs);
    }
    if (entry.state.high === payment.state.high && entry.state.low === payment.state.low) return undefined;
    const { states } = this.#stretchOf(entry.token);
    states.subtract(entry.state);
    states.add(payment.state);
    entry.state = payment.state;
    return "changed";
  }

  /**
   * Takes over what a cursor says was handed out. Where a stretch is as it was, none of it has to be handed out again; where only states
   * differ, its payments come as changed; where others are listed than before, as created.
   *
   * @param listed the payments that are listed now, as far as the end of the last stretch at least.
   */
  recall(marks: readonly StretchMark[], listed: readonly WatchedPayment[], sinceMs: (createdMs: number) => number) {
    for (const { last } of marks) this.#stretches.push(emptyStretch(last));
    let next = 0;
    for (const { last, ids, states } of marks) {
      const end = firstAbove(listed, last, next);
      const stretch = listed.slice(next, end);
      next = end;
      if (!isSumOf(ids, stretch.map(idDigest))) continue;
      const isSame = isSumOf(states, stretch.map(stateDigest));
      for (const payment of stretch) {
        const state = isSame ? payment.state : unknownState;
        this.#insert({ ...payment, state, sinceMs: sinceMs(payment.createdMs) });
      }
    }
  }

  /**
   * Lets go of the payments that were seen before `beforeMs`, up to the first that was not, and no further than `upTo`.
   *
   * @throws {PagingError} when the tokens do not follow the times of creation: a new payment could lie among those that are not read again.
   */
  trim(beforeMs: number, toleranceMs: number, upTo?: string): void {
    let count = 0;
    for (const { sinceMs, token } of this.#order) {
      if (sinceMs >= beforeMs || (upTo !== undefined && compareTokens(token, upTo) > 0)) break;
      count += 1;
    }
    const newest = this.#order[count - 1];
    if (newest === undefined) return;
    const tokenTime = tokenTimeOf(
      this.#order.map(({ createdMs }) => createdMs),
      toleranceMs,
    );
    if (tokenTime === "unclear" && count <= mostOverdue) return;
    if (tokenTime !== "follows") throw unordered();
    for (const entry of this.#order.splice(0, count)) {
      this.#entries.delete(entry.id);
      this.#leaveStretch(entry);
    }
    this.#after = newest.token;
    // One that is empty and not left behind yet has payments that are still to be handed out.
    this.#stretches = this.#stretches.filter(({ last }) => compareTokens(last, newest.token) > 0);
  }

  mark(): WindowMark {
    return { after: this.#after, stretches: this.#stretches };
  }

  #insert(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    this.#order.splice(firstAbove(this.#order, entry.token), 0, entry);
    if (this.#last === undefined || compareTokens(entry.token, this.#last) > 0) this.#last = entry.token;
    const stretch = this.#stretchOf(entry.token);
    stretch.ids.add(digestOf(entry.id));
    stretch.states.add(entry.state);
    stretch.count += 1;
  }

  #leaveStretch(entry: Entry): void {
    const stretch = this.#stretchOf(entry.token);
    stretch.ids.subtract(digestOf(entry.id));
    stretch.states.subtract(entry.state);
    stretch.count -= 1;
  }

  /** The stretch in which this token lies; the last one grows, or a new one begins, where it comes after all of them. */
  #stretchOf(token: string): Stretch {
    const last = this.#stretches.at(-1);
    if (last !== undefined && compareTokens(token, last.last) <= 0) {
      return this.#stretches.find((stretch) => compareTokens(token, stretch.last) <= 0) ?? last;
    }
    if (last !== undefined && last.count < smallestStretch) {
      last.last = token;
      return last;
    }
    const stretch = emptyStretch(token);
    this.#stretches.push(stretch);
    if (this.#stretches.length > mostStretches) this.#joinSmallest();
    return stretch;
  }

  /** Joins the two neighbours that have the fewest payments together. The newest stays: it is about to grow. */
  #joinSmallest(): void {
    const older = this.#stretches.slice(0, -1);
    const pairs = older.slice(1).map((other, index) => ({ one: older[index] as Stretch, other }));
    const { one, other } = pairs.reduce((least, pair) => (sizeOf(pair) < sizeOf(least) ? pair : least));
    other.ids.add(one.ids);
    other.states.add(one.states);
    other.count += one.count;
    this.#stretches.splice(this.#stretches.indexOf(one), 1);
  }
}

function sizeOf({ one, other }: Readonly<Record<"one" | "other", Stretch>>): number {
  return one.count + other.count;
}

/** The place of the first in order whose token lies above this one. */
function firstAbove(order: readonly { readonly token: string }[], token: string, from = 0): number {
  let low = from;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = order[middle] as { readonly token: string };
    if (compareTokens(found.token, token) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function emptyStretch(last: string): Stretch {
  return { last, ids: new DigestSum(), states: new DigestSum(), count: 0 };
}

const idDigest = ({ id }: WatchedPayment): Digest => digestOf(id);
const stateDigest = ({ state }: WatchedPayment): Digest => state;

function isSumOf(digest: Digest, digests: readonly Digest[]): boolean {
  const sum = new DigestSum();
  for (const each of digests) sum.add(each);
  return digestText(sum) === digestText(digest);
}

function unordered(): PagingError {
  const { name } = payments.list;
  return new PagingError(
    `${name}: payments with higher paging tokens were not created later, so a new payment could have any token and would be passed over: the payments of this service can't be watched`,
    { operation: name },
  );
}
