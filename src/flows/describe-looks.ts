import { counted } from "../errors/counted.js";
import type { Payment } from "../resources/payments.js";
import type { Claim, Look } from "./flow-state.js";

/** The lookalike that nobody has decided about: what was seen before the newest request was sent was decided about when it was sent. */
export function undecidedLookalike(looks: readonly Look[], claims: readonly Claim[]): Payment | undefined {
  return looks.findLast((look) => look.claims === claims.length && look.lookalike !== undefined)?.lookalike;
}

/** What the looks for a payment came to that was not found, for the reason of a held flow. */
export function describeLooks(looks: readonly Look[]): string {
  const incomplete = looks.filter(({ complete }) => !complete);
  const problem = incomplete.at(-1)?.problem;
  const why = problem === undefined ? "" : `: ${problem}`;
  const which = looks.length === 1 ? "it" : `${incomplete.length} of them`;
  const unseen = incomplete.length === 0 ? "" : ` (${which} could not see all payments${why})`;
  const alike = looks.some(({ lookalike }) => lookalike !== undefined)
    ? "; a payment with the same transaction id is listed, and its signature or its content is another"
    : "";
  return `${counted(looks.length, "look")} at the list of payments did not find it${unseen}${alike}`;
}
