import { clock } from "../core/clock.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPlainObject, isPositiveInteger, isText, parseOptions } from "../core/parse.js";
import type { Payment } from "../resources/payments.js";
import type { Decision, Resolution } from "./core/state.js";
import type { ResolveAction } from "./outcome.js";

/** An operator's decision about a held flow, for the record. */
export interface FlowResolution {
  /** Who decides, in 200 characters or fewer. */
  readonly by: string;
  /** Why, in 2,000 characters or fewer. */
  readonly why: string;
  /** `revision` of the flow that you saw. The decision is refused if the flow has changed since. `propose` requires it. */
  readonly revision?: number | undefined;
  /** For `found` only. The service's record of the payment, if the list doesn't show it. */
  readonly payment?: Payment | undefined;
  /** Decides even if the list can't be read completely or shows a possible match. For `release` and `resend` only. By default, false. */
  readonly withoutProof?: boolean | undefined;
}

/** Who approves or refuses a proposal. */
export interface FlowApproval {
  /** The approver must be another person than the proposer. Names are compared without case and outer spaces. */
  readonly by: string;
  /** `revision` of the flow as it was seen, with the proposal. */
  readonly revision: number;
}

const maxBy = 200;
export const maxWhy = 2000;

const isTextOf = (max: number) => (value: unknown) =>
  isText(value) && String(value).trim() !== "" && String(value).length <= max;

const by = {
  accepts: isTextOf(maxBy),
  isRequired: true,
  expected: `who decides, in ${maxBy} characters or fewer`,
} as const;

const revision = {
  accepts: isPositiveInteger,
  expected: "the revision that status, details, or held gave",
} as const;

export const resolutionOptions: CheckTable<FlowResolution> = {
  by,
  why: {
    accepts: isTextOf(maxWhy),
    isRequired: true,
    expected: `why it is decided, in ${maxWhy} characters or fewer`,
  },
  revision,
  payment: {
    accepts: isPlainObject,
    expected: "the service's record of the payment",
  },
  withoutProof: {
    accepts: isBoolean,
    expected: "true or false",
  },
};

const approvalOptions: CheckTable<FlowApproval> = { by, revision: { ...revision, isRequired: true } };

const actions: readonly ResolveAction[] = ["found", "release", "resend"];

/** @throws {InvalidArgumentError} that names what is missing or wrong. */
export function readResolution(
  operation: "resolve" | "propose",
  action: ResolveAction,
  given: FlowResolution,
): { readonly decision: Decision; readonly revision: number | undefined } {
  const refuse = refusing(operation);
  if (!actions.includes(action)) throw refuse('the action must be "found", "release", or "resend"');
  const read = parseOptions<FlowResolution>(resolutionOptions, given ?? {}, "the decision", refuse);
  const { payment, withoutProof, why } = read;
  if (payment !== undefined && action !== "found") throw refuse(`payment is for "found" only, not for "${action}"`);
  if (withoutProof && action === "found") throw refuse('withoutProof is for "release" and "resend" only');
  const proof = payment ? { payment: structuredClone(payment) } : withoutProof && { withoutProof };
  return { decision: { action, by: read.by.trim(), why, atMs: clock.wallMs(), ...proof }, revision: read.revision };
}

/** @throws {InvalidArgumentError} that names what is missing or wrong. */
export function readProposal(
  action: ResolveAction,
  given: FlowResolution,
): Extract<Resolution, { readonly step: "propose" }> {
  const { decision, revision } = readResolution("propose", action, given);
  if (revision === undefined) throw refusing("propose")(`revision must be ${approvalOptions.revision.expected}`);
  return { step: "propose", decision, revision };
}

/** @throws {InvalidArgumentError} that names what is missing or wrong. */
export function readApproval(step: "approve" | "refuse", given: FlowApproval): Resolution {
  const read = parseOptions<FlowApproval>(approvalOptions, given ?? {}, "the decision", refusing(step));
  return { step, by: read.by.trim(), revision: read.revision };
}

function refusing(operation: string): (message: string) => InvalidArgumentError {
  return (message) => new InvalidArgumentError(`${operation}: ${message}`);
}
