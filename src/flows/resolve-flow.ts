import { CrossBorderError, type ErrorCode, InvalidArgumentError } from "../errors/errors.js";
import type { Payment } from "../resources/payments.js";
import { Deadline } from "../timing/deadline.js";
import { now } from "../timing/timestamp.js";
import { driveFlow, storeState } from "./drive-flow.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import type { FlowPhase, FlowState, Look, OperatorDecision, ResolveAction, StateOf } from "./flow-state.js";
import { frozenCopy } from "./frozen-copy.js";
import type { JournalEntry } from "./journal.js";
import { Lease, LeaseLost } from "./lease.js";
import { paymentMatcher } from "./match-payment.js";
import { pauseFlow } from "./pause-flow.js";
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
  : {
      readonly payment?: undefined;
      /**
       * Decides even if the look for the payment, which comes first, can't see every payment, or sees one that only looks like it.
       * Default: false.
       */
      readonly evenUnseen?: boolean | undefined;
    });

/** A resolution whose action and grounds are in order. */
export interface CheckedResolution {
  readonly decision: OperatorDecision;
  readonly payment: Payment | undefined;
  readonly evenUnseen: boolean;
}

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkResolution(
  action: ResolveAction,
  resolution: Resolution | Resolution<"found">,
): CheckedResolution {
  if (action !== "found" && action !== "release" && action !== "resend") {
    throw new InvalidArgumentError('resolve: the action must be "found", "release" or "resend"');
  }
  const { by, why, payment, evenUnseen = false } = (resolution ?? {}) as Partial<Resolution & Resolution<"found">>;
  if (typeof by !== "string" || by === "" || typeof why !== "string" || why === "") {
    throw new InvalidArgumentError("resolve needs { by, why }: who decides, and on what grounds");
  }
  if (payment !== undefined && action !== "found") {
    throw new InvalidArgumentError(`resolve: a payment can be given for "found" only, not for "${action}"`);
  }
  if (typeof evenUnseen !== "boolean" || (evenUnseen && action === "found")) {
    throw new InvalidArgumentError('resolve: evenUnseen must be true or false, and is for "release" and "resend" only');
  }
  const decision = { action, by, why, atMs: Date.now(), ...(evenUnseen ? { evenUnseen } : undefined) };
  return { decision, payment: frozenCopy(payment), evenUnseen };
}

/** See `PaymentFlow.resolve`. */
export async function resolveFlow(
  context: FlowContext,
  key: string,
  { decision, payment, evenUnseen }: CheckedResolution,
): Promise<FlowOutcome> {
  const { journal, codec, leaseRequest } = context;
  const askedAt = now();
  const entry = await acquire(context, key);
  if (entry === undefined) throw notHeld(key, "there is no such flow, or another process is running it");
  const lease = new Lease(journal, entry, leaseRequest.leaseMs, askedAt);
  const deadline = new Deadline({});
  let phase: FlowPhase | undefined;
  try {
    const state = await codec.decode(entry);
    phase = state.phase;
    if (state.phase !== "held") throw notHeld(key, `it is ${state.phase}`);
    if (decision.action !== "found") await assertAbsent(context, state, deadline, evenUnseen);
    const held = { ...state, decisions: [...state.decisions, decision] };
    const decided = await decide(context, lease, held, decision, payment);
    await storeState(lease, await codec.encode(decided));
    return toOutcome(key, await driveFlow(context, { lease, deadline }, decided));
  } catch (error) {
    if (error instanceof LeaseLost) throw notHeld(key, "another process took it over");
    throw isAnswer(error) ? error : new FlowPausedError(key, { phase, cause: error });
  } finally {
    deadline.finish();
    await lease.end();
  }
}

/**
 * Neither gives the money back nor pays again for a payment that is there.
 *
 * @throws {InvalidArgumentError} `flow_payment_found` when it is; `flow_payment_unseen` when nobody can tell.
 */
async function assertAbsent(
  { client, leaseRequest }: FlowContext,
  state: StateOf<"held">,
  deadline: Deadline,
  evenUnseen: boolean,
): Promise<void> {
  // Until then its request may still be on its way to the socket of a process that was stopped.
  const untilSentMs = Math.min(state.claim.sendByMs - Date.now(), leaseRequest.leaseMs);
  if (untilSentMs > 0) await pauseFlow(untilSentMs, deadline);
  const looking = lookForPayment(client, { ...state, phase: "unknown" });
  const { look, found } = await (evenUnseen ? looking.catch(() => nothingSeen) : looking);
  if (found !== undefined) {
    throw unresolved(
      "flow_payment_found",
      'resolve: the payment is there, so the flow can only be resolved as "found"',
    );
  }
  if (evenUnseen || (look?.complete && look.lookalike === undefined)) return;
  throw unresolved(
    "flow_payment_unseen",
    `resolve: ${describeLook(look)}. To decide all the same, pass \`evenUnseen: true\``,
  );
}

const nothingSeen = { look: undefined, found: undefined };

async function acquire({ journal, leaseRequest }: FlowContext, key: string): Promise<JournalEntry | undefined> {
  try {
    return await journal.acquire(key, leaseRequest);
  } catch (cause) {
    throw new FlowPausedError(key, { cause });
  }
}

const answers: ReadonlySet<ErrorCode> = new Set([
  "flow_not_held",
  "flow_payment_found",
  "flow_payment_not_found",
  "flow_payment_unseen",
]);

/** Errors that say themselves what they say about the flow. */
function isAnswer(error: unknown): boolean {
  return error instanceof FlowPausedError || (error instanceof CrossBorderError && answers.has(error.code));
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
      return { ...withoutResponse(state), phase: "claimed", ...(await makeClaim(lease, state.claim, state.claims)) };
    case "found":
      if (payment !== undefined) assertOwnPayment(payment, state);
      return { ...state, phase: "paid", payment: payment ?? (await findPayment(client, state)) };
  }
}

/** What came in response to an earlier request says nothing about the next one. */
function withoutResponse({
  response: _,
  refusal: __,
  ...state
}: StateOf<"held">): Omit<StateOf<"held">, "response" | "refusal"> {
  return state;
}

async function findPayment(client: FlowContext["client"], state: StateOf<"held">): Promise<Payment> {
  const { look, found } = await lookForPayment(client, { ...state, phase: "unknown" });
  if (found !== undefined) return found;
  throw unresolved(
    "flow_payment_not_found",
    `resolve: the payment was not found: ${describeLook(look)}. If you have its record, pass it as \`payment\``,
  );
}

function describeLook({ lookalike, problem }: Partial<Look> = {}): string {
  if (lookalike !== undefined) {
    return "a payment with the same transaction id is listed, and its signature or its content is another";
  }
  return problem === undefined ? "it is not among the listed ones" : `not all payments could be seen (${problem})`;
}

/** Whose a lookalike is, is for the operator to say. */
function assertOwnPayment(payment: Payment, state: StateOf<"held">): void {
  if (paymentMatcher(state)(Object(payment)) !== undefined) return;
  throw unresolved(
    "flow_payment_not_found",
    "resolve: the given payment has neither this flow's signature nor its body nor its senderGatewayTransactionId",
  );
}

function unresolved(code: ErrorCode, message: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { code, effect: "possible" });
}

function notHeld(key: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} can't be resolved: ${why}`, {
    code: "flow_not_held",
    effect: "possible",
  });
}
