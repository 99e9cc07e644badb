import { setTimeout as pause } from "node:timers/promises";
import type { BankFault, BankOptions } from "./bank.js";
import type { ServiceFault, ServiceOptions } from "./service.js";
import type { Task } from "./worker-messages.js";

export interface Crash {
  readonly point: string;
  readonly nth?: number;
  /** By the call for its key, or by recovering what is abandoned. */
  readonly by: "run" | "recover";
}

/** Processes that die one after the other while they run the same flow; then another one recovers it. */
export interface CrashCase {
  readonly name: string;
  readonly crashes: readonly Crash[];
  /** What the sender asks for. Default: `run`. */
  readonly way?: Task["way"];
  /** How long a quote holds in the processes that die. */
  readonly quoteTtlMs?: number;
  readonly declined?: boolean;
  /** The bank takes half a lease for each call, so that the lease is renewed meanwhile. */
  readonly slowBank?: boolean;
  readonly intentFault?: ServiceFault;
  readonly paymentFault?: ServiceFault;
  /** What happens to the first payment request alone. */
  readonly firstPaymentFault?: ServiceFault;
  /** What happens to the first call of the bank. */
  readonly firstBankFault?: BankFault;
  /** How the flow may end. */
  readonly ends: readonly ("paid" | "declined" | "rejected" | "held")[];
}

type Setting = Omit<CrashCase, "name" | "crashes" | "ends">;

const plain: Setting = {};
const confirms: Setting = { way: "quote-confirm" };
const cancels: Setting = { way: "quote-cancel" };
const renews: Setting = { way: "quote-twice", quoteTtlMs: 1000 };
const declines: Setting = { declined: true };
const slow: Setting = { slowBank: true };
const bankFails: Setting = { firstBankFault: "unavailable" };
const refusesIntent: Setting = { intentFault: "refuse" };
const refuses: Setting = { paymentFault: "refuse" };
const throttles: Setting = { firstPaymentFault: "throttle" };
const losesResponse: Setting = { paymentFault: "lost" };
const losesRequest: Setting = { paymentFault: "reset" };

const paid = ["paid"] as const;
const declined = ["declined"] as const;
const rejected = ["rejected"] as const;
const held = ["held"] as const;
/** Where a write is under way, it may or may not be stored. */
const either = ["paid", "held"] as const;

/** Around sending: from the claim on nobody else may send it, since nobody can know whether it was sent. */
const sending = {
  "before-check": held,
  "after-check": held,
  sent: either,
  "first-byte": paid,
  response: paid,
} as const;

const alwaysPaid = { before: paid, during: paid, after: paid } as const;
const claiming = { before: paid, during: either, after: held } as const;

/** Every named point, and how a flow has to end whose process died there. */
export const crashCases: readonly CrashCase[] = [
  ...once(plain, "begin:funds-requested", alwaysPaid),
  ...once(plain, "take", { before: paid, after: paid }),
  ...once(plain, "write:claimed", claiming),
  ...once(plain, "dispatch", sending),
  ...once(plain, "write:paid", alwaysPaid),
  ...once(confirms, "begin:quoted", alwaysPaid),
  ...once(confirms, "replace-quote:funds-requested", alwaysPaid),
  ...once(confirms, "take", { before: paid, after: paid }),
  ...once(confirms, "write:claimed", claiming),
  ...once(confirms, "dispatch", sending),
  ...once(confirms, "write:paid", alwaysPaid),
  ...once(cancels, "replace-quote:declined", { before: declined, during: declined, after: declined }),
  ...once(renews, "replace-quote:quoted", alwaysPaid),
  ...once(slow, "renew", alwaysPaid),
  ...once(bankFails, "write:funds-requested", alwaysPaid),
  ...once(bankFails, "release", alwaysPaid),
  ...once(declines, "write:declined", { before: declined, during: declined, after: declined }),
  ...once(refusesIntent, "begin:rejected", { before: rejected, during: rejected, after: rejected }),
  ...once(refuses, "dispatch", { response: held }),
  ...once(refuses, "write:unknown", { before: held, during: ["held", "rejected"], after: rejected }),
  ...once(refuses, "write:refused", { before: rejected, during: rejected, after: rejected }),
  ...once(refuses, "give-back", { before: rejected, after: rejected }),
  ...once(refuses, "write:rejected", { before: rejected, during: rejected, after: rejected }),
  ...once(throttles, "write:unknown", { before: held, during: either, after: paid }),
  ...once(throttles, "write:funds-requested", alwaysPaid),
  ...once(losesResponse, "write:unknown", alwaysPaid),
  ...once(losesResponse, "write:paid", alwaysPaid),
  ...once(losesRequest, "write:unknown", { before: held, during: held, after: held }),
  ...once(losesRequest, "write:unknown", { before: held, during: held, after: held }, 2),
  ...once(losesRequest, "write:held", { before: held, during: held, after: held }),
  ...twice(plain, "begin:funds-requested:after", "acquire", "run", alwaysPaid),
  ...twice(plain, "take:after", "acquireAbandoned", "recover", { after: paid }),
  ...twice(plain, "take:after", "take", "recover", { before: paid, after: paid }),
  ...twice(plain, "take:after", "write:claimed", "recover", { before: paid, after: held }),
  ...twice(plain, "take:after", "dispatch", "recover", { "before-check": held, sent: either }),
  ...twice(confirms, "begin:quoted:after", "replace-quote:funds-requested", "run", { before: paid, after: paid }),
  ...twice(confirms, "replace-quote:funds-requested:after", "take", "run", { before: paid, after: paid }),
  ...twice(confirms, "take:after", "write:claimed", "recover", { before: paid, after: held }),
  ...twice(losesResponse, "dispatch:sent", "write:unknown", "recover", { before: either, after: either }),
  ...twice(losesResponse, "write:unknown:after", "write:paid", "recover", alwaysPaid),
  ...twice(losesResponse, "write:unknown:after", "acquire", "run", { before: paid, after: paid }),
  ...twice(plain, "dispatch:before-check", "write:held", "recover", { before: held, during: held, after: held }),
  ...twice(refuses, "write:refused:after", "give-back", "recover", { before: rejected, after: rejected }),
  ...twice(refuses, "give-back:after", "write:rejected", "run", { before: rejected, after: rejected }),
];

/**
 * Where a process is stopped for longer than its lease, while another one takes its flow over and settles it. The one point at which
 * nobody can help it is `dispatch:after-check`, after the last check and before the socket: its payment is made late, once, and the
 * flow is held.
 */
export const stopCases: readonly CrashCase[] = [
  ...[plain, confirms].flatMap((setting) => [
    ...once(setting, "take", { before: paid, after: paid }),
    ...once(setting, "write:claimed", { before: paid, after: held }),
    ...once(setting, "dispatch", sending),
    ...once(setting, "write:paid", { before: paid }),
  ]),
  ...once(plain, "begin:funds-requested", { after: paid }),
  ...once(confirms, "replace-quote:funds-requested", { after: paid }),
  ...once(declines, "write:declined", { before: declined }),
  ...once(losesResponse, "write:unknown", { before: paid, after: paid }),
  ...once(losesRequest, "write:held", { before: held }),
  ...once(refuses, "write:unknown", { before: held, after: rejected }),
  ...once(refuses, "write:refused", { before: rejected, after: rejected }),
  ...once(refuses, "give-back", { before: rejected, after: rejected }),
  ...once(refuses, "write:rejected", { before: rejected }),
  ...once(throttles, "write:funds-requested", { before: paid }),
];

/** A service and a bank that do what each flow's case says. */
export function surroundings(
  caseOf: (key: string) => CrashCase | undefined,
  leaseMs: number,
): ServiceOptions & { readonly bank: BankOptions } {
  return {
    fault(operation, key, attempt) {
      const { intentFault, paymentFault, firstPaymentFault } = caseOf(key) ?? {};
      if (operation === "paymentIntents.create") return intentFault ?? "none";
      if (operation !== "payments.create") return "none";
      return paymentFault ?? (attempt === 1 ? firstPaymentFault : undefined) ?? "none";
    },
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    bank: {
      declines: (key) => caseOf(key)?.declined ?? false,
      fault: (key, attempt) => (attempt === 1 ? caseOf(key)?.firstBankFault : undefined) ?? "none",
      onCall: (_, key) => (caseOf(key)?.slowBank === true ? pause(leaseMs / 2) : undefined),
    },
  };
}

type Points = Readonly<Record<string, CrashCase["ends"]>>;

function once(setting: Setting, step: string, points: Points, nth = 1): CrashCase[] {
  return Object.entries(points).map(([when, ends]) => {
    const point = `${step}:${when}`;
    const name = [settingName(setting), point, ...(nth === 1 ? [] : [String(nth)])].join(" ");
    return { ...setting, name, crashes: [{ point, nth, by: "run" }], ends };
  });
}

function twice(setting: Setting, first: string, step: string, by: Crash["by"], points: Points): CrashCase[] {
  return Object.entries(points).map(([when, ends]) => {
    const point = `${step}:${when}`;
    const crashes = [{ point: first, by: "run" } as const, { point, by }];
    return { ...setting, name: `${settingName(setting)} ${first} then ${point}`, crashes, ends };
  });
}

function settingName(setting: Setting): string {
  const parts = Object.entries(setting).map(([name, value]) => (name === "way" ? value : nameOf(name, value)));
  return parts.length === 0 ? "plain" : parts.join(" ");
}

function nameOf(name: string, value: Setting[keyof Setting]): string {
  return value === true ? name : `${name}-${value}`;
}

/** Each case as often as is asked for, under a key of its own, and the keys of each lane. */
export function dealOut<Case extends Pick<CrashCase, "name">>(
  cases: readonly Case[],
  { times, lanes: count }: { readonly times: number; readonly lanes: number },
): { readonly byKey: ReadonlyMap<string, Case>; readonly lanes: readonly (readonly string[])[] } {
  const all = Array.from({ length: times }, (_, time) =>
    cases.map((one) => [`${one.name} #${time + 1}`, one] as const),
  );
  const byKey = new Map(all.flat());
  const keys = [...byKey.keys()];
  const lanes = Array.from({ length: count }, (_, lane) => keys.filter((_, index) => index % count === lane));
  return { byKey, lanes };
}
