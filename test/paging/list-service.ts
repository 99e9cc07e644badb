import type { ApiClient, CallInput, PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise, RequestOptions } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/http-client.js";
import { fakeApiClient } from "./fake-api-client.js";

/** Compares whole numbers of any length by value, and everything else as texts. */
function compareTokens(one: string, other: string): number {
  const [left, right] = [one, other].every((token) => /^-?\d+$/.test(token))
    ? [BigInt(one), BigInt(other)]
    : [one, other];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** As much of a listed record as paging looks at. */
export interface Row {
  readonly id?: string;
  readonly pagingToken?: string;
  readonly createdAt?: string;
  readonly name?: string;
}

export interface ListServiceOptions {
  readonly rows: readonly Row[];
  /** The service's own maximum of `_size`, and its default. */
  readonly cap?: number;
  /** The paging token of a row, where it is not the field. */
  readonly tokenOf?: (row: Row) => string;
  /** Responds instead of the list in memory. */
  readonly response?: (paging: PagingValues, number: number) => readonly Row[];
}

/** An API client in front of a list in memory, read as SQL does: bounds on the token, then the order, then the limit. */
export class ListService {
  readonly client: ApiClient = fakeApiClient({ call: (_, __, input, options) => this.#call(input ?? {}, options) });
  readonly requested: {
    readonly paging: PagingValues;
    readonly query: object | undefined;
    readonly options: RequestOptions | undefined;
  }[] = [];
  readonly #options: ListServiceOptions;

  constructor(options: ListServiceOptions) {
    this.#options = options;
  }

  #call<Output>(input: CallInput<unknown>, options: RequestOptions | undefined): ApiPromise<Output> {
    const paging = input.paging ?? {};
    this.requested.push({ paging, query: input.query, options });
    const select = this.#options.response ?? ((values: PagingValues) => this.#select(values));
    const number = this.requested.length;
    const rows = async () => select(paging, number) as Output;
    return toApiPromise(rows(), { response: { status: 200, headers: { "x-page": `${number}` } } });
  }

  #select({ _after, _before, _size, _sort }: PagingValues): readonly Row[] {
    const { rows, cap = 100, tokenOf = (row) => row.pagingToken ?? "" } = this.#options;
    const [field = "pagingToken", order = "asc"] = _sort?.split(",")[0]?.split(".") ?? [];
    const sortValue = (row: Row) => (field === "pagingToken" ? tokenOf(row) : String(Reflect.get(row, field)));
    return rows
      .filter((row) => _after === undefined || compareTokens(tokenOf(row), _after) > 0)
      .filter((row) => _before === undefined || compareTokens(tokenOf(row), _before) < 0)
      .sort((one, other) => compareTokens(sortValue(one), sortValue(other)) * (order === "desc" ? -1 : 1))
      .slice(0, Math.min(_size ?? cap, cap));
  }
}

/** Rows with the tokens 1 to `count`. */
export function rowsUpTo(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => ({ id: `r${index + 1}`, pagingToken: `${index + 1}` }));
}
