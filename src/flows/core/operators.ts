import { matchPayment } from "./match.js";
import type { Begun, Decision, Event, Held, Owner, Resolution, SearchResult, Step } from "./state.js";
import { beginningOf, does, failureOf, leave, paid, paused, search, store, thrown } from "./steps.js";

/** Rule 11: what a person decides about a held flow. `revision`: of the entry. */
export function decide(owner: Owner<Held>, call: Resolution, revision: number): Step {
  const { flow } = owner;
  if (call.revision !== undefined && call.revision !== revision) return leave(owner, thrown("flow_changed"));
  const given = call.step === "decide" || call.step === "propose" ? call.decision.payment : undefined;
  if (given && matchPayment(flow.signed)(given) === undefined) return leave(owner, thrown("flow_payment_not_found"));
  switch (call.step) {
    case "decide":
      return does({ ...owner, decision: call.decision }, search(flow));
    case "propose":
      return store(owner, { ...flow, proposal: call.decision });
    case "approve":
      return approve(owner, call.by);
    case "refuse":
      return refuse(owner);
  }
}

/** What is carried out is what was proposed. */
function approve(owner: Owner<Held>, by: string): Step {
  const { proposal } = owner.flow;
  if (proposal === undefined) return leave(owner, thrown("flow_not_proposed"));
  if (isSamePerson(proposal.by, by)) return leave(owner, thrown("flow_same_person"));
  return does({ ...owner, decision: { ...proposal, approvedBy: by } }, search(owner.flow));
}

/** Names are typed by hand. */
export function isSamePerson(one: string, other: string): boolean {
  return foldedName(one) === foldedName(other);
}

export function foldedName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase();
}

function refuse(owner: Owner<Held>): Step {
  const { proposal, ...flow } = owner.flow;
  return proposal === undefined ? leave(owner, thrown("flow_not_proposed")) : store(owner, flow);
}

export function inHeld(owner: Owner<Held>, event: Event): Step {
  const { decision } = owner;
  if (event.is !== "searched" || decision === undefined) return leave(owner, paused(failureOf(event)));
  return carryOut(owner, decision, event.result);
}

function carryOut(owner: Owner<Held>, decision: Decision, result: SearchResult): Step {
  const { flow } = owner;
  const decided = { ...beginningOf(flow), decisions: [...(flow.decisions ?? []), decision] } satisfies Begun;
  if (decision.action === "found") {
    const payment = result.is === "found" ? result.payment : decision.payment;
    return payment ? store(owner, paid(decided, payment)) : leave(owner, thrown("flow_payment_not_found"));
  }
  if (result.is === "found") return leave(owner, thrown("flow_payment_found"));
  if (result.is !== "absent" && decision.withoutProof !== true) return leave(owner, thrown("flow_payment_unseen"));
  if (decision.action === "release") {
    const refusal = { by: "operator", code: "released", message: decision.why } as const;
    return store(owner, { ...decided, phase: "refused", refusal });
  }
  const tries = { ...decided.tries, unauthorized: 0, throttled: 0, unread: 0 };
  return store({ ...owner, searched: true }, { ...decided, phase: "funds-requested", tries });
}
