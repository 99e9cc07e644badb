import type { OperatorDecision, ResolveAction } from "./state/flow-state.js";

/** What an operator has to know of a decision before they make it. */
export interface DecisionEffect {
  /** On what grounds it may be decided. */
  readonly evidence: string;
  readonly does: string;
  /** What follows once it is stored. */
  readonly follows: string;
}

const listed =
  "the payment is looked for once more, when its request can no longer be sent; if it is there, nothing is stored";

export const decisionEffects: Readonly<Record<ResolveAction, DecisionEffect>> = {
  found: {
    evidence:
      "the service's own record of the payment: found in its list, or given, with this flow's signature, body or transaction id",
    does: "the flow is settled as paid, with that record",
    follows: "nothing: the money stays taken",
  },
  release: {
    evidence:
      "the word of the service's operators that the payment was not made and will not be; that it is not listed proves nothing",
    does: listed,
    follows: "the program that runs these flows calls releaseFunds, which gives the money back",
  },
  resend: {
    evidence:
      "the word of the service's operators that the payment was not made, and will not be by the requests that were sent; that it is not listed proves nothing",
    does: listed,
    follows: "the program that runs these flows calls takeFunds again, looks once more, and sends the same bytes again",
  },
};

/** What all who show a decision show beside this, and what none does: hashes, and a record, whose names and accounts are personal. */
type ShownOtherwise = "step" | "by" | "atMs" | "saw" | "payment" | "previous";

/** What was decided, and on what grounds. */
export function describeDecision({ action, why, withoutProof, ...more }: OperatorDecision): readonly [string, string] {
  // Does not compile where a decision has what is not shown.
  more satisfies Pick<OperatorDecision, ShownOtherwise> &
    Readonly<Record<Exclude<keyof typeof more, ShownOtherwise>, never>>;
  return [`${action}${withoutProof ? ", without proof," : ""}`, why];
}
