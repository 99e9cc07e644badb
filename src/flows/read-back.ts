import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { type Payment, payments } from "../resources/payments.js";
import type { Look, StateOf } from "./flow-state.js";
import { paymentMatcher } from "./match-payment.js";
import { readPayments, tokenOf } from "./read-payments.js";

/** Paging token of the newest payment; `null` when there is none. The read-back of a later claim stops there. */
export async function newestPagingToken(client: ApiClient, options?: RequestOptions): Promise<string | null> {
  const paging = { _sort: "createdAt.desc", _size: 1 };
  const [newest] = await client.call(payments.list, [], { paging }, options);
  return tokenOf(newest) ?? null;
}

/** Looks for a claim's payment among the listed payments. */
export async function lookForPayment(
  client: ApiClient,
  state: StateOf<"unknown">,
  options?: RequestOptions,
): Promise<{ readonly look: Look; readonly found: Payment | undefined }> {
  const atMs = Date.now();
  const match = paymentMatcher(state);
  let found: Payment | undefined;
  let lookalike: Payment | undefined;
  const { seen, problem } = await readPayments(
    client,
    state.since,
    (payment) => {
      const kind = match(payment);
      if (kind === "own") found = payment;
      if (kind === "lookalike") lookalike ??= payment;
      return found !== undefined;
    },
    options,
  );
  const look = {
    atMs,
    claims: state.claims.length,
    seen,
    complete: problem === undefined,
    ...(problem === undefined ? undefined : { problem }),
    ...(lookalike === undefined ? undefined : { lookalike }),
  };
  return { look, found };
}
