import { CrossBorderError, InvalidArgumentError } from "../../errors/errors.js";
import type { FlowCall } from "../flow-call.js";
import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { lookForPayment } from "../looking/look-for-payment.js";
import { wholeWaitLeftMs } from "../looking/wait-as-owner.js";
import type { OperatorDecision, StateOf } from "../state/flow-state.js";
import { frozenCopy } from "../state/frozen-copy.js";

type Refused = StateOf<"refused">;

/** Gives the money back, for a refusal that a look has confirmed, or because an operator decided it. */
export async function releaseFunds(context: FlowContext, owned: OwnedFlow, state: Refused): Promise<StepResult> {
  const { intent, senderGatewayTransactionId, refusal } = state;
  await assertStillRefused(context, owned, state);
  const release = { key: owned.lease.key, intent, senderGatewayTransactionId, refusal };
  const returned: unknown = await context.releaseFunds(frozenCopy(release));
  // What else it returns counts for nothing. Its type allows neither.
  if (returned === false) {
    throw new InvalidArgumentError(
      "releaseFunds returned false: it has to throw where the money was not given back. It is called again with the same key",
    );
  }
  return { state: { ...state, phase: "rejected" } };
}

/**
 * A refusal, or an operator's decision, may have outlived what came after it: a journal that failed over lost it, the payment was made, and then
 * the journal went back, or the write arrived only now. So who has taken the flow over, and can't tell that no other owner made a claim, waits
 * and looks again.
 *
 * @throws {LeaseLost} when another owner has the flow.
 */
async function assertStillRefused(context: FlowContext, owned: OwnedFlow, state: Refused): Promise<void> {
  const { lease, call } = owned;
  for (;;) {
    // An owner that stood still waits anew.
    if (await lease.retake()) owned.mustLook = true;
    if (!owned.mustLook || lease.knowsAllClaims) return;
    const leftMs = wholeWaitLeftMs(context, lease, state);
    if (leftMs > 0) {
      await call.pause(leftMs);
      continue;
    }
    await assertNotListed(context, call, state);
    owned.mustLook = false;
    // Only now: the next owner need not look for what this one has not seen.
    if (!isWithoutProof(state)) lease.noteKnowsAllClaims();
  }
}

/** What was decided without a proof needs none now, but a payment that is there is there. */
async function assertNotListed(context: FlowContext, call: FlowCall, state: Refused): Promise<void> {
  const looking = lookForPayment(context, call, state, "decides");
  if (!isWithoutProof(state)) {
    const { look, found } = await looking;
    if (found !== undefined || look.lookalike !== undefined || !look.complete) throw notGivenBack(look);
    return;
  }
  const seen = await looking.catch(() => undefined);
  if (seen?.found !== undefined) throw notGivenBack(seen.look);
}

function isWithoutProof({ refusal, decisions }: Refused): boolean {
  const isCarriedOut = ({ action, step }: OperatorDecision) =>
    action === "release" && (step === undefined || step === "approved");
  return refusal.by === "operator" && decisions.findLast(isCarriedOut)?.withoutProof === true;
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
    ? "the money is to be given back, and the payment is among the listed ones all the same: that is not done before an operator decides"
    : `the money is to be given back, and the payment may be there although it was not seen: ${problem}`;
  return new CrossBorderError(what, {
    code: isThere ? "flow_payment_found" : "flow_payment_unseen",
    effect: "possible",
  });
}
