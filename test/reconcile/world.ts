import { onTestFinished } from "vitest";
import type { ApiClient, CallInput } from "../../src/api/api-client.js";
import type { ApiPromise } from "../../src/api/request-options.js";
import { ConnectionError } from "../../src/errors/errors.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import { compareTokens } from "../../src/payments/token-order.js";
import type { WatchOptions } from "../../src/reconcile/watch-options.js";
import { toWatchSettings } from "../../src/reconcile/watch-options.js";
import { type PaymentEvent, PaymentWatch } from "../../src/reconcile/watch-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { setClock } from "../../src/timing/clock.js";
import { Deadline } from "../../src/timing/deadline.js";
import { fakeApiClient } from "../paging/fake-api-client.js";
import type { CompareTokens } from "./payments-service.js";

export interface Change {
  readonly atMs: number;
  readonly status: string;
}

/** A payment of a world in which time only passes where someone waits. */
export interface WorldPayment {
  readonly id: string;
  readonly token: string;
  readonly createdMs: number;
  /** When it is listed, which may be after others with higher tokens. */
  readonly listedMs: number;
  /** In the order of time. */
  readonly changes: readonly Change[];
}

export interface WorldOptions {
  readonly payments: readonly WorldPayment[];
  /** The numbers of the requests that fail. */
  readonly failing?: ReadonlySet<number>;
  /** How long each request takes. */
  readonly requestMs?: number;
  readonly failure?: () => Error;
  /** How far the clock of the machine that watches is ahead of the service's. */
  readonly aheadMs?: number;
  /** How the service orders tokens. */
  readonly compare?: CompareTokens;
}

export const startMs = Date.parse("2026-01-01T00:00:00.000Z");

/** A service that lists late and changes statuses, with a clock of its own. */
export class World {
  nowMs = startMs;
  readonly requests: { readonly after: string | undefined; readonly items: number }[] = [];
  readonly client: ApiClient = fakeApiClient({
    baseUrl: "https://service.test/api",
    call: (_, __, input) => this.#list(input ?? {}),
  });
  readonly #options: WorldOptions;

  /** Its time is that of the whole process, until the test is over. */
  constructor(options: WorldOptions) {
    this.#options = options;
    const nowMs = () => this.nowMs + (options.aheadMs ?? 0);
    setClock({
      wallMs: nowMs,
      // Since the machine was started.
      monotonicMs: () => nowMs() - startMs + 1_000_000,
      setTimer: (work, ms) => {
        this.nowMs += ms;
        queueMicrotask(work);
      },
      clearTimer() {},
      unrefTimer() {},
    });
    onTestFinished(() => setClock(undefined));
  }

  /** The events of one process, until it is stopped or the world ends. */
  watch(options: WatchOptions, untilMs: number): AsyncGenerator<PaymentEvent, void, undefined> {
    const settings = toWatchSettings(this.client, options);
    return new PaymentWatch(this.client, settings, new Deadline({}), () => 0.5).events(() => this.nowMs >= untilMs);
  }

  #list<Output>({ paging = {} }: CallInput<unknown>): ApiPromise<Output> {
    const { payments, failing, requestMs = 7, failure = () => new ConnectionError("away") } = this.#options;
    const { compare = compareTokens } = this.#options;
    this.nowMs += requestMs;
    const number = this.requests.push({ after: paging._after, items: 0 });
    if (failing?.has(number)) {
      return toApiPromise(Promise.reject(failure()), { response: undefined });
    }
    const sign = paging._sort?.endsWith(".desc") ? -1 : 1;
    const rows = payments
      .filter(({ listedMs }) => listedMs <= this.nowMs)
      .filter(({ token }) => paging._after === undefined || compare(token, paging._after) > 0)
      .filter(({ token }) => paging._before === undefined || compare(token, paging._before) < 0)
      .sort((one, other) =>
        paging._sort?.startsWith("createdAt")
          ? sign * (one.createdMs - other.createdMs)
          : sign * compare(one.token, other.token),
      )
      .slice(0, paging._size ?? 20)
      .map((payment) => this.#record(payment));
    this.requests.splice(-1, 1, { after: paging._after, items: rows.length });
    const response = { status: 200, headers: {} };
    return toApiPromise(Promise.resolve(rows as Output), { response });
  }

  #record({ id, token, createdMs, changes }: WorldPayment): Partial<Payment> {
    const last = changes.findLast(({ atMs }) => atMs <= this.nowMs);
    return {
      id,
      pagingToken: token,
      createdAt: new Date(createdMs).toISOString(),
      updatedAt: new Date(last?.atMs ?? createdMs).toISOString(),
      receiverGatewayStatus: last?.status ?? "pending",
    };
  }
}
