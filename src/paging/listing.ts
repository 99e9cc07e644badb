import type { ApiClient } from "../api/api-client.js";
import { type ListQuery, type ParsedListQuery, parseListQuery } from "../api/list-query.js";
import type { TypedOperation } from "../api/operation.js";
import {
  type ApiPromise,
  parseRequestOptions,
  type RequestOptions,
  type WithResponse,
} from "../api/request-options.js";
import { Deadline } from "../core/deadline.js";
import { InvalidArgumentError, PagingError, traceFrom } from "../core/errors.js";
import type { Page } from "./page.js";
import { type ListReader, type ListSource, listReader } from "./reader.js";

/** @param calls gets each call that the reader makes. */
type OpenReader<Item> = (isIterated: boolean, calls?: ApiPromise<Item[]>[]) => ListReader<Item>;

/** A list of records. Nothing is requested before it is awaited or iterated. */
export function listRecords<Ids extends readonly string[], Item>(
  client: ApiClient,
  operation: TypedOperation<string, Ids, never, Item[]>,
  ids: NoInfer<Ids>,
  given: ListQuery<NoInfer<Item>, object> | undefined,
  givenOptions: RequestOptions | undefined,
): Listing<Item> {
  let query: ParsedListQuery<Item> = {};
  let options: RequestOptions = {};
  /** It's thrown when the list is used, since a call rejects what it refuses. */
  let refusal: unknown;
  try {
    query = parseListQuery(operation, given);
    options = parseRequestOptions(operation, givenOptions);
  } catch (error) {
    refusal = traceFrom(error, listRecords);
  }
  const { filter, size, ...rest } = query;
  const { signal } = options;
  const hasTokens = Object.hasOwn(operation.record, "pagingToken") && query.cursor === undefined;
  const isFiltered = Object.values(filter ?? {}).some((value) => value !== undefined);

  return new Listing(operation.name, (isIterated, calls) => {
    const source: ListSource<Item> = {
      name: operation.name,
      ask(paging, dropped) {
        if (refusal !== undefined) return Promise.reject(refusal);
        const call = client.call(operation, ids, { paging, query: filter }, { ...options, signal: dropped ?? signal });
        calls?.push(call);
        return call;
      },
      sleep: (ms) => pause(ms, signal),
    };
    return listReader(source, {
      ...rest,
      size: isIterated && size !== undefined ? Math.max(3, size) : size,
      isFiltered,
      defaultSort: hasTokens ? "pagingToken.asc" : undefined,
      signal,
    });
  });
}

/**
 * A list that hasn't been requested yet. Await it for the first `Page`, or iterate it for every record. `break` stops requesting.
 *
 * Iterating gives every record that the service lists, once, or ends with a `PagingError` that says what to do. The rules are in
 * docs/lists.md. It keeps the id of each record that it handed out.
 *
 * @example
 * for await (const payment of client.payments.list()) console.log(payment.id);
 * const { items } = await client.payments.list({ sort: "createdAt.desc", size: 20 });
 */
export class Listing<Item> implements Promise<Page<Item>>, AsyncIterable<Item> {
  readonly #name: string;
  readonly #open: OpenReader<Item>;
  #first: Promise<WithResponse<Page<Item>>> | undefined;

  /** @internal */
  constructor(name: string, open: OpenReader<Item>) {
    this.#name = name;
    this.#open = open;
  }

  get [Symbol.toStringTag](): string {
    return "Listing";
  }

  /** The first page. It is requested once, however often it is awaited. */
  // biome-ignore lint/suspicious/noThenProperty: a listing is awaited for its first page
  then<A = Page<Item>, B = never>(
    onFulfilled?: ((page: Page<Item>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<Item> | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Page<Item>> {
    return this.#firstPage().finally(onFinally);
  }

  /** The first page, with status and headers. */
  withResponse(): Promise<WithResponse<Page<Item>>> {
    this.#first ??= this.#requestFirst();
    return this.#first;
  }

  /** Every record, in the service's order, each once. Each iteration starts again. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) for (const item of page.items) yield item;
  }

  /**
   * Every page that has records, each record once. Pages have at least three records, if there are so many.
   *
   * @throws {PagingError} if the list can't be read to its end without losing records.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    try {
      yield* this.#open(true).pages();
    } catch (error) {
      throw traceFrom(error);
    }
  }

  /**
   * Every record in one array.
   *
   * @param limit `max` is the largest number of records to accept, so that a growing list can't fill the memory unnoticed.
   * @throws {PagingError} if there are more, or the list can't be read to its end without losing records.
   */
  async toArray(limit: { readonly max: number }): Promise<Item[]> {
    const name = this.#name;
    const max: unknown = limit?.max;
    if (typeof max !== "number" || !(max >= 0)) {
      throw new InvalidArgumentError(`${name}: toArray needs { max }, the largest number of records to accept`);
    }
    const items: Item[] = [];
    for await (const page of this.pages()) {
      if (items.length + page.items.length > max) {
        throw new PagingError(`${name}: there are more than ${max} records.`, { operation: name });
      }
      for (const item of page.items) items.push(item);
    }
    return items;
  }

  async #firstPage(): Promise<Page<Item>> {
    return (await this.withResponse()).data;
  }

  async #requestFirst(): Promise<WithResponse<Page<Item>>> {
    const calls: ApiPromise<Item[]>[] = [];
    const reader = this.#open(false, calls);
    const data = reader.single(await reader.first());
    const called = await calls.at(-1)?.withResponse();
    return { data, response: called?.response ?? { status: 0, headers: {} } };
  }
}

/** If the signal ends the wait, the request after it reports that. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const deadline = new Deadline({ signal });
  try {
    await deadline.sleep(ms).catch(() => {});
  } finally {
    deadline.finish();
  }
}
