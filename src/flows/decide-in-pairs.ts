import { isText, type OptionTable, parseOptions } from "../options/option-table.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import type { Lease } from "./ownership/lease.js";
import {
  type AfterDecision,
  alreadyProposed,
  assertMayEndRelease,
  assertOwnPayment,
  assertSeen,
  type CheckedResolution,
  claimsToLookFor,
  decideAnd,
  isFunded,
  notHeld,
  operate,
  refusalOf,
  unresolved,
} from "./resolve-flow.js";
import {
  decisionHash,
  decisionsOf,
  foldedName,
  isSamePerson,
  openProposal,
  proposedPayment,
  seenHash,
  withDecision,
} from "./state/decision-chain.js";
import type { FlowState, OperatorDecision } from "./state/flow-state.js";
import { storeState } from "./steps/drive-flow.js";

/** A decision as it was stored, and its hash. */
export interface StoredDecision extends OperatorDecision {
  /** The flow's. */
  readonly key: string;
  /** SHA-256 of the decision, in hex. Keep it elsewhere than the journal: see {@link verifyDecisions}. */
  readonly hash: string;
}

/** Who approves a proposal. */
export interface Approval {
  /** Another person than the one who proposed: names are compared without case and spaces at their ends. */
  readonly by: string;
  /** On what grounds. Default: those of the proposal. */
  readonly why?: string | undefined;
  /** `hash` of the proposal that was looked at: it is refused where that is not the one that waits. */
  readonly proposal?: string | undefined;
}

/** Who refuses a proposal, or takes it back. */
export interface Refusal extends Approval {
  readonly why: string;
}

const by = { accepts: isText, isRequired: true, wanted: "who decides", documentation: "who decides" } as const;
const why = { accepts: isText, wanted: "on what grounds it is decided", documentation: "on what grounds" };
const proposal = { accepts: isText, wanted: "the proposal's hash", documentation: "the proposal that was looked at" };

const approvalOptions: OptionTable<Approval> = { by, why, proposal };
const refusalOptions: OptionTable<Refusal> = { by, why: { ...why, isRequired: true }, proposal };

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkApproval(given: Approval): Approval {
  return check("approve", approvalOptions, given);
}

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkRefusal(given: Refusal): Refusal {
  return check("refuse", refusalOptions, given) as Refusal;
}

function check(operation: string, table: OptionTable<Approval>, given: Approval): Approval {
  const checked = parseOptions(table, given ?? {}, "the decision", refusalOf(operation)) as unknown as Approval;
  assertName(operation, checked.by);
  return checked;
}

/** @throws {InvalidArgumentError} for a name of nobody. */
export function assertName(operation: string, name: string): void {
  if (foldedName(name) === "") throw refusalOf(operation)("by must be who decides; found only spaces");
}

/** See `PaymentFlow.propose`. */
export function proposeFlow(
  context: FlowContext,
  key: string,
  { decision, seen, payment }: CheckedResolution,
  call: FlowCall,
): Promise<StoredDecision> {
  return operate(context, key, call, async ({ lease, state, revision }) => {
    if (!isFunded(state)) {
      throw notHeld(key, `it is ${state.phase}, no money is known to have been taken, and it tries again by itself`);
    }
    const hash = seenHash(state);
    assertSeen(key, seen, hash);
    const open = openProposal(state);
    if (open?.saw?.hash === hash) throw alreadyProposed(key, open);
    if (state.phase === "refused") assertMayEndRelease(key, decision.action, payment);
    if (payment !== undefined) {
      assertOwnPayment(payment, { ...state, claims: await claimsToLookFor(context, call, state, true) });
    }
    const saw = { revision, looks: state.looks.length, hash };
    const proposed = { ...decision, step: "proposed" as const, saw, ...(payment && { payment }) };
    return store(context, lease, state, proposed);
  });
}

/** See `PaymentFlow.approve`. */
export function approveFlow<Result>(
  context: FlowContext,
  key: string,
  { by, why, proposal }: Approval,
  call: FlowCall,
  after: AfterDecision<Result>,
): Promise<Result> {
  const resolutionOf = async ({ state }: { readonly state: FlowState }): Promise<CheckedResolution> => {
    const open = await proposalOf(key, state, proposal);
    if (isSamePerson(open.by, by)) {
      throw unresolved(
        "flow_same_person",
        `approve: ${open.by} proposed this for the flow of key ${JSON.stringify(key)}, and another person has to approve it`,
      );
    }
    if (seenHash(state) !== open.saw?.hash) {
      throw unresolved(
        "flow_moved_on",
        `approve: the flow of key ${JSON.stringify(key)} has moved on since ${open.by} proposed this: propose again what is right now`,
      );
    }
    const { action, withoutProof } = open;
    const decision = { step: "approved" as const, action, by, why: why ?? open.why, atMs: clock.wallMs() };
    return {
      decision: { ...decision, ...(withoutProof && { withoutProof }) },
      payment: proposedPayment(open),
      withoutProof: withoutProof === true,
    };
  };
  return decideAnd(context, key, call, resolutionOf, after);
}

/** See `PaymentFlow.refuse`. */
export function refuseFlow(
  context: FlowContext,
  key: string,
  { by, why, proposal }: Refusal,
  call: FlowCall,
): Promise<StoredDecision> {
  return operate(context, key, call, async ({ lease, state }) => {
    const { action } = await proposalOf(key, state, proposal);
    const refused = { step: "refused" as const, action, by, why, atMs: clock.wallMs() };
    return store(context, lease, state, refused);
  });
}

/** @throws {InvalidArgumentError} `flow_not_proposed`, or `flow_moved_on` where another proposal waits than was looked at. */
async function proposalOf(key: string, state: FlowState, seen: string | undefined): Promise<OperatorDecision> {
  const open = openProposal(state);
  if (open === undefined) {
    throw unresolved("flow_not_proposed", `nothing is proposed for the flow of key ${JSON.stringify(key)}`);
  }
  assertSeen(key, seen, decisionHash(open));
  return open;
}

async function store(
  context: FlowContext,
  lease: Lease,
  state: FlowState,
  decision: Omit<OperatorDecision, "previous">,
): Promise<StoredDecision> {
  const decisions = withDecision(lease.key, decisionsOf(state), decision);
  await storeState(context, lease, { ...state, decisions } as FlowState);
  const stored = decisions.at(-1) ?? decision;
  return { key: lease.key, ...stored, hash: decisionHash(stored) };
}
