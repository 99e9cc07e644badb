import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { ApiError } from "../errors/errors.js";
import { compareTokens } from "../paging/cursor-order.js";
import { type Payment, payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { Deadline } from "../timing/deadline.js";
import { isRefusedQuestion } from "../wire/status.js";
import { NewestCheck, notAfter } from "./newest-check.js";
import { type OnFailure, readPaymentPages } from "./payment-pages.js";
import { PaymentWindow, type WindowMark } from "./payment-window.js";
import { type PaymentsClient, requireApiClient } from "./payments-client.js";
import { retryDelayMs } from "./retry-delay.js";
import { writeCursor } from "./watch-cursor.js";
import { toWatchSettings, type WatchOptions, type WatchSettings } from "./watch-options.js";
import { toWatched, type WatchedPayment } from "./watched-payment.js";

/** What happened to a payment. */
export interface PaymentEvent {
  /**
   * `created` when the payment is handed out for the first time, `changed` when one of its statuses, or anything else that follows its
   * creation, is not what it was when it was handed out last. After a restart either can come again.
   */
  readonly type: "created" | "changed";
  /** The payment as it is listed now. */
  readonly payment: Payment;
  /** Store it when the event has been processed, and pass it as `after` to continue after this event. */
  readonly cursor: string;
}

/**
 * Hands out every payment once it is listed, and again whenever its statuses change, for as long as the loop runs. The service has no
 * events, so the list is read: new payments every `everyMs`, and those of the last `rereadForMs` every `rereadEveryMs`.
 *
 * Each event comes at least once, in the order of the cursor, for everything that becomes visible within `rereadForMs` (see
 * docs/watch-guarantees.md for what that means). Within one loop each comes once. While the service is away the watch waits, up to a minute
 * between two tries, and loses nothing; the client's `on.failure` tells of each try.
 *
 * Nothing is requested before the first `next()`. `break`, `return()` and `signal` end the watch at once, without an error.
 *
 * @throws {InvalidArgumentError} at once, on a wrong option or a cursor that is not one of this service.
 * @throws {PagingError} (in the loop) when the paging tokens do not go the way that the payments are created, or the newest payment is not
 *   listed where the watch reads.
 * @throws {ApiError} (in the loop) when the service itself refuses to list, such as with 401 or 403.
 * @throws {TokenError} (in the loop) when the login is refused.
 */
export function watchPayments(client: PaymentsClient, options: WatchOptions = {}): AsyncIterableIterator<PaymentEvent> {
  const api = requireApiClient("watchPayments", client);
  const settings = toWatchSettings(api, options);
  const stop = new AbortController();
  const events = watchUntilStopped(api, settings, stop);
  return {
    next: () => events.next(),
    return: () => {
      stop.abort();
      return events.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* watchUntilStopped(
  api: ApiClient,
  settings: WatchSettings,
  stop: AbortController,
): AsyncGenerator<PaymentEvent, void, undefined> {
  const { signal } = settings;
  const onAbort = () => stop.abort();
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort);
  const deadline = new Deadline({ signal: stop.signal });
  const isOver = () => deadline.ended !== undefined;
  try {
    yield* new PaymentWatch(api, settings, deadline, Math.random).events(isOver);
  } catch (error) {
    if (!isOver()) throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** One watch, from its start or its cursor on. */
export class PaymentWatch {
  readonly #api: ApiClient;
  readonly #settings: WatchSettings;
  readonly #deadline: Deadline;
  readonly #random: () => number;
  /** What the monotonic clock lacks to the time since 1970, so that the watch's time never goes back. */
  readonly #startedMs = clock.wallMs() - clock.monotonicMs();
  readonly #mark: WindowMark;
  readonly #window: PaymentWindow;
  readonly #check: NewestCheck;
  /** How far the clock is ahead of the service's at most. No payment was created in the service's future. */
  #aheadMs = Number.POSITIVE_INFINITY;
  /** Until all payments have been read once, those that come are not new: they count from their creation. */
  #isCatchingUp = true;

  constructor(api: ApiClient, settings: WatchSettings, deadline: Deadline, random: () => number) {
    this.#api = api;
    this.#settings = settings;
    this.#deadline = deadline;
    this.#random = random;
    this.#mark = settings.mark;
    this.#window = new PaymentWindow(settings.mark.after);
    this.#check = new NewestCheck(settings.mark.newestMs);
  }

  get #nowMs(): number {
    return this.#startedMs + clock.monotonicMs();
  }

  async *events(isOver: () => boolean): AsyncGenerator<PaymentEvent, void, undefined> {
    await this.#begin();
    let rereadAtMs = Number.NEGATIVE_INFINITY;
    while (!isOver()) {
      const startedMs = this.#nowMs;
      if (startedMs >= rereadAtMs) {
        yield* this.#reread(startedMs, isOver);
        rereadAtMs = startedMs + this.#settings.rereadEveryMs;
      } else if (!(yield* this.#poll(isOver)) && (await this.#outOfOrder(await this.#newest())) !== undefined) {
        // Read from further back, the list may show it.
        rereadAtMs = Number.NEGATIVE_INFINITY;
        continue;
      }
      await this.#deadline.sleep(this.#settings.everyMs);
    }
  }

  /** Hands out what is listed after all that was handed out. @returns whether there was anything. */
  async *#poll(isOver: () => boolean): AsyncGenerator<PaymentEvent, boolean, undefined> {
    let hasNews = false;
    for await (const page of this.#pages(this.#window.last)) {
      hasNews = true;
      yield* this.#newsOf(page, isOver);
    }
    return hasNews;
  }

  /** Hands out what is new or has changed in the window. */
  async *#reread(startedMs: number, isOver: () => boolean): AsyncGenerator<PaymentEvent, void, undefined> {
    const beforeMs = startedMs - this.#settings.rereadForMs;
    const newest = await this.#newest();
    this.#compareClocks(newest?.createdMs);
    for await (const page of this.#pages(this.#window.after)) {
      yield* this.#newsOf(page, isOver);
      if (this.#isCatchingUp) this.#trim(beforeMs, page.at(-1)?.pagingToken);
    }
    if (!isOver()) {
      this.#check.afterReread(newest);
      const hidden = await this.#outOfOrder(newest);
      if (hidden !== undefined) throw notAfter(hidden);
    }
    this.#trim(beforeMs);
    this.#isCatchingUp = false;
  }

  *#newsOf(page: readonly Payment[], isOver: () => boolean): Generator<PaymentEvent, void, undefined> {
    for (const payment of page) {
      if (isOver()) return;
      const watched = toWatched(payment);
      const type = this.#window.see(watched, this.#sinceMs(watched.createdMs));
      this.#check.see(watched);
      if (type !== undefined) yield { type, payment, cursor: this.#cursor() };
    }
  }

  #cursor(): string {
    return writeCursor(this.#api.baseUrl, { ...this.#window.mark(), newestMs: this.#check.newestMs });
  }

  /** What lies before the position of a watch is not known to it. The newest payment may be there, and was not hidden then. */
  async #begin(): Promise<void> {
    const { after, newestMs } = this.#mark;
    if (after !== undefined) {
      const newest = await this.#newest();
      this.#compareClocks(newest?.createdMs);
      const isBefore = newest !== undefined && compareTokens(newest.token, after) <= 0;
      if (isBefore && newestMs === undefined) this.#check.see(newest);
    }
    await this.#recall();
  }

  /** The payment that was created last, wherever its token lies. */
  #newest(): Promise<WatchedPayment | undefined> {
    return this.#first({ _sort: "createdAt.desc", _size: 1 });
  }

  async #first(paging: PagingValues): Promise<WatchedPayment | undefined> {
    for (let failures = 0; ; failures += 1) {
      try {
        const [first] = await this.#api.call(payments.list, [], { paging }, this.#requestOptions());
        return first && toWatched(first);
      } catch (error) {
        await this.#waitAfter(error, failures);
      }
    }
  }

  /**
   * Gives a payment back that is listed before others with lower tokens, so that it never comes after them. Of a token that comes after all that
   * were handed out, the service itself says what it has after that one: a replica that lags behind has nothing there.
   */
  async #outOfOrder(newest: WatchedPayment | undefined): Promise<WatchedPayment | undefined> {
    const { last } = this.#window;
    if (newest === undefined || last === undefined || compareTokens(newest.token, last) <= 0) return undefined;
    try {
      const after = await this.#first({ _sort: "pagingToken.desc", _size: 1, _after: newest.token });
      return after !== undefined && compareTokens(after.token, newest.token) < 0 ? newest : undefined;
    } catch (error) {
      // A service that refuses the question leaves it open.
      if (error instanceof ApiError && isRefusedQuestion(error.status)) return undefined;
      throw error;
    }
  }

  /** Compares what the cursor says with what is listed, before anything is handed out. */
  async #recall(): Promise<void> {
    const last = this.#mark.stretches.at(-1)?.last;
    if (last === undefined) return;
    const listed: WatchedPayment[] = [];
    for await (const page of this.#pages(this.#mark.after)) {
      const watched = page.map(toWatched);
      listed.push(...watched);
      if (watched.some(({ token }) => compareTokens(token, last) >= 0)) break;
    }
    this.#window.recall(this.#mark.stretches, listed, (createdMs) => this.#sinceMs(createdMs));
  }

  /** Since when a payment counts as seen, by this clock: while catching up, since its creation or later, whatever the clock shows. */
  #sinceMs(createdMs: number): number {
    const nowMs = this.#nowMs;
    if (!this.#isCatchingUp || Number.isNaN(createdMs)) return nowMs;
    return Math.min(nowMs, createdMs + this.#aheadMs);
  }

  #compareClocks(createdMs = Number.NEGATIVE_INFINITY): void {
    if (!Number.isNaN(createdMs)) this.#aheadMs = Math.min(this.#aheadMs, Math.max(0, this.#nowMs - createdMs));
  }

  #trim(beforeMs: number, upTo?: string): void {
    this.#window.trim(beforeMs, Math.min(60_000, this.#settings.rereadForMs / 10), upTo);
  }

  #pages(after: string | undefined): AsyncGenerator<readonly Payment[], void, undefined> {
    return readPaymentPages(this.#api, { after, size: this.#settings.size }, this.#requestOptions(), this.#waitAfter);
  }

  #requestOptions(): RequestOptions {
    return { headers: this.#settings.headers, signal: this.#deadline.signal };
  }

  readonly #waitAfter: OnFailure = async (error, failures) => {
    const delayMs = retryDelayMs(error, failures, this.#random, this.#nowMs);
    if (delayMs === undefined) throw error;
    await this.#deadline.sleep(delayMs);
  };
}
