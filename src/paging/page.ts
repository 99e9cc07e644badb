import type { PagingError } from "../core/errors.js";

/** A list is read up with `_after`, or down with `_before`. */
export type Direction = "up" | "down";

/** One page of a list. Iterate it for its records. */
export class Page<Item> implements Iterable<Item> {
  /** The page's records, as the service sent them. */
  readonly items: readonly Item[];
  readonly #direction: Direction;
  readonly #next: string | PagingError | undefined;

  /**
   * @param next the token to continue from, or why a list can't be continued from this page.
   * @internal
   */
  constructor(items: readonly Item[], direction: Direction, next?: string | PagingError) {
    this.items = items;
    this.#direction = direction;
    this.#next = next;
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.items[Symbol.iterator]();
  }

  /**
   * The paging token to continue from, which you can store. Pass it as `after`, or as `before` in a descending list. `nextQuery`
   * knows which. It's `undefined` if the records have no paging tokens or the page is empty. A token doesn't mean that there is
   * another page.
   *
   * @throws {PagingError} if a second page could skip or repeat records.
   */
  get next(): string | undefined {
    if (this.#next instanceof Error) throw this.#next;
    return this.#next;
  }

  /** The same as part of a query. Spread it into the next one, as in `list({ ...query, ...page.nextQuery })`. */
  get nextQuery(): { readonly after: string } | { readonly before: string } | undefined {
    const { next } = this;
    if (next === undefined) return undefined;
    return this.#direction === "up" ? { after: next } : { before: next };
  }
}
