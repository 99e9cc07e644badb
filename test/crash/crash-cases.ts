import type { BankOptions } from "./bank.js";
import type { ServiceFault, ServiceOptions } from "./service.js";

export interface Crash {
  readonly point: string;
  readonly nth?: number;
  /** By `run` with the key, or by recovering what is abandoned. */
  readonly by: "run" | "recover";
}

/** Processes that die one after the other while they run the same flow; then another one recovers it. */
export interface CrashCase {
  readonly name: string;
  readonly crashes: readonly Crash[];
  readonly declined?: boolean;
  readonly intentFault?: ServiceFault;
  readonly paymentFault?: ServiceFault;
  /** How the flow may end. */
  readonly ends: readonly ("paid" | "declined" | "rejected" | "held")[];
}

type Setting = Omit<CrashCase, "name" | "crashes" | "ends">;

const plain: Setting = {};
const declines: Setting = { declined: true };
const refusesIntent: Setting = { intentFault: "refuse" };
const refuses: Setting = { paymentFault: "refuse" };
const losesResponse: Setting = { paymentFault: "lost" };
const losesRequest: Setting = { paymentFault: "reset" };

const paid = ["paid"] as const;
const declined = ["declined"] as const;
const rejected = ["rejected"] as const;
const held = ["held"] as const;

/** Every named point, and how a flow has to end whose process died there. */
export const crashCases: readonly CrashCase[] = [
  ...once(plain, "begin", { before: paid, during: paid, after: paid }),
  ...once(plain, "take", { before: paid, after: paid }),
  // From here on nobody else may send it, since nobody can know whether it was sent. Some journals have written before they return their
  // promise: the process then dies later, when the claim may be there already.
  ...once(plain, "write:claimed", { before: paid, during: ["paid", "held"], after: held }),
  ...once(plain, "dispatch", {
    "before-check": held,
    "after-check": held,
    sent: ["paid", "held"],
    "first-byte": paid,
    response: paid,
  }),
  ...once(plain, "write:paid", { before: paid, during: paid, after: paid }),
  ...once(declines, "write:declined", { before: declined, during: declined, after: declined }),
  ...once(refusesIntent, "begin", { before: rejected, during: rejected, after: rejected }),
  ...once(refuses, "dispatch", { response: held }),
  ...once(refuses, "write:unknown", { before: held, during: ["held", "rejected"], after: rejected }),
  ...once(refuses, "write:refused", { before: rejected, during: rejected, after: rejected }),
  ...once(refuses, "give-back", { before: rejected, after: rejected }),
  ...once(refuses, "write:rejected", { before: rejected, during: rejected, after: rejected }),
  ...once(losesResponse, "write:unknown", { before: paid, during: paid, after: paid }),
  ...once(losesResponse, "write:paid", { before: paid, during: paid, after: paid }),
  ...once(losesRequest, "write:unknown", { before: held, during: held, after: held }),
  ...once(losesRequest, "write:unknown", { before: held, during: held, after: held }, 2),
  ...once(losesRequest, "write:held", { before: held, during: held, after: held }),
  ...twice(plain, "begin:after", "acquire", "run", { before: paid, during: paid, after: paid }),
  ...twice(plain, "take:after", "acquireAbandoned", "recover", { after: paid }),
  ...twice(plain, "take:after", "take", "recover", { before: paid, after: paid }),
  ...twice(plain, "take:after", "write:claimed", "recover", { before: paid, after: held }),
  ...twice(plain, "take:after", "dispatch", "recover", { "before-check": held, sent: ["paid", "held"] }),
  ...twice(losesResponse, "dispatch:sent", "write:unknown", "recover", { before: paid, after: paid }),
  ...twice(losesResponse, "write:unknown:after", "write:paid", "recover", { before: paid, during: paid, after: paid }),
  ...twice(plain, "dispatch:before-check", "write:held", "recover", { before: held, during: held, after: held }),
  ...twice(refuses, "write:refused:after", "give-back", "recover", { before: rejected, after: rejected }),
  ...twice(refuses, "give-back:after", "write:rejected", "run", { before: rejected, after: rejected }),
];

/** A service and a bank that do what each flow's case says. */
export function surroundings(
  caseOf: (key: string) => CrashCase | undefined,
): ServiceOptions & { readonly bank: BankOptions } {
  return {
    fault(operation, key) {
      if (operation === "payments.create") return caseOf(key)?.paymentFault ?? "none";
      return (operation === "paymentIntents.create" ? caseOf(key)?.intentFault : undefined) ?? "none";
    },
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    bank: { declines: (key) => caseOf(key)?.declined ?? false, fault: () => "none" },
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

function settingName({ declined, intentFault, paymentFault }: Setting): string {
  if (declined === true) return "declined";
  if (intentFault !== undefined) return `intent-${intentFault}`;
  return paymentFault === undefined ? "plain" : `payment-${paymentFault}`;
}
