import type { Payment } from "cross-border-payments";
import type { BankEntry } from "./bank.js";
import { say } from "./script-options.js";
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

export interface Verdict {
  readonly flows: number;
  readonly paid: number;
  readonly declined: number;
  readonly rejected: number;
  readonly held: number;
  /** Held flows whose payment the service has. */
  readonly heldWithPayment: number;
  readonly paidTwice: number;
  readonly takenTwice: number;
  /** Flows whose money was given back and whose payment the service has. */
  readonly releasedThoughPaid: number;
  readonly unsettled: number;
  /** Each broken law in a sentence, with its key. */
  readonly violations: readonly string[];
}

/** Whether no law is broken. */
export function isKept({ paidTwice, takenTwice, releasedThoughPaid, unsettled, violations }: Verdict): boolean {
  return paidTwice + takenTwice + releasedThoughPaid + unsettled + violations.length === 0;
}

/** Says what a script found, and returns its exit code. */
export function sayAll(
  result: Verdict & { readonly unexpected?: ReadonlyMap<unknown, string> },
  description: string,
): number {
  for (const text of [...result.violations, ...(result.unexpected?.values() ?? [])]) say(`  ${text}`);
  say(description);
  return isKept(result) ? 0 : 1;
}

export function describeLaws(verdict: Verdict): string {
  const { flows, paid, declined, rejected, held, heldWithPayment } = verdict;
  const { paidTwice, takenTwice, releasedThoughPaid, unsettled, violations } = verdict;
  return (
    `flows ${flows}, paid ${paid}, declined ${declined}, rejected ${rejected}, held ${held} (${heldWithPayment} of them paid), ` +
    `paid twice ${paidTwice}, taken twice ${takenTwice}, released though paid ${releasedThoughPaid}, unsettled ${unsettled}, ` +
    `other broken laws ${violations.length}`
  );
}

/** Adds every count of several results. What is no number is the first result's. */
export function sumOf<T extends object>(results: readonly T[]): T {
  const [first, ...others] = results;
  if (first === undefined) throw new TypeError("there is no result");
  const sums = Object.entries(first).map(([name, value]) => {
    if (typeof value !== "number") return [name, value];
    return [name, others.reduce((sum, other) => sum + Number(Reflect.get(other, name)), value)];
  });
  return Object.fromEntries(sums);
}

/** Compares what happened at the service and at the bank with the outcomes of the flows. */
export function judge({ keys, outcomes, told, payments, bank }: Evidence): Verdict {
  const violations: string[] = [];
  const paymentsOf = groupBy(payments, ({ memo }) => memo);
  const entriesOf = groupBy(bank, ({ key }) => key);
  const count = { paid: 0, declined: 0, rejected: 0, held: 0 };
  let unsettled = 0;
  let heldWithPayment = 0;
  for (const [index, key] of keys.entries()) {
    const outcome = outcomes[index];
    const own = paymentsOf.get(key) ?? [];
    if (outcome === undefined) unsettled += 1;
    else {
      count[outcome.status] += 1;
      if (outcome.status === "held" && own.length > 0) heldWithPayment += 1;
      violations.push(...brokenLaws(outcome, own, entriesOf.get(key) ?? []).map((law) => `${key}: ${law}`));
    }
  }
  const byKey = new Map(keys.map((key, index) => [key, outcomes[index]]));
  for (const one of told) {
    if (!isSame(one, byKey.get(one.key)))
      violations.push(`${one.key}: told ${text(one)}, is ${text(byKey.get(one.key))}`);
  }
  for (const key of [...paymentsOf.keys(), ...entriesOf.keys()]) {
    if (!byKey.has(key)) violations.push(`${key}: nobody asked for this payment`);
  }
  const paidTwice = Math.max(
    repeated(payments, ({ memo }) => memo),
    repeated(payments, ({ senderGatewayTransactionId }) => senderGatewayTransactionId),
    repeated(payments, ({ creationRequestSignatureBase64 }) => creationRequestSignatureBase64),
  );
  const takenTwice = repeated(
    bank.filter(({ kind }) => kind === "take"),
    ({ key }) => key,
  );
  const released = new Set(bank.filter(({ kind }) => kind === "release").map(({ key }) => key));
  const releasedThoughPaid = [...released].filter((key) => paymentsOf.has(key)).length;
  const broken = { paidTwice, takenTwice, releasedThoughPaid, unsettled, violations };
  return { flows: keys.length, ...count, heldWithPayment, ...broken };
}

function brokenLaws(outcome: Outcome, payments: readonly Payment[], entries: readonly BankEntry[]): string[] {
  const takes = entries.filter(({ kind }) => kind === "take");
  const releases = entries.filter(({ kind }) => kind === "release");
  const laws: Readonly<Record<Outcome["status"], readonly JudgedLaw[]>> = {
    paid: [
      [payments.length === 1, `paid, with ${payments.length} payments at the service`],
      [payments[0]?.id === outcome.paymentId, "paid, with another payment"],
      [payments[0]?.senderGatewayTransactionId === takes[0]?.transactionId, "paid with another transaction's money"],
      [payments[0]?.senderAmount === takes[0]?.amount, "paid another amount than was taken"],
      [takes.length === 1, `paid, with money taken ${takes.length} times`],
      [releases.length === 0, "paid, and the money given back"],
    ],
    declined: [
      [payments.length === 0, "declined, and paid"],
      // Only a journal that lost the flow can decline one whose money was taken and given back.
      [releases.length === takes.length, `declined, with ${takes.length} takes and ${releases.length} releases`],
    ],
    rejected: [
      [payments.length === 0, "rejected, and paid"],
      [releases.length === takes.length, `rejected, with ${takes.length} takes and ${releases.length} releases`],
    ],
    held: [
      [payments.length <= 1, `held, with ${payments.length} payments at the service`],
      [takes.length === 1, `held, with money taken ${takes.length} times`],
      [releases.length === 0, "held, and the money given back"],
    ],
  };
  const takenAs = takes[0]?.transactionId;
  const isOwn = outcome.transactionId === undefined || outcome.transactionId === takenAs;
  const all: readonly JudgedLaw[] = [...laws[outcome.status], [isOwn, "names another transaction"]];
  return all.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}

type JudgedLaw = readonly [holds: boolean, otherwise: string];

function isSame(one: Outcome, other: Outcome | undefined): boolean {
  return one.status === other?.status && one.paymentId === other.paymentId && one.transactionId === other.transactionId;
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

/** How many keys have more than one item. */
function repeated<T>(items: readonly T[], keyOf: (item: T) => string): number {
  return [...groupBy(items, keyOf).values()].filter(({ length }) => length > 1).length;
}
