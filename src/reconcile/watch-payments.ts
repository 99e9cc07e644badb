import type { ApiClient } from "../api/api-client.js";
import { clock } from "../core/clock.js";
import { Deadline } from "../core/deadline.js";
import { createdMsOf, keyOf } from "../paging/newest-first.js";
import type { Payment } from "../resources/payments.js";
import { toWatchSettings, type WatchOptions, type WatchSettings } from "./options.js";
import { type PaymentsClient, readPayments, requireApiClient } from "./read-payments.js";

/** What happened to a payment. */
export interface PaymentEvent {
  /** `created` when the payment is handed out for the first time, `changed` when one of its two statuses isn't what it was then. */
  readonly type: "created" | "changed";
  /** The payment as it was listed. */
  readonly payment: Payment;
  /** Store it when the event has been processed, and pass it as `after` to continue after this event. */
  readonly cursor: string;
}

/**
 * Hands out every payment once it is listed, and again when one of its statuses changes, for as long as the loop runs.
 *
 * The service has no events, so the client reads the list, with new payments every `everyMs` and the last 500 every `rereadEveryMs`. It
 * misses later changes of older payments (docs/reconcile.md#guarantees). It waits for a service that is away.
 *
 * @example
 * for await (const event of watchPayments(client, { after: await readCursor() })) { … }
 * @throws {InvalidArgumentError} at once, if an option is wrong or the cursor belongs to another service.
 * @throws {PagingError} (in the loop) if the payments can't be read completely.
 * @throws {ApiError} (in the loop) if the service refuses to list, such as with 401 or 403.
 * @throws {TokenError} (in the loop) if the login is refused.
 */
export function watchPayments(client: PaymentsClient, options: WatchOptions = {}): AsyncIterableIterator<PaymentEvent> {
  const api = requireApiClient("watchPayments", client);
  const stop = new AbortController();
  const events = watchUntilStopped(api, toWatchSettings(api, options), stop);
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
  try {
    yield* watch(api, settings, deadline);
  } catch (error) {
    if (deadline.ended === undefined) throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Payments can be listed out of order by so much without waiting for the next rereading. */
const lookBackMs = 60_000;

async function* watch(
  api: ApiClient,
  { state, everyMs, rereadEveryMs, size, tokensFollowTime, headers }: WatchSettings,
  deadline: Deadline,
): AsyncGenerator<PaymentEvent, void, undefined> {
  let rereadAtMs = Number.NEGATIVE_INFINITY;
  while (deadline.ended === undefined) {
    const startedMs = clock.monotonicMs();
    const isQuick = startedMs < rereadAtMs;
    const since = isQuick ? Math.max(state.floorMs, state.newestMs - lookBackMs) : state.floorMs;
    const news = new Map<string | undefined, Payment>();
    const reading = { since, isQuick, size, tokensFollowTime, headers, maxRetries: Number.POSITIVE_INFINITY };
    for await (const page of readPayments(api, reading, deadline)) {
      for (const payment of page) if (state.newsOf(payment) !== undefined) news.set(keyOf(payment), payment);
    }
    for (const payment of oldestFirst(news.values())) {
      const type = state.newsOf(payment);
      if (deadline.ended !== undefined) return;
      state.remember(payment);
      if (type !== undefined) yield { type, payment, cursor: state.toCursor(api.baseUrl) };
    }
    if (!isQuick) rereadAtMs = startedMs + rereadEveryMs;
    await deadline.sleep(everyMs);
  }
}

function oldestFirst(payments: Iterable<Payment>): readonly Payment[] {
  return [...payments].reverse().sort((one, other) => createdMsOf(one) - createdMsOf(other));
}
