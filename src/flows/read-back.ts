import type { ApiClient } from "../api/api-client.js";
import { PagingError } from "../errors/errors.js";
import { decimalNumeral, exact } from "../money.js";
import { compareTokens } from "../paging/cursor-order.js";
import { type Payment, Payments } from "../resources/payments.js";
import type { Claim, Look, StateOf } from "./flow-state.js";

const newestFirst = { sort: "createdAt.desc", size: 100 } as const;

/** Paging token of the newest payment; `null` when there is none. The read-back of a later claim stops there. */
export async function newestPagingToken(client: ApiClient): Promise<string | null> {
  const { items } = await new Payments(client).list({ ...newestFirst, size: 1 });
  return items[0]?.pagingToken ?? null;
}

/** Looks for a claim's payment among the newest payments, back to before the claim. */
export async function lookForPayment(
  client: ApiClient,
  state: StateOf<"unknown">,
): Promise<{ readonly look: Look; readonly found: Payment | undefined }> {
  const atMs = Date.now();
  const claims = state.claims.length;
  const byOtherMeans: Payment[] = [];
  let seen = 0;
  try {
    for await (const payment of new Payments(client).list(newestFirst)) {
      if (isBefore(payment, state.since)) break;
      seen += 1;
      // The signature depends on the bytes and the key alone: no other request has it.
      if (state.claims.some(({ signature }) => signature === payment.creationRequestSignatureBase64)) {
        return { look: { atMs, claims, seen }, found: payment };
      }
      if (matches(payment, state)) byOtherMeans.push(payment);
    }
  } catch (error) {
    if (!(error instanceof PagingError)) throw error;
    return { look: { atMs, claims, seen, problem: error.message }, found: undefined };
  }
  return { look: { atMs, claims, seen }, found: byOtherMeans[0] };
}

function isBefore({ pagingToken }: Partial<Payment>, since: string | null): boolean {
  return since !== null && typeof pagingToken === "string" && compareTokens(pagingToken, since) <= 0;
}

/** For services that store the signature or the body in another form than they received it. */
function matches(payment: Payment, { claims, senderGatewayTransactionId, intent }: StateOf<"unknown">): boolean {
  if (claims.some(({ body }: Claim) => body === payment.creationRequestBody)) return true;
  return (
    payment.senderGatewayTransactionId === senderGatewayTransactionId &&
    payment.senderGatewayId === intent.senderGatewayId &&
    payment.receiverAccount === intent.receiverAccount &&
    decimalNumeral.test(payment.receiverAmount) &&
    exact(payment.receiverAmount).eq(intent.receiverAmount)
  );
}
