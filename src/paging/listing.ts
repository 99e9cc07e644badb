import type { ApiClient } from "../api/api-client.js";
import { type ListQuery, parseListQuery } from "../api/list-query.js";
import type { TypedOperation } from "../api/operation.js";
import { parseRequestOptions, type RequestOptions, type WithResponse } from "../api/request-options.js";
import { Deadline } from "../core/deadline.js";
import { InvalidArgumentError, PagingError, traceFrom } from "../core/errors.js";
import type { Page } from "./page.js";
import { type ListReader, type ListSource, listReader } from "./reader.js";

/** A list of records. Nothing is requested before it is awaited or iterated. */
export function listRecords<Ids extends readonly string[], Item>(
  client: ApiClient,
  operation: TypedOperation<string, Ids, never, Item[]>,
  ids: NoInfer<Ids>,
  given: ListQuery<NoInfer<Item>, object> | undefined,
  givenOptions: RequestOptions | undefined,
): Listing<Item> {
  const { name } = operation;
  try {
    const { filter, size, ...query } = parseListQuery<Item>(operation, given);
    const options = parseRequestOptions(operation, givenOptions);
    const { signal } = options;
    const hasTokens = Object.hasOwn(operation.record, "pagingToken") && query.cursor === undefined;
    const source: ListSource<Item> = {
      name,
      ask: (paging, dropped = signal) =>
        client.call(operation, ids, { paging, query: filter }, { ...options, signal: dropped }),
      sleep: (ms) => pause(ms, signal),
    };
    const readerQuery = {
      ...query,
      isFiltered: Object.values(filter ?? {}).some((value) => value !== undefined),
      defaultSort: hasTokens ? "pagingToken.asc" : undefined,
      signal,
    };
    return new Listing(name, (minSize) =>
      listReader(source, { ...readerQuery, size: size && Math.max(minSize, size) }),
    );
  } catch (error) {
    // It's thrown when the list is used, since a call rejects what it refuses.
    const refusal = traceFrom(error, listRecords);
    return new Listing(name, () => {
      throw refusal;
    });
  }
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
  readonly #open: (minSize: number) => ListReader<Item>;
  #first: Promise<WithResponse<Page<Item>>> | undefined;

  /** @internal */
  constructor(name: string, open: (minSize: number) => ListReader<Item>) {
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
    this.#first ??= (async () => this.#open(1).first())();
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
      yield* this.#open(3).pages();
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
}

/** If the signal ends the wait, the request after it reports that. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const deadline = new Deadline({ signal });
  await deadline.sleep(ms).catch(() => {});
  deadline.finish();
}
