import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import type { FlowState, StateOf, UnsettledPhase } from "../state/flow-state.js";
import { readBack } from "./read-back.js";
import { releaseFunds } from "./release-funds.js";
import { requestFunds } from "./request-funds.js";
import { sendClaim } from "./send-claim.js";

type Step<P extends UnsettledPhase> = (
  context: FlowContext,
  owned: OwnedFlow,
  state: StateOf<P>,
) => Promise<StepResult>;

/** What follows each state. If a step throws, the state stays as it is in the journal, and the step is taken again later. */
const steps: { readonly [P in UnsettledPhase]: Step<P> } = {
  "funds-requested": requestFunds,
  claimed: sendClaim,
  unknown: readBack,
  refused: releaseFunds,
};

export function takeStep(context: FlowContext, owned: OwnedFlow, state: StateOf<UnsettledPhase>): Promise<StepResult> {
  // The phase picks the step, and with it the state's type; the compiler can't follow that through the table.
  const step = steps[state.phase] as (context: FlowContext, owned: OwnedFlow, state: FlowState) => Promise<StepResult>;
  return step(context, owned, state);
}
