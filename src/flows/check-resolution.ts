import { InvalidArgumentError } from "../errors/errors.js";
import { isBoolean, isText, type OptionTable, parseOptions } from "../options/option-table.js";
import type { Payment } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { OperatorDecision, ResolveAction } from "./state/flow-state.js";
import { frozenCopy } from "./state/frozen-copy.js";
import { writeJson } from "./state/write-json.js";

/** An operator's decision about a flow that is held or stuck, for the record. `payment` is accepted for `found` only. */
export type Resolution<Action extends ResolveAction = ResolveAction> = {
  /** Who decides, in 200 characters or fewer. */
  readonly by: string;
  /** On what grounds, in 2,000 characters or fewer. */
  readonly why: string;
  /** `seen` of the flow's details as they were looked at: the decision is refused where there is more to see by now. */
  readonly seen?: string | undefined;
} & ([Action] extends ["found"]
  ? {
      /** The service's record of the payment, as JSON of 256 KiB or less. Without it, the payment is looked for once more. */
      readonly payment?: Payment | undefined;
    }
  : {
      readonly payment?: undefined;
      /**
       * Decides even if the look for the payment, which comes first, can't see every payment, or sees one that only looks like it.
       * Default: false.
       */
      readonly withoutProof?: boolean | undefined;
    });

export interface CheckedResolution {
  readonly decision: Omit<OperatorDecision, "previous">;
  readonly seen?: string | undefined;
  readonly payment: Payment | undefined;
  readonly withoutProof: boolean;
}

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkResolution(
  action: ResolveAction,
  resolution: Resolution | Resolution<"found">,
  operation: "resolve" | "propose" = "resolve",
): CheckedResolution {
  const refuse = refusalOf(operation);
  if (action !== "found" && action !== "release" && action !== "resend") {
    throw refuse('the action must be "found", "release" or "resend"');
  }
  const given = parseOptions(resolutionOptions, resolution ?? {}, "the decision", refuse) as unknown as GivenResolution;
  const { payment, withoutProof = false, seen, ...stated } = given;
  if (payment !== undefined && action !== "found") {
    throw refuse(`a payment can be given for "found" only, not for "${action}"`);
  }
  if (withoutProof && action === "found") throw refuse('withoutProof is for "release" and "resend" only');
  // Whatever else an operator states is kept with the flow.
  stated satisfies Pick<OperatorDecision, keyof typeof stated>;
  const decision = { action, ...stated, atMs: clock.wallMs(), ...(withoutProof ? { withoutProof } : undefined) };
  return { decision, seen, payment: frozenCopy(payment), withoutProof };
}

/** All that can be given, whatever the action. */
export type GivenResolution = Omit<Resolution, "payment"> & Pick<Resolution<"found">, "payment">;

/** All decisions about a flow stay with it, and each of its states is stored whole. */
export const mostWhy = 2000;
const mostBy = 200;
const mostPaymentBytes = 256 * 1024;

const isTextOf = (most: number) => (value: unknown) => isText(value) && String(value).length <= most;

/** Who decides, and on what grounds. */
export const grounds = {
  by: {
    accepts: isTextOf(mostBy),
    isRequired: true,
    wanted: `who decides, in ${mostBy} characters or fewer`,
    documentation: "who decides",
  },
  why: {
    accepts: isTextOf(mostWhy),
    isRequired: true,
    wanted: `on what grounds it is decided, in ${mostWhy} characters or fewer`,
    documentation: "on what grounds",
  },
} as const;

export const resolutionOptions: OptionTable<GivenResolution> = {
  ...grounds,
  payment: {
    accepts: isRecord,
    wanted: `the service's record of the payment, as JSON of ${mostPaymentBytes} bytes or fewer`,
    documentation: "the service's record of the payment",
  },
  withoutProof: {
    accepts: isBoolean,
    wanted: "true or false",
    documentation: "decides although the payment can't be seen",
  },
  seen: { accepts: isText, wanted: "what `details` has as `seen`", documentation: "what was looked at" },
};

function isRecord(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return new TextEncoder().encode(writeJson(value)).length <= mostPaymentBytes;
  } catch {
    return false;
  }
}

/** Makes the error of a message about what an operation was given. */
export function refusalOf(operation: string): (message: string) => InvalidArgumentError {
  return (message) => new InvalidArgumentError(`${operation}: ${message}`);
}
