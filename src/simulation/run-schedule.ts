import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import { AddressChange } from "./address-change.js";
import { Callers } from "./callers.js";
import type { Choices } from "./choices.js";
import { Cluster } from "./cluster.js";
import { JournalRestore } from "./journal-restore.js";
import { drawProfile, type Profile, type ProfileOptions } from "./profile.js";
import type { ScheduleRecorder } from "./schedule-recorder.js";
import { SimulatedBank } from "./simulated-bank.js";
import { SimulatedJournal } from "./simulated-journal.js";
import { SimulatedNetwork } from "./simulated-network.js";
import { SimulatedService } from "./simulated-service.js";
import { Truth, Violation } from "./truth.js";
import type { FundsPair } from "./watched-funds.js";
import { World } from "./world.js";

export interface ScheduleOptions extends ProfileOptions {
  /** A user's own; by default those of a bank as it should be. */
  readonly funds: FundsPair | undefined;
  /** Fields of every flow's request that are other than by default. */
  readonly intent: Partial<PaymentIntentRequest>;
  /** The key of a flow, by its number. */
  readonly keyOf: (flow: number) => string;
  readonly isTraced: boolean;
  /** What the schedule is made of, where that is not drawn, and for how many leases things go wrong at least. */
  readonly fixed?: { readonly profile: Profile; readonly leases: number } | undefined;
  readonly recorder?: ScheduleRecorder | undefined;
}

/** What came of one schedule. */
export interface ScheduleResult {
  readonly profile: Profile;
  readonly violation: Violation | undefined;
  readonly trace: readonly string[];
  readonly figures: Figures;
  /** How often each mark was reached. */
  readonly marks: ReadonlyMap<string, number>;
}

/** Counts, to be added up. */
export interface Figures {
  readonly events: number;
  readonly flows: number;
  readonly paid: number;
  readonly held: number;
  /** Held, and paid nevertheless. */
  readonly heldThoughPaid: number;
  readonly givenBack: number;
  readonly errors: number;
  readonly possible: number;
  /** Errors that said `possible` about a flow of which no payment was ever sent. */
  readonly needless: number;
}

const mostEvents = 20_000;

/** Runs the flows of one schedule to their ends, and holds what happened against the laws. */
export async function runSchedule(choices: Choices, options: ScheduleOptions): Promise<ScheduleResult> {
  const profile = options.fixed?.profile ?? drawProfile(choices, options);
  const world = new World(choices, profile, options.isTraced);
  world.recorder = options.recorder;
  options.recorder?.begin(world);
  const truth = new Truth(world);
  const service = new SimulatedService(world, truth);
  if (profile.hasLookalike) truth.onTaken = (transactionId) => service.addLookalike(transactionId);
  const journal = new SimulatedJournal(world, truth);
  const network = new SimulatedNetwork(world, service, truth);
  const funds = options.funds ?? bankOf(world);
  for (let left = profile.earlierPayments; left > 0; left--) service.addOther((left - 1) * 40);
  const cluster = new Cluster({ world, truth, journal, network, funds });
  const callers = new Callers(world, cluster, journal, truth, options.intent);
  const keys = Array.from({ length: profile.flows }, (_, flow) => options.keyOf(flow));
  callers.plan(keys);
  const restore = new JournalRestore({ world, cluster, callers, journal, service, truth });
  if (profile.restoresJournal) restore.plan();
  if (profile.failsOver !== "no") restore.planSudden();
  const addressChange = profile.changesAddress
    ? new AddressChange({ world, cluster, journal, service, truth })
    : undefined;
  addressChange?.plan();
  if (profile.setsJournalBack) planClock(world, journal);
  if (profile.misplacesRows) planMisplacing(world, journal, truth, keys);
  planTraffic(world, service);
  const hasViolation = () => truth.violation !== undefined;
  let violation: Violation | undefined;
  try {
    const workUntilMs = world.nowMs + (options.fixed?.leases ?? choices.below(12)) * profile.leaseMs;
    const endMs = world.nowMs + 40 * profile.leaseMs;
    const isOver = () => (callers.areDone && world.nowMs >= workUntilMs) || world.nowMs >= endMs;
    await world.run(() => hasViolation() || isOver(), mostEvents);
    if (!hasViolation()) {
      world.quieten(cluster.processes);
      await addressChange?.finish();
      await endQuietly(world, callers, journal, truth, keys);
    }
  } catch (error) {
    violation = new Violation("settled", error instanceof Error ? error.message : String(error));
  }
  violation = truth.violation ?? violation;
  const figures = await figuresOf(world, truth, journal);
  return { profile, violation, trace: world.trace ?? [], figures, marks: world.marks.reached };
}

function bankOf(world: World): SimulatedBank {
  const { choices, profile } = world;
  const declines = () => choices.chance(profile.declines);
  if (!profile.tellsTakenAt) return new SimulatedBank(declines);
  const aheadMs = choices.of([0, 1, -1]) * profile.bankSkewMs;
  return new SimulatedBank(declines, () => Math.floor(world.nowMs) + aheadMs);
}

/** No more faults: everything that was begun comes to its end. */
async function endQuietly(
  world: World,
  callers: Callers,
  journal: SimulatedJournal,
  truth: Truth,
  keys: readonly string[],
): Promise<void> {
  const { leaseMs } = world.profile;
  const isBroken = () => truth.violation !== undefined;
  let stuck: ReadonlySet<string> = new Set();
  for (let round = 0; round < 12 && !isBroken(); round++) {
    const untilMs = world.nowMs + (4 + 2 ** round) * leaseMs;
    await world.run(() => isBroken() || (world.nowMs >= untilMs && callers.areDone), mostEvents);
    for (const key of keys) {
      const entry = await journal.read(key);
      // A flow that the journal has lost can only be run again by the caller that wanted it.
      const isLost = entry === undefined || entry.phase === "quoted";
      if (isLost && truth.of(key).funds === "taken") callers.runAgain(key, (round * leaseMs) / 7);
    }
    if (round < 2 || !callers.areDone) continue;
    const readable = keys.filter((key) => !truth.of(key).isMisplaced);
    if (await areSettled(journal, readable)) break;
    if (round < 4) continue;
    stuck = await callers.stuckFlows();
    if (await areSettled(journal, readable, stuck)) break;
  }
  for (const key of keys) {
    if (isBroken()) return;
    const entry = await journal.read(key);
    // It may have gone on since it was shown.
    const isStuck = stuck.has(key) && entry?.settled !== true;
    truth.assertEnded(truth.of(key), isStuck ? "held" : entry?.phase, isStuck || (entry?.settled ?? true));
  }
}

/** @param stuck flows that wait for a person. */
async function areSettled(
  journal: SimulatedJournal,
  keys: readonly string[],
  stuck: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  for (const key of keys) {
    const entry = await journal.read(key);
    if (entry !== undefined && !entry.settled && !stuck.has(key)) return false;
  }
  return true;
}

/** Somebody copies a flow's row over another's. */
function planMisplacing(world: World, journal: SimulatedJournal, truth: Truth, keys: readonly string[]): void {
  const { choices, profile } = world;
  const from = choices.below(keys.length);
  const fromKey = keys[from];
  const toKey = keys[(from + 1 + choices.below(keys.length - 1)) % keys.length];
  if (fromKey === undefined || toKey === undefined || fromKey === toKey) return;
  world.plan(choices.below(10 * profile.leaseMs), "a mistake in the journal", undefined, () => {
    void journal.copyOver(fromKey, toKey).then((isDone) => {
      const to = truth.of(toKey);
      to.isMisplaced ||= isDone;
      to.wasLost ||= isDone;
    });
  });
}

/** Somebody sets the clock of the journal's server back. */
function planClock(world: World, journal: SimulatedJournal): void {
  const { leaseMs } = world.profile;
  world.plan(world.choices.below(10 * leaseMs), "the journal's clock is set back", undefined, () =>
    journal.setClock(-hoursBack * 3_600_000),
  );
}

const hoursBack = 2;

/** Others pay too, in the beginning: later on, when most is waited for, it would only make the lists longer. */
function planTraffic(world: World, service: SimulatedService): void {
  const { traffic, leaseMs } = world.profile;
  if (traffic === 0) return;
  const apartMs = world.choices.of([1, 0]);
  const plan = (rounds: number) => {
    world.plan(leaseMs / 2, "payments of others", undefined, () => {
      for (let left = traffic; left > 0; left--) service.addOther((left - 1) * apartMs);
      if (!world.isQuiet && rounds > 1) plan(rounds - 1);
    });
  };
  plan(10);
}

async function figuresOf(world: World, truth: Truth, journal: SimulatedJournal): Promise<Figures> {
  const figures = { flows: 0, paid: 0, held: 0, heldThoughPaid: 0, givenBack: 0, possible: 0, needless: 0 };
  for (const { key, payments, funds, errorsPossible, sendings } of truth.keys.values()) {
    const isHeld = (await journal.read(key))?.phase === "held";
    figures.flows += 1;
    if (payments.length > 0) figures.paid += 1;
    if (isHeld) figures.held += 1;
    if (isHeld && payments.length > 0) figures.heldThoughPaid += 1;
    if (funds === "released") figures.givenBack += 1;
    figures.possible += errorsPossible;
    if (sendings === 0) figures.needless += errorsPossible;
  }
  return { ...figures, events: world.events, errors: truth.errors };
}
