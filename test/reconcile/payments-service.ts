import { type ApiClient, apiClientKey, type CallInput, type PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise, RequestOptions } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import { compareTokens } from "../../src/payments/token-order.js";
import type { PaymentsClient } from "../../src/reconcile/payments-client.js";
import type { Payment } from "../../src/resources/payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

export interface PaymentsService {
  readonly client: PaymentsClient;
  readonly requested: PagingValues[];
  /** The options of each request. */
  readonly options: (RequestOptions | undefined)[];
  /** What is listed for these values. */
  list(paging: PagingValues): readonly Partial<Payment>[];
}

/** Below zero where a service has `one` before `other`. */
export type CompareTokens = (one: string, other: string) => number;

/** Whole numbers too. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** A service with these payments, read as SQL does: bounds on the token, then the order, then the limit. */
export function paymentsService(
  payments: readonly Partial<Payment>[],
  respond?: (paging: PagingValues, number: number) => readonly Partial<Payment>[] | undefined,
  compare: CompareTokens = compareTokens,
  headersOf: (number: number) => Record<string, string> = () => ({}),
): PaymentsService {
  const requested: PagingValues[] = [];
  const options: (RequestOptions | undefined)[] = [];
  const call = <Output>(input: CallInput<unknown>, given: RequestOptions | undefined): ApiPromise<Output> => {
    const { paging = {} } = input;
    requested.push(paging);
    options.push(given);
    const headers = headersOf(requested.length);
    const work = async () => (respond?.(paging, requested.length) ?? select(payments, paging, compare)) as Output;
    return toApiPromise(work(), { response: { status: 200, headers } });
  };
  const api: ApiClient = fakeApiClient({
    baseUrl: "https://service.test/api",
    call: (_, __, input, given) => call(input ?? {}, given),
  });
  const client = { close: async () => {}, [apiClientKey]: api };
  return { client, requested, options, list: (paging) => select(payments, paging, compare) };
}

function select(
  payments: readonly Partial<Payment>[],
  { _after, _before, _sort, _size }: PagingValues,
  compare: CompareTokens,
) {
  const terms = (_sort ?? "pagingToken.asc").split(",").map((term) => term.split("."));
  const tokenOf = ({ pagingToken = "" }: Partial<Payment>) => pagingToken;
  const order = (one: Partial<Payment>, other: Partial<Payment>) => {
    for (const [field = "", way] of terms) {
      const values: [string, string] = [String(Reflect.get(one, field)), String(Reflect.get(other, field))];
      const step = field === "pagingToken" ? compare(...values) : compareTexts(...values);
      if (step !== 0) return way === "desc" ? -step : step;
    }
    return 0;
  };
  return payments
    .filter((payment) => _after === undefined || compare(tokenOf(payment), _after) > 0)
    .filter((payment) => _before === undefined || compare(tokenOf(payment), _before) < 0)
    .sort(order)
    .slice(0, _size ?? 20);
}
