import { type ApiClient, apiClientOf } from "../api/api-client.js";
import { ConfigError, InvalidArgumentError } from "../errors/errors.js";
import { traceFrom } from "../errors/trace-from.js";
import type { FlowPhase } from "../events/flow-event.js";
import {
  assertOptions,
  isFunction,
  isPlainObject,
  isPositiveInteger,
  isWholeFrom,
  type OptionTable,
  parseOptions,
  type WithDefaults,
  withDefaults,
} from "../options/option-table.js";
import { uniqueId } from "../platform/unique-id.js";
import type { FlowClient } from "./flow-client.js";
import type { FlowContext, ServiceFacts } from "./flow-context.js";
import { type FlowEvents, readFlowHooks } from "./flow-events.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
import { timedJournal } from "./gauges/timed-journal.js";
import type { Journal } from "./journal.js";
import { KnownPayments } from "./looking/known-payments.js";
import { defaultClockSkewMs, sharedReadings } from "./looking/look-for-payment.js";
import { NewestPayment } from "./looking/newest-payment.js";
import type { MoveOptions } from "./move-flows.js";
import { LeaseObserver } from "./ownership/lease-observer.js";
import { OpenWork } from "./ownership/open-work.js";
import { type FlowCipher, FlowCodec } from "./state/flow-codec.js";
import { allPhases } from "./state/flow-state.js";
import { CircuitBreaker, type CircuitBreakerOptions } from "./steps/circuit-breaker.js";

/** How to build a `PaymentFlow`. */
export interface PaymentFlowOptions {
  /** A `CrossBorderClient` with a signing key. */
  readonly client: FlowClient;
  /** Where flows are kept: a `SqliteJournal`, a `PostgresJournal`, or one of your own. */
  readonly journal: Journal;
  /** Takes the sender's money. Idempotent by key. */
  readonly takeFunds: TakeFundsByKey;
  /** Gives the money back after a definite refusal. Idempotent by key. */
  readonly releaseFunds: ReleaseFundsByKey;
  /** How long a flow stays with an owner that gives no sign of life, in milliseconds. Default: 30,000. */
  readonly leaseMs?: number | undefined;
  /**
   * Time between two read-backs of a payment whose response was lost, and before the look that follows a refusal, in milliseconds.
   * Longer than the list of payments lags behind, since the money is given back after that look. Default: 10,000.
   */
  readonly readBackDelayMs?: number | undefined;
  /** How often such a payment is looked for before it is held. At least 2, which is the default. */
  readonly readBacks?: number | undefined;
  /** For how long a quote can be confirmed, in milliseconds. Default: 15 min. */
  readonly quoteTtlMs?: number | undefined;
  /**
   * The gateway whose flows these are, where several gateways share a journal: those of others are left alone, and this one's are
   * continued although its signing key has changed. Default: the sender gateway of each request.
   */
  readonly gatewayId?: string | undefined;
  /**
   * By so much the bank's clock may differ from the service's, in milliseconds: so far before `takenAtMs` a look for a payment reads.
   * Default: 3,600,000, an hour.
   */
  readonly bankSkewMs?: number | undefined;
  /** What the service's operators promise in writing. Default: nothing. */
  readonly service?: ServiceFacts | undefined;
  /** Stops `takeFunds` while one payment after the other ends unknown. `false` turns it off. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined;
  /** Called with each step of a flow, and with each failure of `work`. */
  readonly on?: FlowEvents | undefined;
  /** How many people a decision about a held or stuck flow takes. With 2, `resolve` is refused: see {@link PaymentFlow.propose}. Default: `{ people: 1 }`. */
  readonly decisions?: DecisionOptions | undefined;
  /** Encrypts what the journal stores: the intent holds names and account numbers. Default: none. */
  readonly cipher?: FlowCipher | undefined;
  /** Name of this process, for operators. Default: a random one. */
  readonly owner?: string | undefined;
}

/** Who decides about flows that are held or stuck. */
export interface DecisionOptions {
  readonly people: 1 | 2;
}

export interface RunOptions {
  /** Ends the waiting. What is stored stays, and a later `run` or `recover` continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** Further headers of every request that is made for the flow, such as a correlation id. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RecoverOptions {
  /** Ends the waiting, and changes nothing that is stored. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How many flows are recovered at a time. Those that only wait, or whose `takeFunds` or `releaseFunds` has not returned within
   * `leaseMs`, are not counted: up to 16 times as many. Default: 8.
   */
  readonly concurrency?: number | undefined;
}

export interface WorkOptions extends RecoverOptions {
  /**
   * Time between two rounds, in milliseconds. They come less often while nothing but failures comes of them, and wait for the flows of an
   * earlier round no longer than this. Default: 5,000.
   */
  readonly everyMs?: number | undefined;
}

export interface CloseOptions {
  /** How long to wait for what is pending, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** Which flows to list. */
export interface FlowQuery {
  readonly phase?: FlowPhase | undefined;
  /** The last key of an earlier list. */
  readonly after?: string | undefined;
}

const longestMs = 2 ** 31 - 1;
/** A week, since nobody keeps a payment's sender waiting for longer. */
const longestListedWithinMs = 7 * 86_400_000;
const hasMethods = (value: unknown, ...names: readonly string[]) =>
  names.every((name) => typeof Reflect.get(Object(value), name) === "function");
const journalMethods = [
  "begin",
  "read",
  "acquire",
  "acquireAbandoned",
  "overlong",
  "renew",
  "write",
  "replaceQuote",
  "fenceQuote",
  "release",
  "list",
  "counts",
  "scopes",
  "backlog",
] as const satisfies readonly (keyof Journal)[];

/** Every option: its check, its default and its line in docs/durable-flow.md. One that is missing here does not compile. */
export const flowOptions = {
  client: {
    accepts: (value) => apiClientOf(value) !== undefined,
    wanted: "a CrossBorderClient",
    isRequired: true,
    documentation: "a `CrossBorderClient` with a `signingKey`",
  },
  journal: {
    accepts: (value) => hasMethods(value, ...journalMethods),
    wanted: "a Journal, such as a SqliteJournal",
    isRequired: true,
    documentation: "where flows are kept; see [Journals](journals.md)",
  },
  takeFunds: {
    accepts: isFunction,
    wanted: "a function",
    isRequired: true,
    documentation: "takes the sender's money; see [Your two functions](funds-functions.md)",
  },
  releaseFunds: {
    accepts: isFunction,
    wanted: "a function",
    isRequired: true,
    documentation: "gives it back after a definite refusal",
  },
  leaseMs: {
    accepts: isWholeFrom(100, longestMs),
    wanted: "a whole number of milliseconds, 100 or more",
    default: 30_000,
    documentation: "how long a flow stays with an owner that gives no sign of life",
  },
  readBackDelayMs: {
    accepts: (value) => typeof value === "number" && value >= 0 && value <= longestMs,
    wanted: "a number of milliseconds, 0 or more",
    default: 10_000,
    documentation:
      "time between two read-backs of a payment whose response was lost, and before the look that follows a refusal; 0 would give the money back while a payment that a proxy sent twice is not listed yet",
  },
  readBacks: {
    accepts: isWholeFrom(2),
    wanted: "a whole number, 2 or more (one look proves nothing)",
    default: 2,
    documentation: "how often such a payment is looked for before it is held; 2 or more",
  },
  quoteTtlMs: {
    accepts: isWholeFrom(1000, 365 * 86_400_000),
    wanted: "a whole number of milliseconds, 1000 or more",
    default: 900_000,
    documentation: "for how long a quote can be confirmed",
  },
  gatewayId: {
    accepts: (value) => typeof value === "string" && value !== "",
    wanted: "a string that is not empty",
    documentedDefault: "the request's `senderGatewayId`",
    documentation: "whose flows these are, where several gateways share a journal",
  },
  bankSkewMs: {
    accepts: isWholeFrom(0, longestMs),
    wanted: "a whole number of milliseconds, 0 or more",
    default: 3_600_000,
    documentation:
      "by how much the bank's clock may differ from the service's: so far before `takenAtMs` a look for a payment reads",
  },
  service: {
    accepts: areServiceFacts,
    wanted: "an object such as { singleUseIntents: true, listedWithinMs: 60_000 }; listedWithinMs is at most 7 days",
    default: {},
    documentedDefault: "nothing",
    documentation: "what the service's operators promise in writing",
  },
  circuitBreaker: {
    accepts: isCircuitBreaker,
    wanted: "false, or an object such as { opensAfter: 5, pauseMs: 30_000 }",
    default: {},
    documentedDefault: "`{ opensAfter: 5, pauseMs: 30_000 }`",
    documentation: "stops `takeFunds` while one payment after the other ends unknown",
  },
  decisions: {
    accepts: areDecisionOptions,
    wanted: "{ people: 1 } or { people: 2 }",
    default: { people: 1 },
    documentedDefault: "`{ people: 1 }`",
    documentation:
      "how many people [a decision](two-people.md) about a held or stuck flow takes; with 2, one proposes and another approves",
  },
  on: {
    accepts: (value) => typeof value === "object" && value !== null,
    wanted: "an object of functions",
    documentedDefault: "none",
    documentation: "called with each step of a flow, and with each failure of `work`",
  },
  cipher: {
    accepts: (value) => hasMethods(value, "encrypt", "decrypt"),
    wanted: "an object with the functions encrypt and decrypt",
    documentedDefault: "none",
    documentation: "encrypts [what the journal stores](journals.md#what-it-holds)",
  },
  owner: {
    accepts: (value) => typeof value === "string",
    wanted: "a string",
    documentedDefault: "a random one",
    documentation: "name of this process, for operators",
  },
} satisfies OptionTable<PaymentFlowOptions>;

function areServiceFacts(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { singleUseIntents = false, listedWithinMs = 1, clockSkewMs = 0, ...others } = value as ServiceFacts;
  if (Object.keys(others).length > 0 || typeof singleUseIntents !== "boolean") return false;
  return isWholeFrom(1, longestListedWithinMs)(listedWithinMs) && isWholeFrom(0, longestMs)(clockSkewMs);
}

function areDecisionOptions(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { people, ...others } = value as DecisionOptions;
  return (people === 1 || people === 2) && Object.keys(others).length === 0;
}

function isCircuitBreaker(value: unknown): boolean {
  if (value === false) return true;
  if (!isPlainObject(value)) return false;
  const { opensAfter = 1, pauseMs = 1, ...others } = value as CircuitBreakerOptions;
  return Object.keys(others).length === 0 && isPositiveInteger(opensAfter) && isWholeFrom(1, longestMs)(pauseMs);
}

/** @throws {ConfigError} that names the option, what was found and what is wanted. */
export function toFlowContext(given: PaymentFlowOptions): FlowContext {
  assertOptions(flowOptions, given, "the flow's options", (message) => new ConfigError(message));
  const options = withDefaults<PaymentFlowOptions, typeof flowOptions>(flowOptions, given);
  const { cipher, quoteTtlMs, gatewayId, circuitBreaker, on = {}, service, decisions, ...rest } = options;
  // Its row in the table refuses a client without it.
  const client = apiClientOf(options.client) as ApiClient;
  const skewMs = service.clockSkewMs ?? defaultClockSkewMs;
  const knownPayments = new KnownPayments(service.listedWithinMs ?? options.readBackDelayMs, skewMs);
  const scope = { service: client.baseUrl, gateway: gatewayId };
  const reporter = client.reporter.with(readFlowHooks(on));
  return {
    ...rest,
    journal: timedJournal(options.journal, reporter),
    client,
    owner: options.owner ?? uniqueId(),
    codec: new FlowCodec(cipher, quoteTtlMs),
    scope,
    people: decisions.people,
    service: { ...service },
    newestPayment: new NewestPayment(client, knownPayments, skewMs),
    knownPayments,
    readings: sharedReadings(client, service),
    circuitBreaker: circuitBreaker === false ? undefined : new CircuitBreaker(circuitBreaker),
    reporter,
    openWork: new OpenWork(),
    leaseObserver: new LeaseObserver(),
    working: new Set(),
  };
}

const signal = {
  accepts: (value: unknown) => hasMethods(value, "addEventListener"),
  wanted: "an AbortSignal",
  documentation: "ends the waiting",
};

const runOptions = {
  signal,
  headers: {
    accepts: isPlainObject,
    wanted: 'an object such as { "x-name": "value" }',
    documentation: "further headers of every request",
  },
} satisfies OptionTable<RunOptions>;

const concurrency = {
  accepts: isPositiveInteger,
  wanted: "a whole number above 0",
  default: 8,
  documentation: "how many flows are recovered at a time",
};

const recoverOptions = { signal, concurrency } satisfies OptionTable<RecoverOptions>;

const workOptions = {
  signal,
  concurrency,
  everyMs: {
    accepts: isWholeFrom(1, longestMs),
    wanted: "a whole number of milliseconds, 1 or more",
    default: 5000,
    documentation: "time between two rounds",
  },
} satisfies OptionTable<WorkOptions>;

const closeOptions = {
  timeoutMs: {
    accepts: isWholeFrom(0, longestMs),
    wanted: "a whole number of milliseconds, 0 or more",
    default: 10_000,
    documentation: "how long to wait for what is pending",
  },
} satisfies OptionTable<CloseOptions>;

const moveOptions = {
  signal,
  from: {
    accepts: isPlainObject,
    wanted: 'an object such as { service: "https://old.example" }',
    isRequired: true,
    documentation: "the base URL that the flows were begun under",
  },
  to: {
    accepts: isPlainObject,
    wanted: 'an object such as { service: "https://new.example" }',
    documentation: "the base URL that they belong to from now on",
  },
} satisfies OptionTable<MoveOptions>;

const queryOptions = {
  phase: {
    accepts: (value) => allPhases.includes(value as FlowPhase),
    wanted: `one of ${allPhases.join(", ")}`,
    documentation: "only flows of this phase",
  },
  after: {
    accepts: (value) => typeof value === "string",
    wanted: "a string",
    documentation: "the last key of an earlier list",
  },
} satisfies OptionTable<FlowQuery>;

/** A copy, headers included. @throws {InvalidArgumentError} that names the option. */
export function readRunOptions(operation: string, given: RunOptions): RunOptions {
  const options: RunOptions = read(operation, runOptions, given);
  return options.headers === undefined ? options : { ...options, headers: { ...options.headers } };
}

export function readRecoverOptions(given: RecoverOptions): WithDefaults<RecoverOptions, typeof recoverOptions> {
  return withDefaults<RecoverOptions, typeof recoverOptions>(recoverOptions, read("recover", recoverOptions, given));
}

export function readWorkOptions(given: WorkOptions): WithDefaults<WorkOptions, typeof workOptions> {
  return withDefaults<WorkOptions, typeof workOptions>(workOptions, read("work", workOptions, given));
}

export function readCloseOptions(given: CloseOptions): WithDefaults<CloseOptions, typeof closeOptions> {
  return withDefaults<CloseOptions, typeof closeOptions>(closeOptions, read("close", closeOptions, given));
}

export function readMoveOptions(given: MoveOptions): MoveOptions {
  return read("move", moveOptions, given) as MoveOptions;
}

export function readQuery(given: FlowQuery): FlowQuery {
  return read("list", queryOptions, given);
}

function read(operation: string, table: Parameters<typeof parseOptions>[0], given: object): object {
  const refuse = (message: string) => traceFrom(new InvalidArgumentError(`${operation}: ${message}`), read);
  return parseOptions(table, given, "the options", refuse);
}
