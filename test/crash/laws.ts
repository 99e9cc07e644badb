import type { Payment } from "cross-border-payments";
import { brokenLaw, type Facts, told } from "../model/laws.js";
import type { BankEntry } from "./bank.js";
import type { Outcome } from "./worker-messages.js";

/** Everything that is known at the end. */
export interface Evidence {
  readonly keys: readonly string[];
  /** What the journal says of each key, in the same order. */
  readonly outcomes: readonly (Outcome | undefined)[];
  /** Every outcome that a worker reported. */
  readonly told: readonly Outcome[];
  readonly payments: readonly Payment[];
  readonly bank: readonly BankEntry[];
}

export interface Verdict extends Readonly<Record<Outcome["status"], number>> {
  readonly flows: number;
  /** Held flows whose payment the service has. */
  readonly heldWithPayment: number;
  readonly unsettled: number;
  /** Each broken law in a sentence, with its key. */
  readonly violations: readonly string[];
}

/** Compares what happened at the service and at the bank with the outcomes of the flows. */
export function judge({ keys, outcomes, told: reported, payments, bank }: Evidence): Verdict {
  const violations: string[] = [];
  const paymentsOf = groupBy(payments, ({ memo }) => memo);
  const entriesOf = groupBy(bank, ({ key }) => key);
  const toldOf = groupBy(reported, ({ key }) => key);
  const count = { paid: 0, declined: 0, rejected: 0, held: 0, unsettled: 0, heldWithPayment: 0 };
  for (const [index, key] of keys.entries()) {
    const outcome = outcomes[index];
    const own = paymentsOf.get(key) ?? [];
    const facts: KeyFacts = { outcome, payments: own, entries: entriesOf.get(key) ?? [], told: toldOf.get(key) ?? [] };
    count[outcome?.status ?? "unsettled"] += 1;
    if (outcome?.status === "held" && own.length > 0) count.heldWithPayment += 1;
    const law = brokenLaw(toFacts(facts));
    const falsely = facts.told.filter((one) => !isStillTrue(one, outcome)).map((one) => `told ${text(one)}`);
    const broken = [...(law === undefined ? [] : [law]), ...wrongMoney(facts), ...falsely];
    violations.push(...broken.map((what) => `${key}, ${text(outcome)}: ${what}`));
  }
  const known = new Set(keys);
  for (const key of [...paymentsOf.keys(), ...entriesOf.keys()]) {
    if (!known.has(key)) violations.push(`${key}: nobody asked for this payment`);
  }
  return { flows: keys.length, ...count, violations };
}

/** What is known of one key. */
interface KeyFacts {
  readonly outcome: Outcome | undefined;
  readonly payments: readonly Payment[];
  readonly entries: readonly BankEntry[];
  readonly told: readonly Outcome[];
}

/** As the model's laws read it. The key's calls are repeated until they have an outcome, so `effect: "none"` says nothing here. */
function toFacts({ outcome, payments, entries, told: reported }: KeyFacts): Facts {
  const bank = { take: "taken", release: "released" } as const;
  const last = entries.at(-1);
  return {
    payments: payments.length,
    bank: last === undefined ? "untouched" : bank[last.kind],
    phase: outcome?.status ?? "none",
    told: reported.reduce((bits, { status }) => bits | (status === "held" ? 0 : told[status]), 0),
    ...{ resends: 0, releases: 0, isBlind: false, isStale: false, isRestored: false, isOrdinary: false },
  };
}

/** What the model has no words for: amounts and transactions. */
function wrongMoney({ outcome, payments: [payment], entries }: KeyFacts): string[] {
  const broken: string[] = [];
  const [taken, another] = entries.filter(({ kind }) => kind === "take");
  if (another !== undefined) broken.push("money taken twice");
  if (payment !== undefined && payment.senderGatewayTransactionId !== taken?.transactionId) {
    broken.push("paid with another transaction's money");
  }
  if (payment !== undefined && payment.senderAmount !== taken?.amount)
    broken.push("paid another amount than was taken");
  if (outcome?.status === "paid" && outcome.paymentId !== payment?.id) broken.push("names another payment");
  if (outcome?.status === "held" && taken === undefined) broken.push("held without money");
  if (outcome?.transactionId !== undefined && outcome.transactionId !== taken?.transactionId) {
    broken.push("names another transaction");
  }
  return broken;
}

/** Outcomes are final, but for `held`: then the payment can be found. */
function isStillTrue(one: Outcome, now: Outcome | undefined): boolean {
  const isSame = one.status === now?.status && one.paymentId === now.paymentId;
  return (isSame || (one.status === "held" && now?.status === "paid")) && one.transactionId === now.transactionId;
}

function text(outcome: Outcome | undefined): string {
  return outcome === undefined ? "nothing" : `${outcome.status} ${outcome.paymentId ?? ""}`.trim();
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
