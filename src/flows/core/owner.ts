import { matchPayment } from "./match.js";
import type {
  Begun,
  Claimed,
  Config,
  Decision,
  Event,
  Fact,
  Failure,
  Funds,
  FundsRequested,
  Held,
  HeldReason,
  Owner,
  Refusal,
  Resolution,
  Response,
  Searches,
  SearchResult,
  Signed,
  Step,
  Unknown,
  Words,
  Writer,
} from "./state.js";
import {
  beginningOf,
  declined,
  does,
  done,
  failureOf,
  held,
  isListed,
  isOutcome,
  leave,
  paid,
  paused,
  read,
  rejected,
  search,
  settledBy,
  store,
  thrown,
} from "./steps.js";

/** What the owner of a flow does first in its phase. */
export function enter(owner: Owner): Step {
  const { flow } = owner;
  switch (flow.phase) {
    case "funds-requested":
      if (flow.notBeforeMs === undefined) return does(owner, { do: "takeFunds", flow });
      return does(owner, { do: "wait", until: "notBefore", atMs: flow.notBeforeMs });
    case "claimed":
      return store(owner, { ...flow, phase: "unknown" }); // Rule 13: the process that made the claim is gone.
    case "unknown":
      return does({ ...owner, readBacks: 0 }, search(flow));
    case "refused":
      return does(owner, { do: "releaseFunds", flow });
    case "quoted":
      return leave(owner, { nothing: true });
    case "held":
    case "paid":
    case "declined":
    case "rejected":
      return leave(owner, { outcome: flow });
  }
}

export function asOwner(owner: Owner, event: Event, config: Config): Step {
  const { flow } = owner;
  switch (flow.phase) {
    case "funds-requested":
      return inFundsRequested({ ...owner, flow }, event, config);
    case "claimed":
      return inClaimed({ ...owner, flow }, event, config);
    case "unknown":
      return inUnknown({ ...owner, flow }, event, config);
    case "refused":
      return event.is === "done" ? store(owner, rejected(flow)) : unexpected(owner, event);
    case "held":
      return inHeld({ ...owner, flow }, event);
    case "quoted":
    case "paid":
    case "declined":
    case "rejected":
      return unexpected(owner, event);
  }
}

/** Rules 2 to 4. Take the money, search if there may be a payment already, and store the claim. */
function inFundsRequested(owner: Owner<FundsRequested>, event: Event, config: Config): Step {
  const { flow, signed, funds } = owner;
  switch (event.is) {
    case "done":
      return does(owner, { do: "takeFunds", flow });
    case "funds":
      return event.funds === null ? withoutFunds(owner) : withFunds(owner, event.funds, config);
    case "signed":
      return funds === undefined ? unexpected(owner, event) : beforeClaim(owner, event.signed, funds, config);
    case "searched":
      if (signed === undefined || funds === undefined) return unexpected(owner, event);
      return afterFirstSearch(owner, { ...flow, signed }, funds, event.result, event.nowMs, config);
    default:
      return unexpected(owner, event);
  }
}

function withoutFunds(owner: Owner<FundsRequested>): Step {
  const { flow } = owner;
  const { signed, tries } = flow;
  if (signed === undefined || tries.open === 0) return store(owner, declined(flow));
  return store(owner, held({ ...flow, signed }, "money-gone"));
}

function withFunds(before: Owner<FundsRequested>, funds: Funds, config: Config): Step {
  const owner = { ...before, funds };
  const { flow } = owner;
  return flow.signed ? beforeClaim(owner, flow.signed, funds, config) : does(owner, { do: "sign", flow, funds });
}

/** Rule 3. */
function beforeClaim(owner: Owner<FundsRequested>, signed: Signed, funds: Funds, { bankSkewMs }: Config): Step {
  const { flow } = owner;
  if (!funds.replayed || owner.searched === true) return claim(owner, { ...flow, signed });
  const backToMs = funds.takenAtMs - bankSkewMs;
  return does({ ...owner, signed }, { do: "search", flow: { ...flow, signed }, backToMs });
}

type ToSend = FundsRequested & { readonly signed: Signed };

function afterFirstSearch(
  owner: Owner<FundsRequested>,
  flow: ToSend,
  funds: Funds,
  result: SearchResult,
  nowMs: number,
  config: Config,
): Step {
  const { tries } = flow;
  if (result.is === "found") return store(owner, paid(flow, result.payment));
  // An earlier entry of the key may have a payment, so searches go back to its time and it counts as sent.
  const mayBePaid: ToSend = { ...since(flow, funds, config), tries: { ...tries, open: Math.max(1, tries.open) } };
  if (isListed(result)) return store(owner, settledBy(result, mayBePaid));
  const isLost = flow.wasLost === true || (owner.flow.signed === undefined && belongsToLostEntry(owner, funds, config));
  const hold = (why: HeldReason): Step =>
    store(owner, held(mayBePaid, why, { searches: { times: tries.unread + 1, last: result.is } }));
  if (result.is === "unreadable") {
    if (tries.unread >= config.maxUnread) return hold("unreadable");
    const notBeforeMs = nowMs + waitMs(tries.unread);
    const failure = { code: "flow_payment_unseen", effect: "possible", retryAtMs: notBeforeMs } as const;
    const waiting = { ...owner.flow, notBeforeMs, tries: { ...tries, unread: tries.unread + 1 } };
    return store(owner, isLost ? { ...waiting, wasLost: true } : waiting, paused(failure));
  }
  return isLost ? hold("entry-lost") : claim(owner, since(flow, funds, config));
}

function since(flow: ToSend, funds: Funds, { bankSkewMs }: Config): ToSend {
  return funds.replayed ? { ...flow, begunAtMs: Math.min(flow.begunAtMs, funds.takenAtMs - bankSkewMs) } : flow;
}

/** The money was taken for an earlier entry of the key. */
function belongsToLostEntry({ began, flow }: Owner<FundsRequested>, funds: Funds, { bankSkewMs }: Config): boolean {
  return began || (funds.replayed && funds.takenAtMs < flow.begunAtMs - bankSkewMs);
}

/** Rule 4. */
function claim(owner: Owner, flow: ToSend): Step {
  const tries = { ...flow.tries, open: flow.tries.open + 1, unread: 0 };
  return store(owner, { ...beginningOf(flow), signed: flow.signed, phase: "claimed", tries });
}

/** Rules 4 to 7, for the owner that made the claim. */
function inClaimed(owner: Owner<Claimed>, event: Event, config: Config): Step {
  switch (event.is) {
    case "response":
      return afterResponse(owner, event.response, event.nowMs, config);
    case "searched":
      if (owner.refusal === undefined) return unexpected(owner, event);
      return afterRefusal(owner, owner.refusal, event.result);
    default:
      return unexpected(owner, event);
  }
}

function afterResponse(owner: Owner<Claimed>, response: Response, nowMs: number, config: Config): Step {
  const { flow } = owner;
  switch (response.is) {
    case "paid":
      return store(owner, paid(flow, response.payment));
    case "unknown":
      return store(owner, { ...flow, phase: "unknown", said: response.said });
    case "notSent":
      return store(owner, withdrawn(flow), paused(response.failure));
    case "refused":
      return does({ ...owner, refusal: response.refusal }, search(flow));
    case "throttled":
    case "unauthorized":
      return afterDelay(owner, response.is, response.said, nowMs, response.retryAtMs, config);
  }
}

/** This claim made no payment. */
function withdrawn(flow: Claimed): ToSend {
  const tries = { ...flow.tries, open: flow.tries.open - 1 };
  return { ...beginningOf(flow), signed: flow.signed, phase: "funds-requested", tries };
}

/** Rule 7. */
function afterDelay(
  owner: Owner<Claimed>,
  is: "throttled" | "unauthorized",
  said: Words,
  nowMs: number,
  retryAtMs: number | undefined,
  config: Config,
): Step {
  const again = withdrawn(owner.flow);
  const count = again.tries[is];
  if (is === "unauthorized" && count >= config.maxUnauthorized) return store(owner, held(again, is, { said }));
  const notBeforeMs = retryAtMs ?? nowMs + waitMs(count);
  return store(owner, { ...again, notBeforeMs, said, tries: { ...again.tries, [is]: count + 1 } });
}

/** Rule 6. One search, whether or not the list can be read. */
function afterRefusal(owner: Owner<Claimed>, refusal: Refusal, result: SearchResult): Step {
  const { flow } = owner;
  if (isListed(result)) return store(owner, settledBy(result, flow));
  if (flow.tries.open === 1) return store(owner, { ...flow, phase: "refused", refusal });
  // The service may say no to bytes that had been sent before, because they were paid.
  const searches: Searches = { times: 1, last: result.is };
  return store(owner, held(flow, "refused-after-repeat", { said: refusal, searches }));
}

/** Rules 8 and 10. */
function inUnknown(owner: Owner<Unknown>, event: Event, config: Config): Step {
  const { flow, readBacks = 0 } = owner;
  if (event.is === "done") return does({ ...owner, readBacks: readBacks + 1 }, search(flow));
  if (event.is !== "searched") return unexpected(owner, event);
  const { result } = event;
  if (isListed(result)) return store(owner, settledBy(result, flow));
  if (readBacks < config.readBacks && result.is !== "forbidden") return does(owner, { do: "wait", until: "readBack" });
  if (flow.tries.repeated < config.maxRepeats) {
    const { listedWithinMs, singleUseIntents } = config.facts;
    if (listedWithinMs !== undefined && result.is !== "forbidden") {
      if (owner.isProof !== true) return does({ ...owner, isProof: true }, { do: "wait", until: "listed" });
      if (result.is === "absent") return repeat(owner, "listedWithinMs");
    }
    if (singleUseIntents === true) return repeat(owner, "singleUseIntents");
  }
  const searches: Searches = { times: readBacks + 1, last: result.is };
  return store(owner, held(flow, "not-found", { said: flow.said, searches }));
}

function repeat(owner: Owner<Unknown>, fact: Fact): Step {
  const { flow } = owner;
  const tries = { ...flow.tries, repeated: flow.tries.repeated + 1 };
  const reliedOn = [...new Set([...(flow.reliedOn ?? []), fact])];
  return store({ ...owner, searched: true }, { ...beginningOf(flow), phase: "funds-requested", tries, reliedOn });
}

export function afterWrite({ owner, to, then }: Writer, event: Event): Step {
  const { call, began, searched } = owner;
  switch (event.is) {
    case "stored": {
      if (isOutcome(to)) return done(call, { outcome: to });
      const stored: Owner = { at: "owning", call, flow: to, began };
      if (then !== undefined) return leave(stored, then);
      // An owner sends a claim once, and only after the claim was stored.
      if (to.phase === "claimed") return does(stored, { do: "send", flow: to });
      return enter({ ...stored, searched });
    }
    case "refused":
      // Another owner has the flow.
      if (call.kind === "run" || call.kind === "confirm") return read(call);
      return done(call, call.kind === "resolve" ? paused(changed) : { nothing: true });
    default:
      return unexpected(owner, event);
  }
}

const changed: Failure = { code: "flow_changed", effect: "possible" };

function unexpected(owner: Owner, event: Event): Step {
  return leave(owner, paused(failureOf(event)));
}

/** Before the n-th further try. Eight waits are some 20 minutes. */
const waitsMs = [1_000, 3_000, 8_000, 20_000, 60_000, 150_000, 360_000, 600_000] as const;

function waitMs(tries: number): number {
  return waitsMs[tries] ?? 600_000;
}

/** Rule 11. A person decides about a held flow. `revision` is that of the entry. */
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
