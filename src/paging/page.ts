import type { Direction } from "./cursor-order.js";

/** One page of a list. */
export class Page<Item> {
  /** The page's records, as the service sent them. */
  readonly items: readonly Item[];
  readonly #next: () => string | undefined;
  readonly #direction: Direction;

  /** @internal */
  constructor(items: readonly Item[], next: () => string | undefined, direction: Direction) {
    this.items = items;
    this.#next = next;
    this.#direction = direction;
  }

  /**
   * The cursor of the next page; `undefined` when there is none. It can be stored: a later `list({ ...query, after: next })`
   * continues from here. In a descending list it is `before: next`; `nextQuery` knows which.
   *
   * A page of records without paging tokens has no cursor, whether it is the last or not: iterating the list tells.
   *
   * A page of one record shows no order, so its cursor is given unproved. Iterating looks for the records that it would skip, and
   * throws. A caller that requests page after page by this cursor loses them, if the service lists in another order than that of the
   * tokens. Ask for more than one record then, or iterate.
   *
   * @throws {PagingError} when continuing from this page would lose or repeat records, or can't be requested.
   */
  get next(): string | undefined {
    return this.#next();
  }

  /** The cursor as the part of a query that it is: `list({ ...query, ...page.nextQuery })`. `undefined` at the end, and as sound as `next`. */
  get nextQuery(): { readonly after: string } | { readonly before: string } | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    return this.#direction === "up" ? { after: next } : { before: next };
  }
}
