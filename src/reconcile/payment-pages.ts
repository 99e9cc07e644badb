import type { ApiClient } from "../api/api-client.js";
import type { SortTerm } from "../api/list-query.js";
import type { RequestOptions } from "../api/request-options.js";
import { UnexpectedResponseError } from "../errors/errors.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import { listRecords } from "../paging/listing.js";
import { type Payment, payments } from "../resources/payments.js";

export interface PaymentPagesQuery {
  readonly sort: readonly SortTerm<Payment>[];
  /** Only payments behind this token. */
  readonly after?: string | undefined;
  /** How many payments a page may have. */
  readonly size: number;
}

/**
 * Waits where a read can be tried again, and throws the error where it can't.
 *
 * @param failures how often the read failed in a row before.
 */
export type OnFailure = (error: unknown, failures: number) => Promise<void>;

/**
 * Reads payments page by page, with the checks of every list. After a failure it continues behind the last page that it gave. Pages get
 * smaller for as long as larger ones can't be read, which may be because they are too large.
 *
 * @throws {PagingError} when going on would lose or repeat payments.
 */
export async function* readPaymentPages(
  client: ApiClient,
  { sort, after, size }: PaymentPagesQuery,
  options: RequestOptions,
  onFailure: OnFailure,
): AsyncGenerator<readonly Payment[], void, undefined> {
  const bound = sort[0]?.endsWith(".desc") ? "before" : "after";
  let position = after;
  let fitting = size;
  let failures = 0;
  for (;;) {
    let isGrowing = false;
    try {
      const query = { sort, size: fitting, ...(position !== undefined && { [bound]: position }) };
      for await (const { items } of listRecords(client, payments.list, [], query, options).pages()) {
        failures = 0;
        position = nonEmptyText(items.at(-1)?.pagingToken) ?? position;
        yield items;
        isGrowing = fitting < size;
        if (isGrowing) break;
      }
      if (!isGrowing) return;
      fitting = Math.min(size, 2 * fitting);
    } catch (error) {
      if (error instanceof UnexpectedResponseError && fitting > 1) {
        fitting = Math.ceil(fitting / 10);
        continue;
      }
      await onFailure(error, failures);
      failures += 1;
    }
  }
}
