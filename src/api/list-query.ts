/** `field.asc` or `field.desc`, for the record's fields. */
export type SortTerm<Record> = `${keyof Record & string}.${"asc" | "desc"}`;

/** Paging, sorting and filtering of a list (description: "Common rules"). */
export interface ListQuery<Item, Filter> {
  /** `_size`: how many records a page may have. The service may have a maximum of its own, which is not shown. */
  readonly size?: number | undefined;
  /** `_after`: only records whose paging token is above this one. */
  readonly after?: string | undefined;
  /** `_before`: only records whose paging token is below this one. */
  readonly before?: string | undefined;
  /** `_sort`: one term, or several in order. */
  readonly sort?: SortTerm<Item> | readonly SortTerm<Item>[] | undefined;
  /** Only records whose fields have these values. */
  readonly filter?: Filter | undefined;
  /** Gives the paging token of a record that has no `pagingToken`. Without it such lists end after one page, with a `PagingError`. */
  readonly cursor?: ((record: Item) => string) | undefined;
  /** Asks for the next page while the records of this one are being dealt with. What is asked for ahead is dropped on `break`. Default: false. */
  readonly prefetch?: boolean | undefined;
  /** Goes on although the paging tokens do not follow the sort order. Records can then be missed or come twice. */
  readonly trustCursor?: boolean | undefined;
}
