import type { ApiClient } from "../api/api-client.js";
import { assertOptions, isFunction, isPositiveInteger, type OptionTable, withDefaults } from "../api/option-table.js";
import { ConfigError, InvalidArgumentError } from "../errors/errors.js";
import { apiClientOf, type FlowClient } from "./flow-client.js";
import { type FlowCipher, FlowCodec } from "./flow-codec.js";
import type { FlowContext } from "./flow-context.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
import type { Journal } from "./journal.js";

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
  /** Time between two read-backs of a payment whose response was lost, in milliseconds. Default: 10,000. */
  readonly readBackDelayMs?: number | undefined;
  /** How often such a payment is looked for before it is held. At least 2, which is the default. */
  readonly readBacks?: number | undefined;
  /** Encrypts what the journal stores: the intent holds names and account numbers. Default: none. */
  readonly cipher?: FlowCipher | undefined;
  /** Name of this process, for operators. Default: a random one. */
  readonly owner?: string | undefined;
}

export interface RunOptions {
  /** Ends the waiting. What is stored stays, and a later `run` or `recover` continues from there. */
  readonly signal?: AbortSignal | undefined;
}

export interface RecoverOptions extends RunOptions {
  /** How many flows are recovered at a time. Default: 8. */
  readonly concurrency?: number | undefined;
}

const longestMs = 2 ** 31 - 1;
const isWholeFrom = (least: number, most: number) => (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
const hasMethods = (value: unknown, ...names: readonly string[]) =>
  names.every((name) => typeof Reflect.get(Object(value), name) === "function");
const journalMethods = [
  "begin",
  "read",
  "acquire",
  "acquireAbandoned",
  "renew",
  "write",
  "release",
  "list",
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
    documentation: "where flows are kept; see [Journals](#journals)",
  },
  takeFunds: {
    accepts: isFunction,
    wanted: "a function",
    isRequired: true,
    documentation: "takes the sender's money; see [Your two functions](#your-two-functions)",
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
    documentation: "time between two read-backs of a payment whose response was lost",
  },
  readBacks: {
    accepts: isWholeFrom(2, Number.MAX_SAFE_INTEGER),
    wanted: "a whole number, 2 or more (one look proves nothing)",
    default: 2,
    documentation: "how often such a payment is looked for before it is held; 2 or more",
  },
  cipher: {
    accepts: (value) => hasMethods(value, "encrypt", "decrypt"),
    wanted: "an object with the functions encrypt and decrypt",
    documentedDefault: "none",
    documentation: "encrypts what the journal stores",
  },
  owner: {
    accepts: (value) => typeof value === "string",
    wanted: "a string",
    documentedDefault: "a random one",
    documentation: "name of this process, for operators",
  },
} satisfies OptionTable<PaymentFlowOptions>;

/** @throws {ConfigError} that names the option, what was found and what is wanted. */
export function toFlowContext(given: PaymentFlowOptions): FlowContext {
  assertOptions(flowOptions, given, "the flow's options", (message) => new ConfigError(message));
  const options = withDefaults<PaymentFlowOptions, typeof flowOptions>(flowOptions, given);
  const { client, cipher, owner = globalThis.crypto.randomUUID(), leaseMs, ...rest } = options;
  return {
    ...rest,
    // Its row in the table refuses a client without it.
    client: apiClientOf(client) as ApiClient,
    codec: new FlowCodec(cipher),
    leaseRequest: { owner, leaseMs },
  };
}

const signal = {
  accepts: (value: unknown) => hasMethods(value, "addEventListener"),
  wanted: "an AbortSignal",
  documentation: "ends the waiting",
};

const runOptions = { signal } satisfies OptionTable<RunOptions>;

const recoverOptions = {
  signal,
  concurrency: {
    accepts: isPositiveInteger,
    wanted: "a whole number above 0",
    default: 8,
    documentation: "how many flows are recovered at a time",
  },
} satisfies OptionTable<RecoverOptions>;

export function assertRunOptions(given: RunOptions): void {
  assertOptions(runOptions, given, "the options", (message) => new InvalidArgumentError(`run: ${message}`));
}

export function withRecoverDefaults(given: RecoverOptions): RunOptions & { readonly concurrency: number } {
  assertOptions(recoverOptions, given, "the options", (message) => new InvalidArgumentError(`recover: ${message}`));
  return withDefaults<RecoverOptions, typeof recoverOptions>(recoverOptions, given);
}
