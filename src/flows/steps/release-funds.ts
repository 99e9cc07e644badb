import { CrossBorderError } from "../../errors/errors.js";
import { clock } from "../../timing/clock.js";
import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { lookForPayment } from "../looking/look-for-payment.js";
import { longestLeaseMs, reliedOnLagMs } from "../looking/wait-as-owner.js";
import type { StateOf } from "../state/flow-state.js";
import { frozenCopy } from "../state/frozen-copy.js";

type Refused = StateOf<"refused">;

/** Gives the money back, for a refusal that was looked behind, or because an operator decided it. */
export async function releaseFunds(context: FlowContext, owned: OwnedFlow, state: Refused): Promise<StepResult> {
  const { intent, senderGatewayTransactionId, refusal } = state;
  await assertStillRefused(context, owned, state);
  const release = { key: owned.lease.key, intent, senderGatewayTransactionId, refusal };
  await context.releaseFunds(frozenCopy(release));
  return { state: { ...state, phase: "rejected" } };
}

/**
 * A refusal may have outlived what came after it: a journal that failed over lost it, another owner sent the payment, and then the journal
 * went back to it, or its write arrived only now. So whoever can't tell that no other owner made a claim waits and looks again.
 *
 * @throws {LeaseLost} when another owner has the flow.
 */
async function assertStillRefused(context: FlowContext, owned: OwnedFlow, state: Refused): Promise<void> {
  const { lease, call } = owned;
  await lease.retake();
  while (state.refusal.by === "service" && !lease.knowsAllClaims) {
    const aloneMs = longestLeaseMs(context, state.claims) + reliedOnLagMs(context);
    await call.pause(Math.max(0, lease.ownedSinceMs + aloneMs - clock.monotonicMs()));
    // An owner that stood still meanwhile waits anew.
    if (await lease.retake()) continue;
    const { look, found } = await lookForPayment(context, call, state, "decides");
    if (found !== undefined || look.lookalike !== undefined || !look.complete) throw notGivenBack(look);
    // Only now: the next owner need not look for what this one has not seen.
    lease.noteKnowsAllClaims();
  }
}

/** The money may have been given back by then, so that only an operator can settle it. */
function notGivenBack({
  found,
  lookalike,
  problem,
}: {
  readonly found?: true;
  readonly lookalike?: unknown;
  readonly problem?: string;
}) {
  const isThere = found === true || lookalike !== undefined;
  const what = isThere
    ? "the payment was refused, and is among the listed ones all the same: the money is not given back before an operator decides"
    : `the payment was refused, and may be there although it was not seen: ${problem}`;
  return new CrossBorderError(what, {
    code: isThere ? "flow_payment_found" : "flow_payment_unseen",
    effect: "possible",
  });
}
