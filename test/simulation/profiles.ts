import type { Choices } from "../../src/simulation/choices.js";
import type { Emphasis, Profile } from "../../src/simulation/profile.js";

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
  /** The journal is restored to the moment before a process took a flow over, and that process goes on; what it pays is listed late. */
  "restores after takeovers": (_, choices) => ({
    ...calm(choices),
    restoresJournal: true,
    restoreMeets: "a new owner",
    stopsAfterTaking: 400,
    readBackDelayMs: 1500,
    listLagMs: 1490,
    leastListLagMs: 1200,
    latencyMs: choices.of([50, 300]),
    lostResponses: choices.of([0, 700]),
  }),
  /** Processes are killed while their payments are on the way, or not listed yet. */
  "late payments": (_, choices) => ({
    kills: choices.of([60, 150]),
    lateRequests: choices.of([300, 700]),
    listLagMs: choices.of([0, 300]),
    readBackDelayMs: 400,
  }),
  /** The same, and little else goes wrong. */
  "abandoned claims": (_, choices) => ({
    ...mostlyCalm(choices),
    kills: choices.of([15, 60]),
    lateRequests: choices.of([300, 700]),
    listLagMs: choices.of([0, 300]),
    readBackDelayMs: 400,
  }),
  /**
   * Writes to the journal arrive late, and twice, while operators decide and the money of refused payments is given back. Where a list is short and
   * without tokens, no look finds again what such a write has undone.
   */
  "late writes": (_, choices) => ({
    ...choices.of<Partial<Profile>>([{ tokens: "none", mostListed: 8, traffic: 5 }, {}]),
    ...choices.of<Partial<Profile>>([
      { listedWithinMs: undefined, tellsListedWithin: false },
      { listedWithinMs: 2000, tellsListedWithin: true },
    ]),
    journalIsLate: choices.of([60, 250]),
    journalRepeats: choices.of([60, 250]),
    journalFailsAfter: choices.of([0, 250]),
    journalIsSlow: 0,
    refusals: choices.of([0, 400]),
    lostResponses: choices.of([100, 400]),
    operators: choices.of([0, 900]),
    kills: choices.of([0, 60]),
    restoresJournal: false,
    misplacesRows: false,
  }),
  /** Quotes are confirmed about when they expire, by writes that arrive late, and the journal's clock is set back. */
  "late confirmations": (_, choices) => ({
    ...lateConfirmations(choices),
    quoteTtlMs: 1000,
    journalRepeats: choices.of([150, 400]),
    journalFailsBefore: 0,
    journalFailsAfter: 0,
    journalIsSlow: 0,
    setsJournalBack: choices.chance(700),
  }),
  /** Confirmations whose writes arrive late, after others that fail as they begin. */
  "failed confirmations": (_, choices) => ({
    ...lateConfirmations(choices),
    quoteTtlMs: 5000,
    journalFailsBefore: choices.of([250, 500]),
  }),
  /**
   * A server that lacks the journal's newest changes takes the place of another one, while payments are being sent: the service wants some of
   * them again later, connections are slow, and what a lost claim has paid is listed late.
   */
  failovers: (_, choices) => failovers(choices),
  /** The same, and then the first server takes its place again: what was stored and done meanwhile is forgotten, and refusals are remembered. */
  failbacks: (_, choices) => ({
    ...failovers(choices),
    failsOver: "after a refusal, and back",
    refusals: choices.of([300, 500]),
    passingRefusals: 0,
    unsent: 0,
    kills: choices.of([15, 60]),
    bankFailsBefore: choices.of([400, 700]),
    bankFailsAfter: 0,
    quotes: 0,
    operators: 0,
  }),
  /** As `failovers`, once a payment that the service refused for the time being has been claimed again, by an owner that stops before it sends. */
  "failovers after refusals": (_, choices) => ({
    ...calm(choices),
    failsOver: "after another claim",
    leaseMs: 1000,
    readBackDelayMs: 1500,
    listLagMs: 1490,
    leastListLagMs: 1200,
    latencyMs: 50,
    // What is sent late, by an owner that does not know yet that another one has the flow, is listed later.
    stopsBeforeSending: 600,
    stopQuarters: [4],
    unsent: choices.of([0, 300]),
    slowMs: 900,
    // An owner that stood still and whose wall clock was set back meanwhile can't know that its time is over.
    clockJumpsOnWaking: 0,
    passingRefusals: 600,
    sparesOthers: true,
  }),
  /** The journal's clock is set back while processes are killed. */
  "journal's clock": (_, choices) => ({
    setsJournalBack: true,
    kills: choices.of([60, 150]),
    livesMs: undefined,
  }),
  /** No process lives for as long as the flow waits before it gives money back, or the journal's clock was set back. */
  "short lives": (drawn, choices) => ({
    livesMs: choices.of([0.9, 0.5]) * drawn.leaseMs,
    setsJournalBack: choices.chance(300),
    latencyMs: choices.of([5, 50]),
    refusals: choices.of([0, 400]),
    lostResponses: choices.of([0, 400]),
    bankFailsAfter: choices.of([0, 400]),
    operators: 0,
  }),
  /** Many others pay, and pages are short: the payment is soon no more on the first one. */
  "busy lists": (_, choices) => ({
    ...mostlyCalm(choices),
    traffic: choices.of([5, 12]),
    mostListed: choices.of([8, 22]),
    othersPayments: choices.of([9, 30]),
    tokens: choices.of(["cached", "uuid", "falling", "growing"]),
    duplicates: choices.of([0, 500]),
    foreignRefusals: choices.of([300, 700]),
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
  /** The operators promise how soon a payment is listed, and clocks are corrected forward again and again, each time by less than a lease. */
  "corrected clocks": (_, choices) => ({
    ...calm(choices),
    clockJumps: choices.of([60, 150]),
    clockSteps: [0.3, 0.6],
    leaseMs: 1000,
    listedWithinMs: 2000,
    tellsListedWithin: true,
    listLagMs: 0,
    readBackDelayMs: 400,
    latencyMs: 50,
    lateRequests: 700,
  }),
  /** Requests leave late, since connections take nearly as long as the lease, and are on their way for as long as the operators promise. */
  "late in the lease": (_, choices) => ({
    ...calm(choices),
    leaseMs: 1000,
    slowMs: 900,
    unsent: choices.of([400, 700]),
    sparesOthers: true,
    listedWithinMs: 5000,
    tellsListedWithin: true,
    listLagMs: 0,
    readBackDelayMs: 400,
    latencyMs: 50,
    lateRequests: 700,
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
  /** Operators decide about flows whose payments were made, listed, and not seen. */
  operators: (_, choices) => ({
    ...undisturbed,
    operators: 900,
    withoutProof: 0,
    lostResponses: choices.of([400, 700]),
    foreignResponses: choices.of([0, 400]),
    listFailures: choices.of([400, 700]),
    listLagMs: choices.of([0, 300]),
    readBackDelayMs: 400,
    latencyMs: choices.of([5, 50]),
    quotes: 0,
    repeats: choices.of([0, 700]),
    listedWithinMs: undefined,
    tellsListedWithin: false,
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
  /** As `stops`, while connections are slow and the operators promise how soon a payment is listed. */
  "stops before sending": (_, choices) => ({
    pauses: choices.of([0, 60]),
    suspends: choices.of([60, 150]),
    clockJumps: choices.of([0, 60]),
    operators: choices.of([0, 900]),
    listedWithinMs: 1000,
    tellsListedWithin: true,
    // Between the claim and its first byte there is time to be stopped in.
    unsent: 500,
    kills: 0,
    lateRequests: 0,
    listFailures: 0,
    quotes: 0,
  }),
  /** Processes stop between the claim and its first byte, some wake with another time, and a look proves absence soon. */
  "stopped claims": (_, choices) => ({
    ...undisturbed,
    leaseMs: 400,
    readBackDelayMs: 400,
    stopsBeforeSending: 600,
    clockJumps: 0,
    clockJumpsOnWaking: choices.of([0, 1000]),
    listedWithinMs: 500,
    tellsListedWithin: true,
    listLagMs: 0,
    latencyMs: 5,
    lateRequests: 0,
    lostRequests: 0,
    duplicates: 0,
    operators: 0,
    quotes: 0,
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
    pauses: 0,
    kills: 0,
    clockJumpsOnWaking: 1000,
    listLagMs: 0,
    listedWithinMs: 1000,
    tellsListedWithin: true,
    unsent: 500,
    lateRequests: 0,
    listFailures: 0,
    quotes: 0,
  }),
  /** Processes stop for longer than their leases once they have the money, and wake when the journal has been restored to the time before. */
  "restores beside stops": (_, choices) => ({
    ...calm(choices),
    restoresJournal: true,
    restoreMeets: "a stopped owner",
    leaseMs: 1000,
    readBackDelayMs: 400,
    stopsAfterTaking: 400,
    stopQuarters: [40],
    listLagMs: 0,
  }),
  /** Somebody repairs the journal by hand, and copies one row over another. */
  "misplaced rows": (_, choices) => ({
    misplacesRows: true,
    kills: choices.of([15, 60]),
  }),
  /** A cache responds to some requests for lists, and says how old its responses are. */
  "cached lists": (_, choices) => ({
    ...mostlyCalm(choices),
    ...lists(choices, 700),
    leaseMs: 400,
    readBackDelayMs: 400,
    cachedLists: choices.of([150, 900]),
    latencyMs: 300,
  }),
  /** A page is empty once, as one of a replica that has just started. */
  "empty pages": (_, choices) => ({
    ...lists(choices),
    emptyPages: choices.of([60, 400]),
    // What a journal has lost, or has pruned, shows no payment of the gateway.
    restoresJournal: false,
    prunes: 0,
  }),
  /** Nobody else pays, and a list is empty although the journal knows of a payment. */
  "first payments": (_, choices) => ({
    ...lists(choices),
    emptyPages: 600,
    othersPayments: 0,
    traffic: 0,
    latencyMs: 300,
    readBackDelayMs: 1500,
    duplicates: 0,
    foreignRefusals: choices.of([300, 500]),
    lateRequests: 0,
    lostRequests: 0,
    quotes: 0,
    restoresJournal: false,
    prunes: 0,
  }),
  /** Replicas behind a load balancer: one that lacks the page before may give any page. */
  "stale pages": (_, choices) => ({
    ...mostlyCalm(choices),
    ...lists(choices, 700),
    leaseMs: 400,
    stalePages: choices.of([60, 300]),
    replicaLagMs: choices.of([0, 300]),
    readBackDelayMs: 400,
    othersPayments: choices.of([9, 30]),
    traffic: choices.of([5, 12]),
    mostListed: choices.of([8, 22]),
  }),
  /** Replicas that lag within what is relied on, each by its own time or by another one each time. */
  "lagging replicas": (_, choices) => ({
    ...lists(choices),
    replicaLagMs: choices.of([100, 390]),
    replicas: choices.of(["one", "any", "change"]),
    readBackDelayMs: 400,
  }),
  /** Lists that are older than is relied on, where a flow's mark shows it, or a payment that the process knows. */
  "old lists": (_, choices) => ({
    ...lists(choices),
    oldLists: choices.of([500, 900]),
    oldListsEnd: choices.of(["before all flows", "before what was shown"]),
    processes: choices.of([1, 2]),
    readBackDelayMs: 400,
    latencyMs: 50,
    foreignRefusals: 500,
    tokens: choices.of(["growing", "falling"]),
    earlierPayments: 1,
    traffic: 1,
    othersPayments: choices.of([1, 9, 30]),
    mostListed: choices.of([8, 22, 100]),
    // What a process was shown has to have reached it.
    pauses: 0,
    suspends: 0,
    aborts: 0,
    listFailures: 0,
    restoresJournal: false,
  }),
  /** Others pay by a machine whose clock is an hour ahead: their payments stay the newest ones. */
  "dates ahead": (_, choices) => ({
    ...lists(choices),
    datedAhead: choices.of([10, 50]),
    tokens: "timed",
    earlierPayments: 100,
    othersPayments: 1,
    traffic: choices.of([5, 12]),
    mostListed: 22,
    listFailures: 0,
  }),
  /** The service's machines have clocks of their own, and make times and tokens by them. */
  "machines' clocks": (_, choices) => ({
    ...lists(choices),
    machineSkewMs: choices.of([4000, 6000]),
    tokens: "timed",
    earlierPayments: 100,
    othersPayments: 1,
    mostListed: 22,
    listFailures: 0,
  }),
  /** The bank's clock differs from the service's, and says when it took the money of entries that the journal loses. */
  "the bank's clock": (_, choices) => ({
    ...lists(choices),
    tellsTakenAt: true,
    bankSkewMs: choices.of([500, 3000]),
    clockJumps: 0,
    clockJumpsOnWaking: 0,
    restoresJournal: true,
    repeats: 700,
    kills: choices.of([60, 150]),
    duplicates: 0,
    lateRequests: 0,
    tokens: choices.of(["growing", "falling"]),
    traffic: choices.of([5, 12]),
    othersPayments: 30,
    mostListed: 22,
    listFailures: 0,
    quotes: 0,
  }),
  /**
   * The service's base URL changes while flows are open. Some processes go on under the old one, or are stopped there until it is switched
   * off; others move the flows, and are killed while they do.
   */
  addresses: (_, choices) => ({
    changesAddress: true,
    leaseMs: 400,
    readBackDelayMs: 400,
    listLagMs: choices.of([0, 300]),
    quoteTtlMs: choices.of([1000, 5000]),
    latencyMs: choices.of([5, 50, 300]),
    kills: choices.of([0, 15, 60]),
    livesMs: undefined,
    pauses: choices.of([60, 150]),
    foreignRefusals: choices.of([500, 150]),
    duplicates: choices.of([0, 500]),
    listFailures: 0,
    // Where nothing else is listed, an address that was switched off looks like one at which nobody has paid.
    othersPayments: choices.of([0, 9]),
    traffic: choices.of([0, 1]),
    emptyPages: 0,
    restoresJournal: false,
    misplacesRows: false,
    sharesJournal: "no",
  }),
  /** Something else than the service responds to much, and what was sent may still arrive. */
  proxies: (_, choices) => ({
    ...mostlyCalm(choices),
    foreignResponses: choices.of([400, 700]),
  }),
  /** Another gateway's process shares the journal. */
  "two gateways": (_, choices) => ({
    sharesJournal: choices.of(["by id", "by key"]),
    kills: choices.of([15, 60]),
  }),
} satisfies Readonly<Record<string, Emphasis>>;

/** Nothing stops a confirmation but the journal. */
const undisturbed = {
  kills: 0,
  pauses: 0,
  suspends: 0,
  aborts: 0,
  declines: 0,
  bankFailsBefore: 0,
  bankFailsAfter: 0,
  refusals: 0,
  passingRefusals: 0,
  listFailures: 0,
  restoresJournal: false,
  misplacesRows: false,
} satisfies Partial<Profile>;

/** Quotes that are confirmed, now and then twice, by writes that arrive late. */
function lateConfirmations(choices: Choices) {
  return {
    ...undisturbed,
    quotes: 1000,
    repeats: choices.of([300, 700]),
    cancels: 0,
    latencyMs: choices.of([50, 300]),
    journalIsLate: choices.of([150, 400]),
  } satisfies Partial<Profile>;
}

/** Nothing goes wrong at all, and nobody promises anything. */
function calm(choices: Choices) {
  return {
    ...undisturbed,
    shutdowns: 0,
    livesMs: undefined,
    clockJumps: 0,
    journalFailsBefore: 0,
    journalFailsAfter: 0,
    journalIsSlow: 0,
    journalIsLate: 0,
    journalRepeats: 0,
    setsJournalBack: false,
    bankIsSlow: 0,
    lostRequests: 0,
    lostResponses: 0,
    lateRequests: 0,
    duplicates: 0,
    unsent: 0,
    foreignResponses: 0,
    foreignRefusals: 0,
    cachedLists: 0,
    emptyPages: 0,
    stalePages: 0,
    listedWithinMs: undefined,
    tellsListedWithin: false,
    isSingleUse: false,
    tellsSingleUse: false,
    tokens: choices.of(["growing", "falling"]),
    sharesJournal: "no",
    repeats: 0,
    quotes: 0,
    operators: 0,
  } satisfies Partial<Profile>;
}

/** What a world is about meets nothing else in most of its schedules, and everything else in some. */
function mostlyCalm(choices: Choices): Partial<Profile> {
  return choices.chance(600) ? calm(choices) : {};
}

function failovers(choices: Choices): Partial<Profile> {
  return {
    failsOver: "any time",
    leaseMs: 1000,
    readBackDelayMs: 1500,
    listLagMs: 1490,
    kills: choices.of([15, 60]),
    pauses: choices.of([0, 60]),
    suspends: 0,
    shutdowns: 0,
    aborts: 0,
    latencyMs: 50,
    journalFailsBefore: 0,
    lostRequests: 0,
    unsent: choices.of([500, 0]),
    slowMs: 900,
    foreignRefusals: 0,
    cachedLists: 0,
    stalePages: 0,
    livesMs: undefined,
    tokens: choices.of(["growing", "falling"]),
    bankFailsAfter: choices.of([0, 400]),
    bankFailsBefore: 0,
    bankIsSlow: choices.of([0, 400]),
    declines: 0,
    refusals: 0,
    passingRefusals: choices.of([400, 100]),
    listFailures: 0,
    repeats: 700,
    quotes: choices.of([0, 0, 600]),
  };
}

/** Much is decided by looks: payments whose first response is a refusal, or none. */
function lists(choices: Choices, mostRefusals = 500): Partial<Profile> {
  return {
    cachedLists: 0,
    emptyPages: 0,
    stalePages: 0,
    listLagMs: 0,
    kills: choices.of([0, 60]),
    duplicates: choices.of([0, 500]),
    foreignRefusals: choices.of([300, mostRefusals]),
    operators: choices.of([0, 900]),
    withoutProof: 0,
    machineSkewMs: 0,
    tokens: choices.of(["growing", "falling", "uuid"]),
  };
}

export type ProfileName = keyof typeof profiles;

export function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
