import { InvalidArgumentError } from "../../errors/errors.js";
import { type CheckTable, parseOptions } from "../../options/option-table.js";
import type { Payment } from "../../resources/payments.js";
import type { FlowState, Look, OperatorDecision, StateOf } from "./flow-state.js";
import { sha256Hex } from "./sha256.js";
import { writeJson, writeSortedJson } from "./write-json.js";

/** A flow's key and what operators did about it, as `details`, `held` and outcomes have them, or the kept evidence of a flow. */
export interface DecidedFlow {
  readonly key: string;
  readonly decisions?: readonly OperatorDecision[] | undefined;
  /** As which the flow was settled, as outcomes have it: compared with the record that was given with an approved proposal. */
  readonly payment?: unknown;
}

/** What decisions have to be. */
export interface VerifyDecisionsOptions {
  /** 2: each decision that was carried out has to have been approved by another person than proposed it. Default: 1. */
  readonly people?: 1 | 2 | undefined;
}

/** What `verifyDecisions` found. */
export interface DecisionsReport {
  /** Whether each decision carries the hash of the one before it, and may follow that one. */
  readonly isIntact: boolean;
  /**
   * The SHA-256 of each decision, in hex. Compare them with what you kept elsewhere, the `hash` that `propose` and `refuse` returned and the
   * last of these of `approve`'s outcome: whoever can write to the journal can also write a whole chain anew, or leave out its end.
   */
  readonly hashes: readonly string[];
  /** How many of the first ones are of release 0.2.0 and carry no hash. The next one covers them. */
  readonly unchained: number;
  /** What is wrong, if anything is. */
  readonly problem?: string;
}

/**
 * Checks that no decision about a flow was changed, left out or put in before another one was stored: each carries the SHA-256 of the one
 * before it, and the first that of the flow's key. Nothing carries that of the last one: compare `hashes`. Reads nothing but its argument.
 *
 * It also checks what a chain that was written anew has to keep to: an approval follows a proposal of the same, by another person (names are
 * compared as `approve` compares them), and is no earlier; a refusal follows a proposal; and the record with which an approved `found` was
 * proposed is the `payment`, where that is given.
 *
 * @throws {InvalidArgumentError} for an option that is wrong.
 */
export function verifyDecisions(
  { key, decisions = [], payment }: DecidedFlow,
  options: VerifyDecisionsOptions = {},
): DecisionsReport {
  const { people } = parseOptions(verifyOptions, options, "the options of verifyDecisions", refuseOptions);
  const wrongAt = Array.isArray(decisions) ? decisions.findIndex((one) => !isDecision(one)) : 0;
  if (wrongAt !== -1) {
    return { isIntact: false, hashes: [], unchained: 0, problem: `decision ${wrongAt + 1} is not what a flow stores` };
  }
  const first = decisions.findIndex(({ previous }) => previous !== undefined);
  const unchained = first === -1 ? decisions.length : first;
  const hashes: string[] = [];
  let problem: string | undefined;
  let before = chainStart(key);
  for (const [index, decision] of decisions.entries()) {
    const isLinked = decision.previous === before || (index < unchained && decision.step === undefined);
    if (!isLinked) problem ??= `decision ${index + 1} does not carry the hash of what stood before it`;
    const wrong = problemOf(decision, decisions[index - 1], people === 2);
    if (wrong !== undefined) problem ??= `decision ${index + 1} ${wrong}`;
    before = decisionHash(decision);
    hashes.push(before);
  }
  if (!isGivenRecord(decisions, payment)) problem ??= "the flow was settled with another record than was proposed";
  return { isIntact: problem === undefined, hashes, unchained, ...(problem !== undefined && { problem }) };
}

const verifyOptions: CheckTable<VerifyDecisionsOptions> = {
  people: { accepts: (value) => value === 1 || value === 2, wanted: "1 or 2" },
};

/** What is checked was maybe written by somebody else. */
function isDecision(value: unknown): boolean {
  const { action, by, why, atMs, payment } = Object(value) as Readonly<Record<string, unknown>>;
  const isGiven =
    payment === undefined || typeof payment === "string" || (typeof payment === "object" && payment !== null);
  return [action, by, why].every((text) => typeof text === "string") && typeof atMs === "number" && isGiven;
}

const refuseOptions = (message: string): InvalidArgumentError =>
  new InvalidArgumentError(`verifyDecisions: ${message}`);

/** Why a decision can't have been stored after the one before it. */
function problemOf(
  decision: OperatorDecision,
  before: OperatorDecision | undefined,
  isPairNeeded: boolean,
): string | undefined {
  const { step, action, by, saw } = decision;
  if (step === undefined) return isPairNeeded ? `was made by ${JSON.stringify(by)} alone` : undefined;
  if (before !== undefined && !(decision.atMs >= before.atMs)) return "is of an earlier time than the one before it";
  const isProposed = before?.step === "proposed";
  if (step === "proposed") {
    if (typeof saw?.hash !== "string") return "does not say what its proposer saw";
    return isProposed && before.saw?.hash === saw.hash ? "was proposed while another proposal waited" : undefined;
  }
  if (step !== "approved" && step !== "refused") return "is neither a proposal nor an approval nor a refusal";
  if (!isProposed) return `is ${step}, and follows no proposal`;
  if (before.action !== action) return `is another than was proposed: ${action} in place of ${before.action}`;
  if (step === "refused") return undefined;
  if (before.withoutProof !== decision.withoutProof)
    return "was approved with proof, and proposed without, or the other way";
  return isSamePerson(before.by, by) ? `was approved by who proposed it, ${JSON.stringify(by)}` : undefined;
}

/** Whether the flow was settled with the record that was approved, as far as it is known. */
function isGivenRecord(decisions: readonly OperatorDecision[], payment: unknown): boolean {
  const [proposal, last] = decisions.slice(-2);
  if (typeof payment !== "object" || payment === null || last?.step !== "approved") return true;
  const given = proposal && withoutRecord(proposal).payment;
  return given === undefined || given === sha256Hex(writeSortedJson(payment));
}

/**
 * The decisions with one more, which carries the hash of the last, and is of no earlier time, whatever its clock says. Records that were given
 * with earlier ones are hashes from now on: the flow has that as which it is settled.
 */
export function withDecision(
  key: string,
  decisions: readonly OperatorDecision[],
  decision: Omit<OperatorDecision, "previous">,
): readonly OperatorDecision[] {
  const last = decisions.at(-1);
  const previous = last === undefined ? chainStart(key) : decisionHash(last);
  const atMs = Math.max(decision.atMs, last?.atMs ?? decision.atMs);
  return [...decisions.map(withoutRecord), { ...decision, atMs, previous }];
}

function chainStart(key: string): string {
  return sha256Hex(JSON.stringify({ key }));
}

/** A given payment's record counts by its own hash, which is what stays of it in the evidence. */
export function decisionHash(decision: OperatorDecision): string {
  const { saw, ...rest } = withoutRecord(decision);
  return sha256Hex(writeJson(byName({ ...rest, ...(saw && { saw: byName(saw) }) })));
}

/** The same for the same content, however it was put together: some databases keep the fields of JSON in an order of their own. */
function byName(fields: object): readonly (readonly [string, unknown])[] {
  return Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** A decision without what is personal in it. */
export function withoutRecord({ payment, ...decision }: OperatorDecision): OperatorDecision {
  if (payment === undefined) return decision;
  return { ...decision, payment: typeof payment === "string" ? payment : sha256Hex(writeSortedJson(payment)) };
}

/** The proposal that waits for another person: whatever comes after it ends it. */
export function openProposal(state: FlowState): OperatorDecision | undefined {
  const last = decisionsOf(state).at(-1);
  return last?.step === "proposed" ? last : undefined;
}

/** The proposals that nobody approved, and that can't be approved any more once there is another one. */
export function endedProposals(decisions: readonly OperatorDecision[]): readonly OperatorDecision[] {
  return decisions.filter(({ step }, index) => step === "proposed" && decisions[index + 1]?.step !== "approved");
}

/** The record that was given with a proposal. */
export function proposedPayment({ payment }: OperatorDecision): Payment | undefined {
  return typeof payment === "string" ? undefined : payment;
}

export function decisionsOf(state: FlowState): readonly OperatorDecision[] {
  return (state as Partial<StateOf<"held">>).decisions ?? [];
}

/**
 * A hash of what there is to see of a flow. It stays the same while a step fails again and again, and whatever is proposed or refused:
 * somebody who decides has seen the same flow as long as the hash is the same.
 */
export function seenHash(state: FlowState): string {
  const {
    failures: _,
    history: __,
    waits: ___,
    askedWait: ____,
    progressEpoch: _____,
    leaseMs: ______,
    looks,
    ...seen
  } = state as FlowState & Partial<StateOf<"unknown">>;
  const decided = decisionsOf(state).filter(({ step }) => step === undefined || step === "approved");
  return sha256Hex(writeJson({ ...seen, looks: looks?.map(toSee), decisions: decided }));
}

/** A stuck flow repeats a look that could not rule the payment out, and keeps the last one: when that was, and how old a cache, only counts. */
function toSee(look: Look): Partial<Look> {
  const { complete, lookalike, claims, problem, grounds } = look;
  if (complete || lookalike !== undefined) return look;
  return { claims, problem: grounds?.ageSeconds === undefined ? (problem ?? "") : "it came from a cache" };
}

/** Whether two names are one person's. */
export function isSamePerson(one: string, other: string): boolean {
  return foldedName(one) === foldedName(other);
}

/** Without what nobody sees: spaces at its ends, double spaces, marks that have no look of their own, case, and forms of the same letter. */
export function foldedName(name: string): string {
  // What is ignored keeps letters from being composed.
  const visible = name.replace(unseen, "").normalize("NFKC");
  // The capital of some letters is written with two, and the small one of such a capital is another letter.
  const folded = visible.toLowerCase().toUpperCase().toLowerCase().normalize("NFKC");
  return folded.replace(/[\s\u2800]+/g, " ").trim();
}

/** Tabs and ends of lines are spaces. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?!\s)\p{Cc}/gu;
