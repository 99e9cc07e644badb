import type { Emphasis } from "../../src/simulation/profile.js";

/**
 * Worlds in which some things happen more often, for rules that it takes several rare events to miss. `npm run simulate` takes their
 * names; without one, everything happens now and then.
 */
export const profiles = {
  /** The journal is restored to an earlier moment, and processes are killed around it. */
  restores: (_, choices) => ({
    restoresJournal: true,
    kills: choices.of([60, 150]),
    latencyMs: choices.of([50, 300]),
    // What is on its way puts the restore off.
    lateRequests: 0,
    duplicates: 0,
    listLagMs: 0,
    quotes: 0,
  }),
  /** Processes are killed while their payments are on the way, or not listed yet. */
  "late payments": (_, choices) => ({
    kills: choices.of([60, 150]),
    lateRequests: choices.of([300, 700]),
    listLagMs: choices.of([0, 300]),
    readBackDelayMs: 400,
  }),
  /** Many others pay, and pages are short: the payment is soon no more on the first one. */
  "busy lists": (_, choices) => ({
    traffic: choices.of([5, 12]),
    mostListed: choices.of([8, 22]),
    othersPayments: choices.of([9, 30]),
    tokens: choices.of(["cached", "uuid", "falling", "growing"]),
    duplicates: choices.of([0, 500]),
    foreignRefusals: 300,
    repeats: choices.of([0, 500]),
  }),
  /** Entries get lost while many others pay. */
  "lost entries": (_, choices) => ({
    restoresJournal: true,
    repeats: 700,
    kills: choices.of([60, 150]),
    traffic: choices.of([5, 12]),
    mostListed: 22,
    othersPayments: choices.of([9, 30]),
    tokens: choices.of(["growing", "falling"]),
    listFailures: 0,
    quotes: 0,
  }),
  /** The operators promise how soon a payment is listed, and requests take nearly as long. */
  "listed in time": (_, choices) => ({
    listedWithinMs: 2000,
    tellsListedWithin: true,
    listLagMs: choices.of([0, 100]),
    readBackDelayMs: 400,
    lateRequests: choices.of([300, 700]),
    lostRequests: choices.of([0, 400]),
    unsent: choices.of([0, 400]),
    bankIsSlow: choices.of([0, 400]),
    clockJumps: choices.of([0, 60]),
    isSingleUse: false,
    tellsSingleUse: false,
  }),
  /** An intent can be paid once, the operators say so, and much is sent again. */
  "single use": (_, choices) => ({
    isSingleUse: true,
    tellsSingleUse: true,
    tellsListedWithin: false,
    listedWithinMs: undefined,
    lostResponses: choices.of([0, 400]),
    lateRequests: choices.of([200, 600]),
    listLagMs: 1200,
    readBackDelayMs: 1500,
  }),
  /** Customers look at prices in several windows, and confirm late. */
  quotes: (_, choices) => ({
    quotes: 1000,
    quoteTtlMs: 1000,
    repeats: choices.of([300, 700]),
  }),
  /** Processes stop for longer than their leases, and clocks are set, while others take over. */
  stops: (_, choices) => ({
    pauses: choices.of([0, 60, 150]),
    suspends: choices.of([60, 150]),
    clockJumps: choices.of([0, 60]),
    operators: choices.of([0, 900]),
    listedWithinMs: 2000,
    tellsListedWithin: choices.chance(500),
  }),
  /** Processes stop for longer than their leases, and wake with another time. */
  "set clocks": (_, choices) => ({
    pauses: choices.of([60, 150]),
    suspends: 0,
    kills: 0,
    clockJumps: choices.of([0, 60]),
    clockJumpsOnWaking: 1000,
    lateRequests: choices.of([300, 700]),
    operators: choices.of([0, 900]),
    listLagMs: 0,
    listedWithinMs: 1000,
    tellsListedWithin: true,
  }),
  /** Machines are suspended for longer than the leases, and wake with another time. */
  suspensions: (_, choices) => ({
    suspends: choices.of([60, 150]),
    kills: 0,
    clockJumpsOnWaking: 1000,
    listLagMs: 0,
    listedWithinMs: 1000,
    tellsListedWithin: true,
  }),
  /** Processes stop for longer than their leases, and the journal is restored to the time before. */
  "restores beside stops": (_, choices) => ({
    restoresJournal: true,
    pauses: choices.of([60, 150]),
    kills: 0,
    bankFailsBefore: 0,
    bankFailsAfter: 0,
    declines: 0,
    journalFailsBefore: 0,
    journalFailsAfter: 0,
    tokens: "growing",
    listFailures: 0,
    lostRequests: 0,
    lostResponses: 0,
    // What is on its way puts the restore off.
    lateRequests: 0,
    duplicates: 0,
    listLagMs: 0,
    quotes: 0,
  }),
  /** Somebody repairs the journal by hand, and copies one row over another. */
  "misplaced rows": (_, choices) => ({
    misplacesRows: true,
    kills: choices.of([15, 60]),
  }),
  /** Another gateway's process shares the journal. */
  "two gateways": (_, choices) => ({
    sharesJournal: choices.of(["by id", "by key"]),
    kills: choices.of([15, 60]),
  }),
} satisfies Readonly<Record<string, Emphasis>>;

export type ProfileName = keyof typeof profiles;

export function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
