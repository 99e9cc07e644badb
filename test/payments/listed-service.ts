import type { PagingValues } from "../../src/api/api-client.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import type { Payment } from "../../src/resources/payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

export type Listed = Pick<Payment, "id" | "pagingToken" | "createdAt"> & Partial<Payment>;

/** What comes in place of a page, or beside it. */
export interface Response {
  readonly page?: readonly Listed[];
  /** Seconds that it was in a cache; a text is sent as it is. */
  readonly age?: number | string;
}

/** When the payment with this token was made. */
export function madeAt(token: number): string {
  return new Date(Date.UTC(2026, 0, 1) + 1000 * token).toISOString();
}

/** Payments a second apart, with tokens that grow, the oldest first. */
export function paymentsFrom(first: number, last: number): Listed[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const token = first + index;
    const times = { createdAt: madeAt(token), updatedAt: madeAt(token) };
    return { id: `p-${token}`, pagingToken: String(token), senderGatewayTransactionId: `tx-${token}`, ...times };
  });
}

/**
 * A service that lists these payments as SQL would read the description, and counts its requests.
 *
 * @param respond what happens on the way: replicas, caches, empty pages. `number` counts the requests from 1 on.
 */
export function listedService(
  payments: readonly Listed[],
  respond: (paging: PagingValues, number: number, page: readonly Listed[]) => Response | undefined = () => undefined,
  mostListed = 100,
) {
  const requested: PagingValues[] = [];
  const select = ({ _after, _before, _sort = "pagingToken.asc", _size = 20 }: PagingValues) => {
    const within = payments.filter(
      ({ pagingToken }) =>
        (_after === undefined || Number(pagingToken) > Number(_after)) &&
        (_before === undefined || Number(pagingToken) < Number(_before)),
    );
    const sign = /^\w+\.desc/.test(_sort) ? -1 : 1;
    const isByTime = _sort.startsWith("createdAt");
    within.sort((one, other) =>
      isByTime
        ? sign * (Date.parse(one.createdAt) - Date.parse(other.createdAt))
        : sign * (Number(one.pagingToken) - Number(other.pagingToken)),
    );
    return within.slice(0, Math.min(_size, mostListed));
  };
  const client = fakeApiClient({
    call: (_operation, _ids, input) => {
      const paging = input?.paging ?? {};
      requested.push(paging);
      const work = async () => {
        const page = select(paging);
        return respond(paging, requested.length, page) ?? {};
      };
      const responded = work();
      const responseOf = { headers: {} as Record<string, string>, status: 200 };
      const data = responded.then(({ page, age }) => {
        if (age !== undefined) responseOf.headers.age = String(age);
        return (page ?? select(paging)) as never;
      });
      return toApiPromise(data, { response: responseOf });
    },
  });
  return { client, requested };
}
