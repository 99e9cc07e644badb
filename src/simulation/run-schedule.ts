import { Callers } from "./callers.js";
import type { Choices } from "./choices.js";
import { Cluster } from "./cluster.js";
import { drawProfile, type Profile, type ProfileOptions } from "./profile.js";
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
  /** The key of a flow, by its number. */
  readonly keyOf: (flow: number) => string;
  readonly isTraced: boolean;
}

/** What came of one schedule. */
export interface ScheduleResult {
  readonly profile: Profile;
  readonly violation: Violation | undefined;
  readonly trace: readonly string[];
  readonly figures: Figures;
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
  const profile = drawProfile(choices, options);
  const world = new World(choices, profile, options.isTraced);
  const truth = new Truth(world);
  const service = new SimulatedService(world, truth);
  if (profile.hasLookalike) truth.onTaken = (transactionId) => service.addLookalike(transactionId);
  const journal = new SimulatedJournal(world, truth);
  const network = new SimulatedNetwork(world, service, truth);
  const funds = options.funds ?? new SimulatedBank(() => choices.chance(profile.declines));
  const cluster = new Cluster({ world, truth, journal, network, funds });
  const callers = new Callers(world, cluster, journal, truth);
  const keys = Array.from({ length: profile.flows }, (_, flow) => options.keyOf(flow));
  callers.plan(keys);
  if (profile.restoresJournal) planRestore(world, cluster, journal, service, truth);
  planTraffic(world, service);
  const hasViolation = () => truth.violation !== undefined;
  let violation: Violation | undefined;
  try {
    const workUntilMs = world.nowMs + choices.below(12) * profile.leaseMs;
    const endMs = world.nowMs + 40 * profile.leaseMs;
    const isOver = () => (callers.areDone && world.nowMs >= workUntilMs) || world.nowMs >= endMs;
    await world.run(() => hasViolation() || isOver(), mostEvents);
    if (!hasViolation()) await endQuietly(world, cluster, callers, journal, truth, keys);
  } catch (error) {
    violation = new Violation("settled", error instanceof Error ? error.message : String(error));
  }
  violation = truth.violation ?? violation;
  const figures = await figuresOf(world, truth, journal);
  return { profile, violation, trace: world.trace ?? [], figures };
}

/** No more faults: everything that was begun comes to its end. */
async function endQuietly(
  world: World,
  cluster: Cluster,
  callers: Callers,
  journal: SimulatedJournal,
  truth: Truth,
  keys: readonly string[],
): Promise<void> {
  world.quieten(cluster.processes);
  const { leaseMs } = world.profile;
  const isBroken = () => truth.violation !== undefined;
  let stuck: ReadonlySet<string> = new Set();
  for (let round = 0; round < 12 && !isBroken(); round++) {
    const untilMs = world.nowMs + (4 + 2 ** round) * leaseMs;
    await world.run(() => isBroken() || (world.nowMs >= untilMs && callers.areDone), mostEvents);
    for (const key of keys) {
      const entry = await journal.read(key);
      // A flow that the journal has lost can only be run again by whoever wanted it.
      const isLost = entry === undefined || entry.phase === "quoted";
      if (isLost && truth.of(key).funds === "taken") callers.runAgain(key);
    }
    if (round < 2 || !callers.areDone) continue;
    if (await areSettled(journal, keys)) break;
    if (round < 4) continue;
    stuck = await callers.stuckFlows();
    if (await areSettled(journal, keys, stuck)) break;
  }
  for (const key of keys) {
    if (isBroken()) return;
    const entry = await journal.read(key);
    const isStuck = stuck.has(key);
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

/**
 * The journal loses its newest changes, at a moment at which every payment that was sent is listed. Whoever was about to send one, or
 * waited for its response, is stopped first: that is how a journal has to be restored.
 */
function planRestore(
  world: World,
  cluster: Cluster,
  journal: SimulatedJournal,
  service: SimulatedService,
  truth: Truth,
): void {
  const { choices, profile } = world;
  let isLate = 0;
  const restore = async () => {
    const isMoving = service.hasUnlisted || [...truth.keys.values()].some(({ open }) => open > 0);
    if (isMoving && isLate < 20) {
      isLate += 1;
      soon(profile.leaseMs / 2);
      return;
    }
    if (isMoving) return;
    const lost = choices.below(choices.of([4, 12, 60])) + 1;
    const before = new Map<string, string>();
    for (const [key, keyTruth] of truth.keys) {
      const entry = await journal.read(key);
      if (entry === undefined) continue;
      before.set(key, `${entry.phase} ${entry.nonce}`);
      const owner = cluster.processes.find(({ name, isDead }) => name === entry.owner && !isDead);
      const isSending = entry.phase === "claimed" || entry.phase === "unknown" || keyTruth.sendings > 0;
      if (owner !== undefined && isSending) cluster.replace(owner);
    }
    await journal.restore(Math.max(0, journal.age - lost));
    world.note(`the journal is restored: its last ${lost} changes are lost`);
    for (const [key, known] of before) {
      const entry = await journal.read(key);
      if (`${entry?.phase} ${entry?.nonce}` === known) continue;
      truth.of(key).wasLost = true;
      truth.of(key).toldNothing = undefined;
    }
  };
  const soon = (delayMs: number) => world.plan(delayMs, "restoring the journal", undefined, () => void restore());
  if (choices.chance(500)) {
    // Where a process has just stored something, and goes on.
    const age = 4 + choices.below(30);
    journal.onChanged = () => {
      if (journal.age < age) return;
      journal.onChanged = () => {};
      soon(choices.below(profile.latencyMs));
    };
  } else {
    soon(choices.below(10 * profile.leaseMs));
  }
}

/** Others pay too, in the beginning: later on, when most is waited for, it would only make the lists longer. */
function planTraffic(world: World, service: SimulatedService, rounds = 10): void {
  const { traffic, leaseMs } = world.profile;
  if (traffic === 0 || rounds === 0) return;
  world.plan(leaseMs / 2, "payments of others", undefined, () => {
    for (let made = 0; made < traffic; made++) service.addOther();
    if (!world.isQuiet) planTraffic(world, service, rounds - 1);
  });
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
