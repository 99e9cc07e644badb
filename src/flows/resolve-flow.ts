import { InvalidArgumentError } from "../errors/errors.js";
import type { Payment } from "../resources/payments.js";
import { Deadline } from "../timing/deadline.js";
import { now } from "../timing/timestamp.js";
import { driveFlow } from "./drive-flow.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import type { FlowState, OperatorDecision, ResolveAction, StateOf } from "./flow-state.js";
import { Lease, LeaseLost } from "./lease.js";
import { lookForPayment } from "./read-back.js";
import { makeClaim } from "./send-claim.js";

/** An operator's decision about a held flow, for the record. `payment` is accepted for `found` only. */
export type Resolution<Action extends ResolveAction = ResolveAction> = {
  /** Who decides. */
  readonly by: string;
  /** On what grounds. */
  readonly why: string;
} & ([Action] extends ["found"]
  ? {
      /** The service's record of the payment. Without it, the payment is looked for once more. */
      readonly payment?: Payment | undefined;
    }
  : { readonly payment?: undefined });

/** A resolution whose action and grounds are in order. */
export interface CheckedResolution {
  readonly decision: OperatorDecision;
  readonly payment: Payment | undefined;
}

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkResolution(
  action: ResolveAction,
  resolution: Resolution | Resolution<"found">,
): CheckedResolution {
  if (action !== "found" && action !== "release" && action !== "resend") {
    throw new InvalidArgumentError('resolve: the action must be "found", "release" or "resend"');
  }
  const { by, why, payment } = resolution ?? {};
  if (typeof by !== "string" || by === "" || typeof why !== "string" || why === "") {
    throw new InvalidArgumentError("resolve needs { by, why }: who decides, and on what grounds");
  }
  if (payment !== undefined && action !== "found") {
    throw new InvalidArgumentError(`resolve: a payment can be given for "found" only, not for "${action}"`);
  }
  return { decision: { action, by, why, atMs: Date.now() }, payment };
}

/** See `PaymentFlow.resolve`. */
export async function resolveFlow(
  context: FlowContext,
  key: string,
  { decision, payment }: CheckedResolution,
): Promise<FlowOutcome> {
  const { journal, codec, leaseRequest } = context;
  const askedAt = now();
  const entry = await journal.acquire(key, leaseRequest);
  if (entry === undefined) throw notHeld(key, "there is no such flow, or another process is running it");
  const lease = new Lease(journal, entry, leaseRequest.leaseMs, askedAt);
  const deadline = new Deadline({});
  try {
    const state = await codec.decode(entry);
    if (state.phase !== "held") throw notHeld(key, `it is ${state.phase}`);
    const held = { ...state, decisions: [...state.decisions, decision] };
    const decided = await decide(context, lease, held, decision, payment);
    await lease.write(await codec.encode(decided));
    return toOutcome(key, await driveFlow(context, { lease, deadline }, decided));
  } catch (error) {
    if (error instanceof LeaseLost) throw notHeld(key, "another process took it over");
    throw error;
  } finally {
    deadline.finish();
    await lease.end();
  }
}

async function decide(
  { client }: FlowContext,
  lease: Lease,
  state: StateOf<"held">,
  { action, why }: OperatorDecision,
  payment: Payment | undefined,
): Promise<FlowState> {
  switch (action) {
    case "release":
      return { ...state, phase: "refused", refusal: { by: "operator", code: "released", message: why } };
    case "resend":
      return { ...state, phase: "claimed", ...(await makeClaim(lease, state.claim, state.claims)) };
    case "found":
      if (payment !== undefined) assertOwnPayment(payment, state);
      return { ...state, phase: "paid", payment: payment ?? (await findPayment(client, state)) };
  }
}

async function findPayment(client: FlowContext["client"], state: StateOf<"held">): Promise<Payment> {
  const { found } = await lookForPayment(client, { ...state, phase: "unknown" });
  if (found !== undefined) return found;
  throw new InvalidArgumentError(
    "resolve: the payment is not among the listed ones; if you have its record, pass it as `payment`",
    { code: "flow_payment_not_found" },
  );
}

function assertOwnPayment(payment: Payment, { claims, senderGatewayTransactionId }: StateOf<"held">): void {
  const isOwn =
    claims.some(({ signature }) => signature === payment?.creationRequestSignatureBase64) ||
    payment?.senderGatewayTransactionId === senderGatewayTransactionId;
  if (isOwn) return;
  throw new InvalidArgumentError(
    "resolve: the given payment has neither this flow's signature nor its senderGatewayTransactionId",
    { code: "flow_payment_not_found" },
  );
}

function notHeld(key: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} can't be resolved: ${why}`, {
    code: "flow_not_held",
  });
}
