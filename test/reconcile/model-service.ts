import { onTestFinished } from "vitest";
import { type ApiClient, apiClientKey, type CallInput, type PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise, RequestOptions } from "../../src/api/request-options.js";
import { setClock } from "../../src/core/clock.js";
import { AbortedError, ConnectionError } from "../../src/core/errors.js";
import { toApiPromise } from "../../src/http/http-client.js";
import type { PaymentsClient } from "../../src/reconcile/read-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";
import { kindsOfTokens, refusal, selectPage } from "../paging/select-page.js";

/** What services do differently. */
export interface Features {
  /** Default: whole numbers in texts. */
  readonly tokens?: "JSON number" | "base64" | "UUID" | "blocks";
  readonly bounds?: "inclusive" | "ignored";
  readonly defaultOrder?: "newest first";
  readonly cap?: number;
  /** `cut`: the service cuts a page out in the order of tokens, and sorts only that. */
  readonly sort?: "refused" | "time refused" | "ignored" | "cut";
  readonly ids?: "numbers";
  readonly lagMs?: number;
}

/** Plausible services. Everything must work with each of them. */
export const ordinaryServices: readonly (readonly [name: string, features: Features])[] = [
  ["as described", {}],
  ["inclusive bounds", { bounds: "inclusive" }],
  ["tokens as JSON numbers", { tokens: "JSON number" }],
  ["tokens in base64", { tokens: "base64" }],
  ["UUIDs as tokens", { tokens: "UUID" }],
  ["tokens drawn from blocks by two machines", { tokens: "blocks" }],
  ["newest first by default", { defaultOrder: "newest first" }],
  ["at most 10 records a page", { cap: 10 }],
  ["at most 10 records a page, base64, inclusive", { cap: 10, tokens: "base64", bounds: "inclusive" }],
  ["at most 10 records a page, blocks", { cap: 10, tokens: "blocks" }],
  ["_sort refused", { sort: "refused" }],
  ["_sort refused, newest first", { sort: "refused", defaultOrder: "newest first" }],
  ["_sort=createdAt refused", { sort: "time refused" }],
  ["_sort ignored", { sort: "ignored" }],
  ["_sort ignored, base64, 10 records a page", { sort: "ignored", tokens: "base64", cap: 10 }],
  ["_sort ignored, newest first", { sort: "ignored", defaultOrder: "newest first" }],
  ["ids as numbers", { ids: "numbers" }],
  ["lists that lag by two seconds", { lagMs: 2000 }],
];

export interface ModelPayment {
  readonly createdMs: number;
  /** How much later than others it is listed. */
  readonly lateMs?: number;
  /** Its receiver's statuses after the first, with the time of each. */
  readonly changes?: readonly { readonly atMs: number; readonly status: string }[];
  readonly fields?: Partial<Payment>;
}

export interface ModelOptions extends Features {
  readonly requestMs?: number;
  /** The numbers of the requests that fail. */
  readonly failing?: ReadonlySet<number>;
  /** What a request throws. */
  readonly failure?: (paging: PagingValues, number: number) => Error | undefined;
}

interface Row extends ModelPayment {
  readonly id: string;
  readonly position: number;
  readonly token: unknown;
}

export const startMs = Date.parse("2026-11-22T00:00:00.000Z");

const halfHourMs = 1_800_000;

/** The time of the tests that read {@link halfHourly}. */
export const noonMs = startMs + 24 * halfHourMs;

/** Two an hour for five days, the last of them half an hour before noon. */
export const halfHourly: readonly ModelPayment[] = Array.from({ length: 240 }, (_, index) => ({
  createdMs: noonMs - (240 - index) * halfHourMs,
  fields: { senderAmount: "10.00" },
}));

/** A service in memory. Time passes only while someone waits, and with each request. */
export class ModelService {
  nowMs: number;
  readonly requests: (PagingValues & { readonly number: number })[] = [];
  readonly options: (RequestOptions | undefined)[] = [];
  readonly api: ApiClient = fakeApiClient({
    baseUrl: "https://service.test/api",
    call: (_, __, input, options) => this.#call(input ?? {}, options),
  });
  readonly client: PaymentsClient;
  readonly #options: ModelOptions;
  readonly #rows: readonly Row[];
  readonly #atTime: { readonly ms: number; readonly work: () => void }[] = [];

  /** Its time is that of the whole process until the test is over. */
  constructor(payments: readonly ModelPayment[], options: ModelOptions = {}, nowMs = startMs) {
    this.#options = options;
    const { tokens = "number" } = options;
    const tokenOf = kindsOfTokens[tokens === "blocks" ? "number" : tokens];
    this.#rows = payments.map((payment, index) => {
      const position = tokens === "blocks" && index % 5 === 0 ? 1000 + index : 100_000 + index;
      const id = options.ids === "numbers" ? `${index + 1}` : `p${index}`;
      return { ...payment, id, position, token: tokenOf(position) };
    });
    this.client = { close: async () => {}, [apiClientKey]: this.api } as PaymentsClient;
    this.nowMs = nowMs;
    setClock({
      wallMs: () => this.nowMs,
      monotonicMs: () => this.nowMs - startMs + 1_000_000,
      setTimer: (work, ms) => {
        queueMicrotask(() => {
          this.#pass(ms);
          work();
        });
      },
      clearTimer() {},
      unrefTimer() {},
    });
    onTestFinished(() => setClock(undefined));
  }

  /** A signal that aborts when it is so late. */
  signalAt(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#atTime.push({ ms, work: () => controller.abort() });
    return controller.signal;
  }

  /** All payments as they are now, in the order given. */
  all(): readonly Payment[] {
    return this.#rows.map((row) => this.#record(row, this.nowMs));
  }

  #pass(ms: number): void {
    this.nowMs += ms;
    for (const due of this.#atTime.filter((each) => each.ms <= this.nowMs)) {
      this.#atTime.splice(this.#atTime.indexOf(due), 1);
      due.work();
    }
  }

  #call<Output>({ paging = {} }: CallInput<unknown>, options: RequestOptions | undefined): ApiPromise<Output> {
    const number = this.requests.length + 1;
    this.requests.push({ ...paging, number });
    this.options.push(options);
    this.#pass(this.#options.requestMs ?? 7);
    const work = async () => {
      if (options?.signal?.aborted) throw new AbortedError("aborted");
      const error = this.#failureOf(paging, number);
      if (error !== undefined) throw error;
      return this.#select(paging) as Output;
    };
    return toApiPromise(work(), { response: { status: 200, headers: {} } });
  }

  #failureOf(paging: PagingValues, number: number): Error | undefined {
    const { failing, failure, sort } = this.#options;
    if (failing?.has(number)) return new ConnectionError("away");
    const isRefused =
      sort === "refused"
        ? paging._sort !== undefined
        : sort === "time refused" && paging._sort?.startsWith("createdAt") === true;
    return isRefused ? refusal(400) : failure?.(paging, number);
  }

  #select(paging: PagingValues): readonly Payment[] {
    const { bounds, cap, defaultOrder, sort, lagMs = 0 } = this.#options;
    const shownMs = this.nowMs - lagMs;
    const shown = this.#rows.filter(({ createdMs, lateMs = 0 }) => createdMs + lateMs <= shownMs);
    shown.sort((one, other) => one.position - other.position);
    const page = selectPage(shown, paging, {
      ...{ cap, isInclusive: bounds === "inclusive", newestFirst: defaultOrder !== undefined },
      sort: sort === "ignored" || sort === "cut" ? sort : undefined,
      placeOf: ({ position }) => position,
      placesOf: (token) => {
        if (bounds === "ignored") return [];
        return [this.#rows.find((row) => String(row.token) === token)?.position ?? Number.NaN];
      },
      keyOf: ({ createdMs, id, position }, field) =>
        field === "createdAt" ? createdMs : field === "id" ? id : position,
    });
    return page.map((row) => this.#record(row, shownMs));
  }

  #record({ id, token, createdMs, changes = [], fields }: Row, atMs: number): Payment {
    return {
      id: this.#options.ids === "numbers" ? Number(id) : id,
      pagingToken: token,
      createdAt: new Date(createdMs).toISOString(),
      senderGatewayId: "alpha",
      senderGatewayTransactionId: `T-${id}`,
      senderGatewayStatus: "processed",
      receiverGatewayStatus: changes.findLast((change) => change.atMs <= atMs)?.status ?? "pending",
      ...fields,
      // A service can send numbers in place of texts.
    } as unknown as Payment;
  }
}
