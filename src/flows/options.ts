import { apiClientOf } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { InvalidArgumentError, traceFrom } from "../core/errors.js";
import {
  type CheckTable,
  hasMethods,
  isBoolean,
  isFunction,
  isPlainObject,
  isPositiveInteger,
  isText,
  isWholeFrom,
  parseOptions,
} from "../core/parse.js";
import type { FlowEvents, FlowPhase } from "../events/events.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import { allPhases, type FlowCipher } from "./codec.js";
import type { PayOutcome, ReleaseFundsByKey, TakeFunds, TakeFundsByKey } from "./funds.js";
import { type Journal, journalMethods } from "./journal.js";

/** The client of a `PaymentFlow`, which must be a `CrossBorderClient`. A `PaymentFlow` refuses any other object. */
export interface FlowClient {
  pay(request: PaymentIntentRequest, takeFunds: TakeFunds, options?: RequestOptions): Promise<PayOutcome>;
  close(): Promise<void>;
}

/** What the service's operators promise in writing. By default absence proves nothing, and nothing is sent twice. */
export interface ServiceFacts {
  /** At most one payment is made of one intent. */
  readonly singleUseIntents?: boolean | undefined;
  /** A payment is listed within so many milliseconds after its request was sent, or never. */
  readonly listedWithinMs?: number | undefined;
  /** A later payment has a higher paging token, as far as clocks agree. */
  readonly tokensFollowTime?: boolean | undefined;
}

/** How to build a `PaymentFlow`. */
export interface PaymentFlowOptions {
  /** A `CrossBorderClient` with a signing key. */
  readonly client: FlowClient;
  /** Stores the flows. Use a `SqliteJournal`, a `PostgresJournal`, or your own. */
  readonly journal: Journal;
  /** Takes the sender's money. Idempotent by key. */
  readonly takeFunds: TakeFundsByKey;
  /** Gives the money back after a definite refusal. Idempotent by key. */
  readonly releaseFunds: ReleaseFundsByKey;
  /**
   * Name of the service that the journal's entries belong to. If the host changes, set it to the old one. Default: the host of
   * `baseUrl`.
   */
  readonly service?: string | undefined;
  /** The gateway that this process runs flows for, if several gateways share a journal. Default: the sender gateway of each request. */
  readonly gatewayId?: string | undefined;
  /** How long a flow stays with an owner that gives no sign of life, in milliseconds. Default: 30,000. */
  readonly leaseMs?: number | undefined;
  /** How many more searches follow the first one after a lost response. Default: 2. */
  readonly readBacks?: number | undefined;
  /** Time between two such searches, in milliseconds. Longer than the list of payments lags. Default: 10,000. */
  readonly readBackDelayMs?: number | undefined;
  /** How long a quote can be confirmed, in milliseconds. Default: 15 min. */
  readonly quoteTtlMs?: number | undefined;
  /** How far the bank's clock and the service's can be apart, in milliseconds. Default: 3,600,000, an hour. */
  readonly bankSkewMs?: number | undefined;
  /** How far this machine's clock and the service's can be apart, in milliseconds. Default: 60,000. */
  readonly clockSkewMs?: number | undefined;
  /** What the service's operators promise in writing. By default, nothing. */
  readonly facts?: ServiceFacts | undefined;
  /** Stops `takeFunds` while one payment after the other ends unknown. `false` turns it off. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined;
  /** Called with each step of a flow, with each decision, and with each failure of `work`. */
  readonly on?: FlowEvents | undefined;
  /** How many people must agree on a held flow. With 2, `resolve` is refused. See {@link PaymentFlow.propose}. Default: `{ people: 1 }`. */
  readonly decisions?: DecisionOptions | undefined;
  /** Encrypts what the journal stores, since the intent has names and account numbers. By default, nothing is encrypted. */
  readonly cipher?: FlowCipher | undefined;
  /** Name of this process, for operators. By default, a random one. */
  readonly owner?: string | undefined;
}

/** When the money of new payments is no longer asked for, and for how long. */
export interface CircuitBreakerOptions {
  /** How many payments in a row with an unknown outcome open the circuit. Default: 5. */
  readonly opensAfter?: number | undefined;
  /** Length of the first pause in milliseconds. Each further pause is twice as long, up to 10 min. Default: 30,000. */
  readonly pauseMs?: number | undefined;
}

/** Who decides about held flows. */
export interface DecisionOptions {
  readonly people: 1 | 2;
}

export interface RunOptions {
  /** Stops the wait. The stored state remains, and a later `run` or `recover` continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** Further headers of every request that is made for the flow, such as a correlation id. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface PatientOptions extends RunOptions {
  /** A longer wait, which the service asked for, ends the call with a `FlowPausedError`. In milliseconds. Default: 30,000. */
  readonly patienceMs?: number | undefined;
}

export interface RecoverOptions {
  /** Ends the waiting, and changes nothing that is stored. */
  readonly signal?: AbortSignal | undefined;
  /** How many flows are recovered at a time. Flows that only wait aren't counted, up to 16 times as many. Default: 8. */
  readonly concurrency?: number | undefined;
}

export interface WorkOptions extends RecoverOptions {
  /** Time between two rounds, in milliseconds. Default: 5,000. */
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

const maxMs = 2 ** 31 - 1;
const maxListedWithinMs = 7 * 86_400_000;
const milliseconds = { accepts: isWholeFrom(0, maxMs), expected: "a whole number of milliseconds, 0 or more" };
/** Accepts an object with some of these fields, and no others. */
const objectOf =
  <T extends object>(checks: { readonly [Name in keyof T]-?: (value: unknown) => boolean }) =>
  (given: unknown): boolean =>
    isPlainObject(given) &&
    Object.entries(given).every(([name, value]) => value === undefined || checks[name as keyof T]?.(value) === true);

const isBreaker = objectOf<CircuitBreakerOptions>({ opensAfter: isPositiveInteger, pauseMs: isWholeFrom(1, maxMs) });

/** Every option with its check, its default, and its line in docs/durable-flow.md. */
export const flowOptions = {
  client: {
    accepts: (value) => apiClientOf(value) !== undefined,
    expected: "a CrossBorderClient",
    isRequired: true,
  },
  journal: {
    accepts: (value) => hasMethods(value, ...journalMethods),
    expected: "a Journal, such as a SqliteJournal",
    isRequired: true,
  },
  takeFunds: {
    accepts: isFunction,
    expected: "a function",
    isRequired: true,
  },
  releaseFunds: {
    accepts: isFunction,
    expected: "a function",
    isRequired: true,
  },
  service: {
    accepts: isText,
    expected: "the name of the service, such as its host",
  },
  gatewayId: {
    accepts: isText,
    expected: "a string that is not empty",
  },
  leaseMs: {
    accepts: isWholeFrom(100, maxMs),
    expected: "a whole number of milliseconds, 100 or more",
    default: 30_000,
  },
  readBacks: {
    accepts: isWholeFrom(0, 1000),
    expected: "a whole number from 0 to 1000",
    default: 2,
  },
  readBackDelayMs: {
    ...milliseconds,
    default: 10_000,
  },
  quoteTtlMs: {
    accepts: isWholeFrom(1000, 365 * 86_400_000),
    expected: "a whole number of milliseconds, 1000 or more",
    default: 900_000,
  },
  bankSkewMs: {
    ...milliseconds,
    default: 3_600_000,
  },
  clockSkewMs: {
    ...milliseconds,
    default: 60_000,
  },
  facts: {
    accepts: objectOf<ServiceFacts>({
      singleUseIntents: isBoolean,
      tokensFollowTime: isBoolean,
      listedWithinMs: isWholeFrom(1, maxListedWithinMs),
    }),
    expected: "an object such as { singleUseIntents: true, listedWithinMs: 60_000 }; listedWithinMs is at most 7 days",
    default: {},
  },
  circuitBreaker: {
    accepts: (value) => value === false || isBreaker(value),
    expected: "false, or an object such as { opensAfter: 5, pauseMs: 30_000 }",
    default: {},
  },
  decisions: {
    accepts: (value) => isWholeFrom(1, 2)(Reflect.get(Object(value), "people")),
    expected: "{ people: 1 } or { people: 2 }",
    default: { people: 1 },
  },
  on: {
    accepts: (value) => typeof value === "object" && value !== null,
    expected: "an object of functions",
  },
  cipher: {
    accepts: (value) => hasMethods(value, "encrypt", "decrypt"),
    expected: "an object with the functions encrypt and decrypt",
  },
  owner: {
    accepts: (value) => typeof value === "string",
    expected: "a string",
  },
} satisfies CheckTable<PaymentFlowOptions>;

const signal = { accepts: (value: unknown) => hasMethods(value, "addEventListener"), expected: "an AbortSignal" };
const headers = { accepts: isPlainObject, expected: 'an object such as { "x-name": "value" }' };
const concurrency = { accepts: isPositiveInteger, expected: "a whole number above 0" };

export const runOptions: CheckTable<RunOptions> = { signal, headers };
export const patientOptions: CheckTable<PatientOptions> = { signal, headers, patienceMs: milliseconds };
export const recoverOptions: CheckTable<RecoverOptions> = { signal, concurrency };
export const workOptions: CheckTable<WorkOptions> = {
  signal,
  concurrency,
  everyMs: { accepts: isWholeFrom(1, maxMs), expected: "a whole number of milliseconds, 1 or more" },
};
export const closeOptions: CheckTable<CloseOptions> = { timeoutMs: milliseconds };
export const queryOptions: CheckTable<FlowQuery> = {
  phase: { accepts: (value) => allPhases.includes(value as FlowPhase), expected: `one of ${allPhases.join(", ")}` },
  after: { accepts: (value) => typeof value === "string", expected: "a string" },
};

/** A copy, headers included. @throws {InvalidArgumentError} that names the option. */
export function readOptions<Options extends object>(
  operation: string,
  table: CheckTable<Options>,
  given: Options,
): Options {
  const refuse = (message: string) => traceFrom(new InvalidArgumentError(`${operation}: ${message}`), readOptions);
  const read = parseOptions(table, given, "the options", refuse) as Options & RunOptions;
  return read.headers === undefined ? read : { ...read, headers: { ...read.headers } };
}
