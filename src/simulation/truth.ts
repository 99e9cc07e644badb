import { CrossBorderError } from "../errors/errors.js";
import type { FlowOutcome } from "../flows/flow-outcome.js";
import { type FlowFunds, readFlowFunds } from "../flows/funds-functions.js";
import type { JournalEntry } from "../flows/journal.js";
import type { World } from "./world.js";

/** Names of what a flow promises. */
export type Law = "once" | "release" | "funds" | "told" | "bank" | "settled";

/** What the flow promises, in the order of docs/simulation.md. */
export const laws: Readonly<Record<Law, string>> = {
  once: "a key is never paid twice without an operator's resend",
  release: "money is never given back while its payment exists or may still come, without an operator's release",
  funds: "money that was taken ends as paid, given back, or held",
  told: "every outcome and every error's effect is true, at that moment and for ever",
  bank: "takeFunds takes a key's money once, says so truthfully, and takes nothing after it was given back or declined",
  settled: "once nothing fails any more, every flow settles or is held for a stated reason",
};

/** The flow, or a function of the user's, broke a law. */
export class Violation extends Error {
  readonly law: Law;

  constructor(law: Law, message: string) {
    super(message);
    this.name = "Violation";
    this.law = law;
  }
}

/** What a customer, a worker or an operator calls. */
export type CallKind = "run" | "quote" | "confirm" | "cancel" | "found" | "release" | "resend";

export interface SimulatedCall {
  readonly key: string;
  readonly kind: CallKind;
  readonly withoutProof: boolean;
  /** Whether the payment was listed when the call began. */
  readonly wasListed: boolean;
  /** Calls about the same key that began before, and may still do something. */
  readonly others: number;
  /** The intent whose price was shown, where the call is a confirmation. */
  readonly intentId: string | undefined;
  isOver: boolean;
  /** Whether its error said that nothing was done and nothing will be done. */
  isRefused: boolean;
}

/** A payment that the service made. */
export interface MadePayment {
  readonly id: string;
  readonly key: string;
  readonly intentId: string;
  /** Which request of a client's it was made for. A proxy may deliver one of them twice. */
  readonly sending: number;
  readonly listedAtMs: number;
}

export type FundsState = "untouched" | "taken" | "declined" | "released";

/** What really happened to one key. */
export class KeyTruth {
  readonly key: string;
  readonly payments: MadePayment[] = [];
  readonly calls: SimulatedCall[] = [];
  funds: FundsState = "untouched";
  /** What `takeFunds` returned first. */
  transactionId: string | undefined;
  sendings = 0;
  /** How often operators had asked for a `resend` before each sending. */
  readonly resends: number[] = [];
  /** Payments that are on their way to the service, and releases on theirs to the bank. */
  open = 0;
  /** Whether the journal lost something that it had stored of this flow. */
  wasLost = false;
  /** Whether another flow's row was copied over its own: then nobody can read it any more. */
  isMisplaced = false;
  /** Who was told, and what, that nothing was done and nothing will be done. */
  toldNothing: string | undefined;
  errorsPossible = 0;
  paidAs: string | undefined;

  constructor(key: string) {
    this.key = key;
  }

  /** The journal has lost it, and what its callers were told with it: a refused confirmation whose write is still on its way may come true. */
  lose(): void {
    this.wasLost = true;
    this.toldNothing = undefined;
    for (const call of this.calls) call.isRefused = false;
  }
}

/** The world's own record of what happened, and the laws that are held against it. */
export class Truth {
  readonly keys = new Map<string, KeyTruth>();
  /** The first violation. */
  violation: Violation | undefined;
  errors = 0;
  /** Called with the id of each transaction that took money. */
  onTaken: (transactionId: string) => void = () => {};
  #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether some flow was reported as paid, so that the journal knows of a payment. */
  get isAnyPaid(): boolean {
    return [...this.keys.values()].some(({ paidAs, wasLost }) => paidAs !== undefined && !wasLost);
  }

  /** Keys of which a payment was made that can't be seen yet. */
  unlistedKeys(): readonly string[] {
    const isUnlisted = ({ listedAtMs }: MadePayment) => listedAtMs > this.#world.nowMs;
    return [...this.keys.values()].filter(({ payments }) => payments.some(isUnlisted)).map(({ key }) => key);
  }

  of(key: string): KeyTruth {
    let truth = this.keys.get(key);
    if (truth === undefined) {
      truth = new KeyTruth(key);
      this.keys.set(key, truth);
    }
    return truth;
  }

  /** A customer's or an operator's call begins. */
  began(key: string, kind: CallKind, withoutProof = false, intentId?: string): SimulatedCall {
    const truth = this.of(key);
    const others = truth.calls.filter(({ isOver }) => !isOver).length;
    const wasListed = this.#isListed(truth);
    const call = { key, kind, withoutProof, wasListed, others, intentId, isOver: false, isRefused: false };
    truth.calls.push(call);
    // A caller that moves money again takes the flow up again, unless the flow had come to its end.
    if (moving.has(kind) && (truth.wasLost || truth.toldNothing?.startsWith("error"))) truth.toldNothing = undefined;
    return call;
  }

  /** A call came back with an outcome, or a worker reported one. */
  told(key: string, outcome: FlowOutcome): void {
    const truth = this.of(key);
    const { status } = outcome;
    this.#world.note(`${key} is reported as ${status}`);
    if (status === "paid") {
      const { id } = outcome.payment;
      if (!truth.payments.some((payment) => payment.id === id)) {
        this.#broken("told", `${key} was reported as paid by payment ${id}, which is not its own`);
      }
    } else if (status === "held") {
      if (outcome.reason === "") this.#broken("settled", `${key} is held for no stated reason`);
    } else if (!isEndedAnew(truth, outcome)) {
      this.#assertNothing(truth, `outcome ${status}`);
      truth.toldNothing = `outcome ${status}`;
    }
    if (status === "paid") truth.paidAs = outcome.payment.id;
  }

  /** A call came back with an error. */
  failed(call: SimulatedCall, error: unknown): void {
    const truth = this.of(call.key);
    this.errors += 1;
    if (!(error instanceof CrossBorderError)) {
      this.#broken("told", `${call.kind} of ${call.key} threw something that says nothing: ${String(error)}`);
      return;
    }
    const { code, effect } = error;
    this.#world.note(`${call.kind} of ${call.key} throws ${code}, effect ${effect}`);
    if (effect === "possible") truth.errorsPossible += 1;
    if (effect === "done" && truth.payments.length === 0) {
      this.#broken("told", `${call.kind} of ${call.key} threw ${code} with effect done, and nothing was paid`);
    }
    if (effect !== "none" || aboutTheCall.has(code)) return;
    call.isRefused = true;
    // Where there is no quote, it speaks of its own call: what an earlier one handed to the journal may still arrive, and that call said so.
    if (truth.errorsPossible > 0 && this.#world.profile.journalIsLate > 0 && call.kind !== "confirm") return;
    // Another call may have begun after this one had looked.
    if (call.others > 0 || truth.calls.at(-1) !== call || truth.wasLost) return;
    this.#assertNothing(truth, `error ${code} with effect none`);
    if (call.kind === "run" || call.kind === "confirm") truth.toldNothing = `error ${code} with effect none`;
  }

  /** A worker's error about one flow, or about the journal. */
  workerFailed(error: unknown): void {
    if (!(error instanceof CrossBorderError)) {
      this.#broken("told", `a worker threw something that says nothing: ${String(error)}`);
      return;
    }
    const key: unknown = Reflect.get(error, "key");
    this.#world.note(`a worker's ${error.code}: ${String(key)}, effect ${error.effect}`);
    if (!aboutNoFlow.has(error.code) && typeof key !== "string") {
      this.#broken("told", `a worker threw ${error.code}, which does not say which flow it is about`);
    }
  }

  /** A flow could not be moved to another base URL. */
  notMoved(key: string, error: unknown): void {
    this.#world.note(`${key} is not moved: ${String(error)}`);
    if (!(error instanceof CrossBorderError)) {
      this.#broken("told", `moving ${key} failed with something that says nothing: ${String(error)}`);
    }
  }

  confirmed({ key, isExpired }: Pick<JournalEntry, "key" | "isExpired">): void {
    if (isExpired) this.#broken("told", `${key} was confirmed after its quote had expired`);
  }

  touched(key: string): void {
    this.#broken("told", `another gateway's process took up ${key}`);
  }

  /** `takeFunds` has responded. */
  asked(key: string, response: FlowFunds | null): void {
    try {
      readFlowFunds(response, Number.MAX_SAFE_INTEGER);
    } catch (error) {
      this.#broken("bank", error instanceof Error ? error.message : String(error));
      return;
    }
    const truth = this.of(key);
    this.#noteAsked(truth, response);
    this.#assertHonest(truth, response);
    if (response === null) {
      if (truth.funds === "untouched") truth.funds = "declined";
      return;
    }
    if (truth.transactionId === undefined) this.onTaken(response.senderGatewayTransactionId);
    truth.transactionId = response.senderGatewayTransactionId;
    truth.funds = "taken";
    if (truth.toldNothing !== undefined) this.#broken("told", `money was taken for ${key} after ${truth.toldNothing}`);
    if (!truth.calls.some(({ kind }) => moving.has(kind))) {
      this.#broken("told", `money was taken for ${key}, for which nobody asked for more than a quote`);
    }
  }

  #noteAsked({ key, funds, transactionId }: KeyTruth, response: FlowFunds | null): void {
    const { marks } = this.#world;
    if (funds === "released") marks.noteFunds("takeFunds was called after a release");
    else if (transactionId !== undefined) marks.noteFunds("takeFunds was called again");
    marks.noteFunds(response === null ? "takeFunds returned null" : "takeFunds took money");
    if (response === null) marks.happened(key, "takeFunds declines");
    else if (transactionId !== undefined) marks.happened(key, "takeFunds had taken before");
  }

  releaseSent(key: string): void {
    this.of(key).open += 1;
  }

  releaseArrived(key: string): void {
    this.of(key).open -= 1;
  }

  released(key: string): void {
    const truth = this.of(key);
    const { marks } = this.#world;
    marks.noteFunds(truth.funds === "released" ? "releaseFunds was called again" : "releaseFunds was called");
    truth.funds = "released";
    if (truth.payments.length > 0 && !isAllowed(truth, "release")) {
      this.#broken("release", `money was given back for ${key}, which is paid`);
    }
  }

  sent(key: string): number {
    const truth = this.of(key);
    truth.open += 1;
    truth.sendings += 1;
    truth.resends.push(truth.calls.filter(({ kind }) => kind === "resend").length);
    if (truth.funds !== "taken" && !isAllowed(truth, "release")) {
      this.#broken("funds", `a payment was sent for ${key}, whose money is ${truth.funds}`);
    }
    return truth.sendings;
  }

  paid(payment: MadePayment): void {
    const truth = this.of(payment.key);
    truth.payments.push(payment);
    const sendings = new Set(truth.payments.map(({ sending }) => sending));
    // Each resend allows one payment more.
    const resends = new Set([...sendings].map((sending) => truth.resends[sending - 1]));
    if (resends.size < sendings.size || (sendings.size > 1 && !isAllowed(truth, "resend"))) {
      this.#broken("once", `${payment.key} was paid twice`);
    }
    const isConfirmed = ({ kind, intentId, isRefused }: SimulatedCall) =>
      kind === "run" || (intentId === payment.intentId && !isRefused);
    if (!truth.calls.some(isConfirmed)) {
      this.#broken("told", `${payment.key} was paid at a price that nobody has confirmed`);
    }
    if (truth.funds === "released" && !isAllowed(truth, "release")) {
      this.#broken("release", `money was given back for ${payment.key}, and then it was paid`);
    }
    if (truth.toldNothing !== undefined && !isAllowed(truth, "release")) {
      this.#broken("told", `${payment.key} was paid after ${truth.toldNothing}`);
    }
  }

  /** Of the flows under an earlier base URL, so many are open or held; and so many are shown under the present one. */
  assertShown(left: number, shown: number): void {
    if (left === shown) return;
    this.#broken("settled", `${left} flows are open or held under another base URL, and ${shown} of them are shown`);
  }

  /** Once everything has come to its end. `phase`: what the journal says. */
  assertEnded(truth: KeyTruth, phase: string | undefined, isSettled: boolean): void {
    const { key, funds, payments } = truth;
    if (truth.isMisplaced) return;
    if (phase !== undefined && !isSettled) {
      this.#broken("settled", `${key} is still ${phase} after all faults have stopped`);
    }
    if (phase !== "paid" && truth.paidAs !== undefined && !truth.wasLost) {
      this.#broken("told", `${key} was reported as paid, and in the end it is ${phase}`);
    }
    if (phase === "held" || (truth.wasLost && (phase === "rejected" || phase === "declined"))) return;
    const isPaid = payments.length > 0;
    const said = phase ?? "unknown to the journal";
    if (funds === "taken" && phase !== "paid") this.#broken("funds", `money was taken for ${key}, which is ${said}`);
    if (isPaid && phase !== "paid" && !isAllowed(truth, "release")) {
      this.#broken("told", `${key} is paid, and the journal says that it is ${said}`);
    }
    if (!isPaid && phase === "paid") this.#broken("told", `nothing was paid for ${key}, which is ${said}`);
  }

  /** The first response is final. */
  #assertHonest({ key, funds, transactionId }: KeyTruth, response: FlowFunds | null): void {
    const isTaken = response !== null;
    if (isTaken && (funds === "released" || funds === "declined")) {
      this.#broken("bank", `takeFunds took the money of ${key} after it was ${funds}`);
    }
    if (!isTaken && funds === "taken") this.#broken("bank", `takeFunds returned null for ${key}, whose money is taken`);
    if (!isTaken) return;
    if (transactionId !== undefined && transactionId !== response.senderGatewayTransactionId) {
      this.#broken("bank", `takeFunds returned another senderGatewayTransactionId for ${key} than before`);
    }
    if (response.replayed !== (transactionId !== undefined)) {
      this.#broken("bank", `takeFunds says replayed: ${response.replayed} for ${key}, whose money is ${funds}`);
    }
  }

  #assertNothing(truth: KeyTruth, what: string): void {
    const { key, payments, funds } = truth;
    if (isAllowed(truth, "release")) return;
    if (payments.length > 0) this.#broken("told", `${what}, and ${key} is paid`);
    if (funds === "taken") this.#broken("told", `${what}, and money is taken for ${key}`);
  }

  #isListed({ payments }: KeyTruth): boolean {
    return payments.some(({ listedAtMs }) => listedAtMs <= this.#world.nowMs);
  }

  #broken(law: Law, message: string): void {
    this.#world.note(`VIOLATION: ${message}`);
    this.violation ??= new Violation(law, message);
  }
}

/** Codes that say something about the call, not about the payment. */
const aboutTheCall: ReadonlySet<string> = new Set(["quote_changed", "flow_not_held", "flow_unknown"]);

/** Codes of errors that stop a worker, whatever it works on. */
const aboutNoFlow: ReadonlySet<string> = new Set(["flow_closed", "journal_failed"]);

const moving: ReadonlySet<CallKind> = new Set<CallKind>(["run", "confirm", "release", "resend"]);

/**
 * The journal has lost how far the flow had got, and then a quote was cancelled, or another intent under the same key was refused: nobody
 * who is asked knows of the money. The bank has to reconcile after such a loss.
 */
function isEndedAnew({ wasLost }: KeyTruth, outcome: Exclude<FlowOutcome, { status: "paid" | "held" }>): boolean {
  return wasLost && (outcome.status === "declined" || outcome.senderGatewayTransactionId === undefined);
}

/** An operator may decide against the rules only where the flow could not know better. */
function isAllowed({ calls }: KeyTruth, decision: "release" | "resend"): boolean {
  return calls.some(({ kind, withoutProof, wasListed }) => kind === decision && (withoutProof || !wasListed));
}
