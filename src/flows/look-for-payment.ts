import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import type { Payment } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { Look, StateOf } from "./flow-state.js";
import { paymentMatcher, type Recognisable } from "./match-payment.js";
import { readPayments } from "./read-payments.js";

/** What a look at the list of payments came to. */
export interface Sight {
  readonly look: Look;
  readonly found: Payment | undefined;
}

/**
 * Looks for a flow's payment among the listed payments.
 *
 * @param since the mark at which the search may end; `noMark` to read all of them.
 */
export async function lookForPayment(
  client: ApiClient,
  flow: Recognisable,
  since: string | null,
  options: RequestOptions,
): Promise<Sight> {
  const atMs = clock.wallMs();
  const match = paymentMatcher(flow);
  let found: Payment | undefined;
  let lookalike: Payment | undefined;
  const { seen, problem } = await readPayments(
    client,
    since,
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
    claims: flow.claims.length,
    seen,
    complete: problem === undefined,
    ...(problem === undefined ? undefined : { problem }),
    ...(found === undefined ? undefined : { found: true as const }),
    ...(lookalike === undefined ? undefined : { lookalike }),
  };
  return { look, found };
}

/** A mark tells when this flow was begun. An entry of the same key that was lost may be older, and so may its payment. */
const noMark = null;

/**
 * Where a look may end on whose absence something is decided: the flow's release, a new claim, an operator's decision.
 *
 * The mark was noted before the money was asked for, and that call said that it took the money of this key for the first time. A
 * payment needs the transaction's id, so no payment of the key, of whichever entry, can have been made before the mark. A journal that
 * was restored to before that has no `isTakenSince`, and an entry that was lost altogether is begun again with `replayed: true`.
 */
export function sureMark({ isTakenSince, since }: Pick<StateOf<"funds-requested">, "isTakenSince" | "since">) {
  return isTakenSince === true ? since : noMark;
}
