import { counted } from "../errors/counted.js";
import { InvalidArgumentError } from "../errors/errors.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "../flows/funds-functions.js";
import {
  type Check,
  type CheckTable,
  isBoolean,
  isFunction,
  isPlainObject,
  isWholeFrom,
  parseOptions,
} from "../options/option-table.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import { Choices, seedOf } from "./choices.js";
import { prepareClients } from "./cluster.js";
import { fundsMarks } from "./marks.js";
import type { Emphasis } from "./profile.js";
import { type Figures, runSchedule, type ScheduleOptions } from "./run-schedule.js";
import { shrink } from "./shrink.js";
import { type Counterexample, SimulationError } from "./simulation-error.js";
import type { Violation } from "./truth.js";
import type { FundsPair } from "./watched-funds.js";

/** What to simulate. */
export interface SimulateFlowsOptions {
  /** As given to `PaymentFlow`. Default: that of a simulated bank. */
  readonly takeFunds?: TakeFundsByKey | undefined;
  /** As given to `PaymentFlow`. Default: that of a simulated bank. */
  readonly releaseFunds?: ReleaseFundsByKey | undefined;
  /**
   * Fields of the intents that your functions are given. The simulation sets `senderGatewayId` ("our gateway") and `memo` (the key).
   * Default: EUR from the account `DE02 1203 0000 0000 2020 51` to BRL 600.00 for `0001-9 / 12345-6` of "their gateway".
   */
  readonly intent?: SimulatedIntent | undefined;
  /** How many schedules are run. Default: 1,000. */
  readonly schedules?: number | undefined;
  /** The number of the first schedule. Default: 0. */
  readonly first?: number | undefined;
  /** Whole number that everything follows from. Default: a random one, which the report names. */
  readonly seed?: number | undefined;
  /** Flows of one schedule. Default: 3. */
  readonly flows?: number | undefined;
  /** Processes of one schedule. Default: 3. */
  readonly processes?: number | undefined;
  /** Replays one schedule instead, by the choices that a `SimulationError` printed. */
  readonly choices?: readonly number[] | undefined;
  /** Whether a schedule that breaks a law is made as short as possible, which takes some seconds. Default: true. */
  readonly shrinks?: boolean | undefined;
  /** Tells the flow of facts about the service that may not be true, which then shows as violations. Default: false. */
  readonly hasFalseFacts?: boolean | undefined;
}

/** Fields of an intent that a user chooses. */
export type SimulatedIntent = Partial<Omit<PaymentIntentRequest, "senderGatewayId" | "memo">>;

/** What came of a simulation in which no law was broken. */
export interface SimulationReport extends Figures {
  readonly seed: number;
  readonly schedules: number;
  /** Share of flows that were held for a person. */
  readonly heldShare: number;
  /** Share of the errors with effect `possible` that were about a flow of which no payment was ever sent. */
  readonly needlessShare: number;
  readonly schedulesPerSecond: number;
  /**
   * In how many schedules each mark was reached. A mark is a step of a flow, `phase: what happened before it: what followed`, or a case of
   * your functions, such as `takeFunds returned null`.
   */
  readonly marks: Readonly<Record<string, number>>;
  /** Cases of your functions that never came up, each as a sentence, such as `releaseFunds was never called`. */
  readonly neverHappened: readonly string[];
}

/**
 * Runs the real `PaymentFlow` in a simulated world: virtual time, processes that are paused, suspended and killed wherever they wait, a
 * journal, a network, a service and a bank that fail. Everything follows from the seed, as far as your functions do.
 *
 * `takeFunds` and `releaseFunds` are called for real, thousands of times, with keys that no other simulation uses: run them against a
 * test system, and begin with few schedules. Give both or none. One simulation at a time in a thread, and nothing else of this
 * package beside it: time is virtual for all of it.
 *
 * @throws {SimulationError} The first law that is broken, with the shortest schedule that was found to break it.
 * @throws {InvalidArgumentError} Your functions were given, and not one flow was paid, given back or held: nothing was tested. `cause` is what
 * `takeFunds` threw first.
 */
export function simulateFlows(options: SimulateFlowsOptions = {}): Promise<SimulationReport> {
  return simulateWith(undefined, options);
}

/** Who is asked for each schedule, and told what it reached. */
export interface Observer {
  /** `undefined`: the one that follows from the seed. */
  next(): Choices | undefined;
  learn(choices: Choices, marks: ReadonlyMap<string, number>): void;
}

/** As `simulateFlows` does, in a world in which some things happen more often, and with an observer. */
export async function simulateWith(
  emphasis: Emphasis | undefined,
  options: SimulateFlowsOptions,
  observer?: Observer,
): Promise<SimulationReport> {
  const { schedules, first, seed, choices, shrinks, ...given } = checked(options);
  const schedule = { ...given, emphasis };
  if (isRunning) throw new InvalidArgumentError("simulateFlows: one simulation at a time in a thread");
  isRunning = true;
  const startMs = performance.now();
  const total = { ...noFigures };
  const marks = new Map<string, number>();
  const traceLimit = Error.stackTraceLimit;
  // Thousands of errors are thrown, and nobody reads where.
  Error.stackTraceLimit = 0;
  try {
    await prepareClients();
    const count = choices === undefined ? schedules : 1;
    for (let index = first; index < first + count; index++) {
      const drawn =
        choices === undefined ? (observer?.next() ?? Choices.fromSeed(seedOf(seed, index))) : Choices.replay(choices);
      const { violation, figures, marks: reached } = await runSchedule(drawn, schedule);
      if (violation !== undefined) {
        const where = { seed, schedule: index, choices: drawn.made };
        throw await explain(violation, where, schedule, shrinks && choices === undefined);
      }
      observer?.learn(drawn, reached);
      for (const name of figureNames) total[name] += figures[name];
      for (const mark of reached.keys()) marks.set(mark, (marks.get(mark) ?? 0) + 1);
    }
    if (given.funds !== undefined && choices === undefined) assertTested(total, given.funds.failure);
    return { ...toReport(total, seed, count, performance.now() - startMs), ...toMarkReport(marks) };
  } finally {
    Error.stackTraceLimit = traceLimit;
    isRunning = false;
  }
}

/** The clock that is replaced is one for all code of this thread. */
let isRunning = false;

const noFigures: { -readonly [Name in keyof Figures]: number } = {
  events: 0,
  flows: 0,
  paid: 0,
  held: 0,
  heldThoughPaid: 0,
  givenBack: 0,
  errors: 0,
  possible: 0,
  needless: 0,
};
const figureNames = Object.keys(noFigures) as (keyof Figures)[];

function toMarkReport(marks: ReadonlyMap<string, number>): Pick<SimulationReport, "marks" | "neverHappened"> {
  const missing = Object.entries(fundsMarks).filter(([mark]) => !marks.has(mark));
  return { marks: Object.fromEntries(marks), neverHappened: missing.map(([, sentence]) => sentence) };
}

function toReport(
  figures: Figures,
  seed: number,
  schedules: number,
  tookMs: number,
): Omit<SimulationReport, "marks" | "neverHappened"> {
  const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);
  return {
    ...figures,
    seed,
    schedules,
    heldShare: share(figures.held, figures.flows),
    needlessShare: share(figures.needless, figures.possible),
    schedulesPerSecond: schedules / (tookMs / 1000),
  };
}

/** @throws {InvalidArgumentError} where no money ever moved, and no law could be broken. */
function assertTested({ flows, paid, givenBack, held }: Figures, failure: unknown): void {
  if (paid + givenBack + held > 0) return;
  const why =
    failure === undefined
      ? "takeFunds declines them all: give an intent that its ledger takes, such as { senderAccount, senderCurrency }"
      : `takeFunds failed: ${failure instanceof Error ? failure.message : String(failure)}`;
  throw new InvalidArgumentError(
    `simulateFlows: nothing was tested, since none of ${counted(flows, "flow")} was paid, given back or held. ${why}`,
    { cause: failure },
  );
}

/** The shortest schedule that breaks the same law, and what happens in it. */
async function explain(
  found: Violation,
  where: Pick<Counterexample, "seed" | "schedule" | "choices">,
  schedule: ScheduleOptions,
  shrinks: boolean,
): Promise<SimulationError> {
  const replay = (choices: readonly number[], isTraced: boolean) =>
    runSchedule(Choices.replay(choices), { ...schedule, isTraced });
  const isFailing = async (choices: readonly number[]) => {
    const { violation } = await replay(choices, false);
    return violation !== undefined && nameOf(violation) === nameOf(found);
  };
  const choices = shrinks ? await shrink(where.choices, isFailing, mostTries) : where.choices;
  const { violation = found, trace, profile } = await replay(choices, true);
  return new SimulationError(violation, { ...where, choices, trace, profile: { ...profile } });
}

/** What is wrong, whichever flow it is about. */
function nameOf({ law, message }: Violation): string {
  return `${law} ${message.replaceAll(/\d+/g, "")}`;
}

const mostTries = 1500;

const optionChecks: CheckTable<SimulateFlowsOptions> = {
  takeFunds: { accepts: isFunction, wanted: "a function" },
  releaseFunds: { accepts: isFunction, wanted: "a function" },
  intent: { accepts: isPlainObject, wanted: "an object" },
  schedules: wholeFrom(1),
  first: wholeFrom(0),
  seed: wholeFrom(0),
  flows: wholeFrom(1),
  processes: wholeFrom(1),
  choices: {
    accepts: (value) => Array.isArray(value) && value.every(wholeFrom(0).accepts),
    wanted: "a list of whole numbers, as a SimulationError has it",
  },
  shrinks: { accepts: isBoolean, wanted: "true or false" },
  hasFalseFacts: { accepts: isBoolean, wanted: "true or false" },
};

function wholeFrom(least: number): Check {
  return {
    accepts: isWholeFrom(least),
    wanted: `a whole number, ${least} or more`,
  };
}

function checked(given: SimulateFlowsOptions) {
  const refuse = (message: string) => new InvalidArgumentError(`simulateFlows: ${message}`);
  const options: SimulateFlowsOptions = parseOptions(optionChecks, given, "the options", refuse);
  const { takeFunds, releaseFunds, intent = {}, choices, shrinks = true, hasFalseFacts = false } = options;
  if ((takeFunds === undefined) !== (releaseFunds === undefined)) {
    throw refuse("give takeFunds and releaseFunds, or none of them");
  }
  if ("senderGatewayId" in intent || "memo" in intent) {
    throw refuse("intent must have no senderGatewayId and no memo, which the simulation sets");
  }
  const own = takeFunds === undefined || releaseFunds === undefined ? undefined : new OwnFunds(takeFunds, releaseFunds);
  const run = own === undefined ? "" : `${globalThis.crypto.randomUUID()}-`;
  let made = 0;
  return {
    schedules: options.schedules ?? 1000,
    first: options.first ?? 0,
    seed: options.seed ?? Math.floor(Math.random() * 2 ** 31),
    flows: options.flows ?? 3,
    processes: options.processes ?? 3,
    choices,
    shrinks,
    hasFalseFacts,
    intent: { ...intent },
    funds: own,
    // A bank never forgets a key: each schedule has its own.
    keyOf: (flow: number) => (own === undefined ? `flow ${flow + 1}` : `${run}${++made}`),
    isTraced: false,
  };
}

/** A user's own functions. */
class OwnFunds implements FundsPair {
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  /** What `takeFunds` threw first. */
  failure: unknown;

  constructor(takeFunds: TakeFundsByKey, releaseFunds: ReleaseFundsByKey) {
    this.releaseFunds = releaseFunds;
    this.takeFunds = async (context) => {
      try {
        const taken = await takeFunds(context);
        if (typeof taken !== "object" || taken === null) return taken;
        // Without takenAtMs: the bank's clock tells real time, and that of a simulation does not.
        const { senderGatewayTransactionId, replayed } = taken;
        return { senderGatewayTransactionId, replayed };
      } catch (error) {
        this.failure ??= error;
        throw error;
      }
    };
  }
}
