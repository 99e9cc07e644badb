import type { Choices } from "./choices.js";

/** What a service's paging tokens look like. */
export type TokenKind = "growing" | "uuid" | "falling" | "cached" | "timed" | "none";

/** Everything that is settled before a schedule begins. What can go wrong is given in cases of a thousand. */
export interface Profile {
  readonly processes: number;
  readonly flows: number;
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  readonly quoteTtlMs: number;
  /** A call to the outside takes less than this. */
  readonly latencyMs: number;
  /** A slow one takes less than this, before it gets there. */
  readonly slowMs: number;

  readonly kills: number;
  readonly pauses: number;
  readonly suspends: number;
  /** Stops of either kind in the moment in which a process hears that its claim is stored. */
  readonly stopsBeforeSending: number;
  /** The same where it hears that the money is taken. */
  readonly stopsAfterTaking: number;
  /** A stop takes so many quarters of a lease at most: one of these. */
  readonly stopQuarters: readonly [number, ...number[]];
  readonly clockJumps: number;
  /** By how many leases a clock is set at once: by one of these. */
  readonly clockSteps: readonly [number, ...number[]];
  /** Pauses after which the clock is another. */
  readonly clockJumpsOnWaking: number;
  readonly shutdowns: number;
  /** How long each process lives, in milliseconds, whatever else happens; `undefined` where nothing ends it. */
  readonly livesMs: number | undefined;
  readonly aborts: number;

  readonly journalFailsBefore: number;
  readonly journalFailsAfter: number;
  readonly journalIsSlow: number;
  /** Changes that the caller gives up, and that arrive some time later all the same. */
  readonly journalIsLate: number;
  /** Changes that arrive a second time, some time later. */
  readonly journalRepeats: number;
  /** Whether the journal's clock is set back, by hours, once. */
  readonly setsJournalBack: boolean;
  /** When a server that lacks the journal's newest changes takes its place, once, while everybody goes on. */
  readonly failsOver: "no" | "any time" | "after another claim" | "after a refusal, and back";
  /** Whether it is restored to an earlier snapshot, once. */
  readonly restoresJournal: boolean;
  /** Whom the restore meets: an owner that has just taken a flow over, or one that stood still while another one paid, and wakes. */
  readonly restoreMeets: "anyone" | "a new owner" | "a stopped owner";
  /** Whether the service's base URL changes, once, and the flows are moved. */
  readonly changesAddress: boolean;
  /** Whether somebody copies what is stored of one flow over another's, once. */
  readonly misplacesRows: boolean;

  readonly bankFailsBefore: number;
  readonly bankFailsAfter: number;
  readonly bankIsSlow: number;
  readonly declines: number;

  readonly ciphers: boolean;
  /** Looks around in which what is settled is pruned. */
  readonly prunes: number;
  /** Whether one process belongs to another gateway that shares the journal, and what tells them apart. */
  readonly sharesJournal: "no" | "by id" | "by key";

  readonly quotes: number;
  readonly cancels: number;
  readonly repeats: number;
  readonly operators: number;
  readonly withoutProof: number;

  /** Requests that never arrive. */
  readonly lostRequests: number;
  readonly lostResponses: number;
  /** Payments whose request is on its way for long. */
  readonly lateRequests: number;
  /** Requests that a proxy sends twice. */
  readonly duplicates: number;
  readonly refusals: number;
  /** Refusals of an intent or a payment that pass: 401 and 429. */
  readonly passingRefusals: number;
  /** Responses of something else than the service, after the service did its work or instead of it. */
  readonly foreignResponses: number;
  /** Errors of a framework or a proxy, in the service's own form, after the payment was made. */
  readonly foreignRefusals: number;
  /** Looks that get no list. */
  readonly listFailures: number;
  /** Pages that come from a cache, and say so. */
  readonly cachedLists: number;
  /** Pages that are empty once. */
  readonly emptyPages: number;
  /** Pages that come from a replica which lacks the record that they would begin with. */
  readonly stalePages: number;
  /** Looks at a list that is older than its readers rely on, where they could know better. */
  readonly oldLists: number;
  readonly oldListsEnd: "before all flows" | "before what was shown";
  /** Replicas lag by so much at most: each by its own time, reached by one process always or by any, or by another time at each request. */
  readonly replicaLagMs: number;
  readonly replicas: "one" | "any" | "change";
  /** By so much the clocks of the service's machines differ at most. Times and timed tokens are theirs. */
  readonly machineSkewMs: number;
  /** Whether the bank says when it took the money, by a clock that differs from all others by so much at most. */
  readonly tellsTakenAt: boolean;
  readonly bankSkewMs: number;
  /** Connections that are slow, or refused. */
  readonly unsent: number;
  /** Whether what goes wrong on the way to the service meets payments alone: intents and lists arrive. */
  readonly sparesOthers: boolean;

  readonly isSingleUse: boolean;
  /** A payment is listed so long after it was made at most, and at least. */
  readonly listLagMs: number;
  readonly leastListLagMs: number;
  /** So long after it was sent at most, whatever happens on the way; `undefined` where nobody can promise it. */
  readonly listedWithinMs: number | undefined;
  readonly tellsSingleUse: boolean;
  readonly tellsListedWithin: boolean;
  readonly tokens: TokenKind;
  readonly mostListed: number;
  /** Payments of others that are there from the start. */
  readonly othersPayments: number;
  /** Payments that others made in the moments before the schedule begins. */
  readonly earlierPayments: number;
  /** Payments that others make now and then while the schedule runs. */
  readonly traffic: number;
  /** Payments of others that are made by a machine whose clock is an hour ahead. */
  readonly datedAhead: number;
  /** Whether somebody else's payment carries a transaction id of ours. */
  readonly hasLookalike: boolean;
  readonly normalises: boolean;
  /** Whether its records are nested so deeply that few programs can write them. */
  readonly nestsDeeply: boolean;
  /** Whether the client throws on whatever the description does not have. */
  readonly isStrict: boolean;
}

/** Bounds of a simulation. */
export interface ProfileOptions {
  readonly processes: number;
  readonly flows: number;
  /** Whether the flow may be told of facts that are not true. */
  readonly hasFalseFacts: boolean;
  /** Changes what was drawn, so that some things happen more often. */
  readonly emphasis?: Emphasis | undefined;
}

export type Emphasis = (drawn: Profile, choices: Choices) => Partial<Profile>;

/** Draws what a schedule is made of. Each kind of fault is left out of most schedules, so that those that are left meet one another. */
export function drawProfile(choices: Choices, options: ProfileOptions): Profile {
  const broad = drawBroadly(choices, options);
  const drawn = { ...broad, ...options.emphasis?.(broad, choices) };
  return drawn.failsOver !== "no" ? { ...drawn, ...whatFailoversNeed } : drawn;
}

/**
 * A claim that a failover lost is one that nobody looks for: a payment that is sent for it has to arrive while its owner's lease lasts, as
 * far as anything can be proved by waiting.
 */
const whatFailoversNeed = {
  restoresJournal: false,
  misplacesRows: false,
  lateRequests: 0,
  duplicates: 0,
  foreignResponses: 0,
} satisfies Partial<Profile>;

function drawBroadly(choices: Choices, { processes, flows, hasFalseFacts }: ProfileOptions): Profile {
  const some = (...rates: [number, ...number[]]) => (choices.chance(300) ? choices.of(rates) : 0);
  const leaseMs = choices.of([1000, 400]);
  const readBackDelayMs = choices.of([400, 1500]);
  const isSingleUse = choices.chance(400);
  const isListedInTime = choices.chance(300);
  return {
    processes,
    flows,
    leaseMs,
    readBackDelayMs,
    quoteTtlMs: choices.of([5000, 1000]),
    latencyMs: choices.of([5, 50, 300]),
    slowMs: choices.of([1, 4]) * leaseMs,
    kills: some(15, 60, 150),
    pauses: some(15, 60, 150),
    suspends: some(15, 60),
    stopsBeforeSending: 0,
    stopsAfterTaking: 0,
    stopQuarters: [8, 40],
    clockJumps: some(15, 60),
    clockSteps: [-1, 1, -60, 60],
    clockJumpsOnWaking: some(300),
    shutdowns: some(150, 400),
    livesMs: choices.chance(50) ? choices.of([0.9, 0.5]) * leaseMs : undefined,
    aborts: some(150, 400),
    journalFailsBefore: some(50, 250),
    journalFailsAfter: some(50, 250),
    journalIsSlow: some(50, 250),
    journalIsLate: some(50, 250),
    journalRepeats: some(50, 250),
    setsJournalBack: choices.chance(100),
    failsOver: "no",
    changesAddress: false,
    restoresJournal: choices.chance(200),
    restoreMeets: "anyone",
    misplacesRows: flows > 1 && choices.chance(30),
    bankFailsBefore: some(100, 400),
    bankFailsAfter: some(100, 400),
    bankIsSlow: some(100, 400),
    declines: some(300),
    ciphers: choices.chance(150),
    prunes: some(300),
    sharesJournal: processes > 1 && choices.chance(150) ? choices.of(["by id", "by key"]) : "no",
    quotes: choices.chance(500) ? 600 : 0,
    cancels: some(300),
    repeats: some(300, 700),
    operators: some(500, 900),
    withoutProof: some(200),
    lostRequests: some(100, 400),
    lostResponses: some(100, 400),
    // What is promised about late requests is tried where there are some.
    lateRequests: isListedInTime ? choices.of([300, 700]) : some(200, 600),
    duplicates: some(150, 500),
    refusals: some(100, 400),
    passingRefusals: some(100, 400),
    foreignResponses: some(100, 400),
    foreignRefusals: some(150, 500),
    listFailures: some(100, 400),
    cachedLists: some(100, 400),
    emptyPages: some(30, 150),
    stalePages: some(30, 150),
    // Only together with what would show it: see the world of old lists.
    oldLists: 0,
    oldListsEnd: "before all flows",
    replicaLagMs: 0,
    replicas: choices.of(["one", "any", "change"]),
    machineSkewMs: some(20, 2000),
    tellsTakenAt: choices.chance(300),
    bankSkewMs: choices.of([0, 500]),
    unsent: some(100, 400),
    sparesOthers: false,
    isSingleUse,
    listLagMs: choices.of([0, 1, 5, 8]) * Math.floor(readBackDelayMs / 10),
    leastListLagMs: 0,
    listedWithinMs: isListedInTime ? choices.of([2000, 5000]) : undefined,
    tellsSingleUse: (isSingleUse || hasFalseFacts) && choices.chance(700),
    tellsListedWithin: (isListedInTime || hasFalseFacts) && choices.chance(700),
    tokens: choices.of(["growing", "uuid", "falling", "cached", "timed", "none"]),
    mostListed: choices.of([100, 8, 22]),
    othersPayments: choices.weighted([
      [0, 40],
      [1, 25],
      [9, 20],
      [30, 15],
    ]),
    earlierPayments: 0,
    traffic: choices.chance(300) ? choices.of([1, 5]) : 0,
    datedAhead: 0,
    hasLookalike: choices.chance(30),
    normalises: choices.chance(200),
    nestsDeeply: choices.chance(20),
    isStrict: choices.chance(100),
  };
}
