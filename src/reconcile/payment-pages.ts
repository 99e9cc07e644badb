import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { UnexpectedResponseError } from "../errors/errors.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import { ListPosition } from "../paging/list-position.js";
import { Listing } from "../paging/listing.js";
import { type Payment, payments } from "../resources/payments.js";

export interface PaymentPagesQuery {
  /** Only payments after this token. */
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

const sort = ["pagingToken.asc"] as const;

/**
 * Reads payments page by page, in the order of their tokens, with the checks of every list. After a failure it continues where it was, with the last payment shown again
 * as far as that has to prove the end. Pages get smaller for as long as larger ones can't be read, which may be because they are too large.
 *
 * @throws {PagingError} when going on would lose or repeat payments.
 */
export async function* readPaymentPages(
  client: ApiClient,
  { after, size }: PaymentPagesQuery,
  options: RequestOptions,
  onFailure: OnFailure,
): AsyncGenerator<readonly Payment[], void, undefined> {
  const position = new ListPosition("up", ({ pagingToken }: Payment) => nonEmptyText(pagingToken));
  let fitting = size;
  let failures = 0;
  for (;;) {
    let isGrowing = false;
    try {
      const query = { sort, size: fitting, after };
      for await (const { items } of new Listing(client, payments.list, [], query, options, position).pages()) {
        failures = 0;
        yield items;
        isGrowing = fitting < size;
        if (isGrowing) break;
      }
      if (!isGrowing) return;
      fitting = Math.min(size, 2 * fitting);
    } catch (error) {
      if (error instanceof UnexpectedResponseError && fitting > 1) {
        fitting = Math.ceil(fitting / 10);
        position.narrow(fitting);
        continue;
      }
      await onFailure(error, failures);
      failures += 1;
    }
  }
}
