import { counted } from "../../errors/counted.js";
import type { Payment } from "../../resources/payments.js";
import type { Claim, Look, LookGrounds } from "../state/flow-state.js";

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
  const unseen = incomplete.length === 0 ? "" : ` (${which} could not rule it out${why})`;
  const alike = looks.some(({ lookalike }) => lookalike !== undefined)
    ? "; a payment with the same transaction id is listed, and its signature or its content is another"
    : "";
  const grounds = looks.findLast((look) => look.complete && look.grounds !== undefined)?.grounds;
  const rests = grounds === undefined ? "" : `; the last complete one ${describeGrounds(grounds)}`;
  return `${counted(looks.length, "look")} at the list of payments did not find it${unseen}${alike}${rests}`;
}

/** Why looks that did not find a payment were no proof. */
export function describeShortLives(wholeMs: number): string {
  return `no process had it for the ${counted(Math.ceil(wholeMs / 1000), "second")} after which not finding the payment proves that there is none: those that did ended, or were stopped, before`;
}
/** What a look rests on, as the end of a sentence about it. */
export function describeGrounds({ mark, end, freshBy, ageSeconds, pastMarkMs = 0 }: LookGrounds): string {
  const after = mark === "met" ? `, ${Math.round(pastMarkMs / 1000)} s past it` : "";
  const parts = [
    marks[mark],
    `${ends[end]}${end === "enough" ? after : ""}`,
    freshBy === undefined
      ? "knew of no newer payment that would show how fresh the list was"
      : `saw payment ${freshBy}, which the process knew of`,
    ...(ageSeconds === undefined ? [] : [`got a response from a cache, ${ageSeconds} s old`]),
  ];
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

const marks: Readonly<Record<LookGrounds["mark"], string>> = {
  met: "met the newest payment from before the money was asked for",
  missed: "did not meet the newest payment from before the money was asked for",
  "no payment": "had no payment from before the money was asked for to meet",
  unknown: "had no mark from before the money was asked for",
};

const ends: Readonly<Record<LookGrounds["end"], string>> = {
  found: "found the payment",
  enough: "read back as far as the payment can lie",
  end: "read the list to its proved end",
  gap: "stopped where a page did not follow the one before it",
  unproved: "read a list that proves no end",
};
