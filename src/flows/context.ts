import { type ApiClient, apiClientOf } from "../api/api-client.js";
import { ConfigError } from "../core/errors.js";
import { assertOptions, withDefaults } from "../core/parse.js";
import { readFlowHooks } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import { payments } from "../resources/payments.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { FlowCodec } from "./codec.js";
import { type Config, limits } from "./core/state.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "./funds.js";
import type { Journal, ScopeFilter } from "./journal.js";
import { OpenWork } from "./open-work.js";
import { flowOptions, journalMethods, type PaymentFlowOptions } from "./options.js";
import { timedJournal } from "./timed-journal.js";

/** What the methods of a `PaymentFlow` work with. */
export interface FlowContext {
  readonly client: ApiClient;
  readonly journal: Journal;
  readonly codec: FlowCodec;
  readonly owner: string;
  readonly leaseMs: number;
  /** The flows that may be run: those of one gateway if `gatewayId` is given, otherwise all of the service. */
  readonly scope: ScopeFilter;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  readonly readBackDelayMs: number;
  readonly clockSkewMs: number;
  readonly tokensFollowTime: boolean;
  readonly config: Config;
  readonly people: 1 | 2;
  readonly circuitBreaker: CircuitBreaker | undefined;
  /** The client's reporter, with the hooks of the flow. */
  readonly reporter: Reporter;
  readonly openWork: OpenWork;
}

/** @throws {ConfigError} that names the option, what was found, and what is wanted; or if the client has no signing key. */
export function toFlowContext(given: PaymentFlowOptions): FlowContext {
  const context = toOperatorContext(given);
  context.client.assertCallable(payments.create);
  return context;
}

/** For reading and deciding: the client needs no signing key. */
export function toOperatorContext(given: PaymentFlowOptions): FlowContext {
  assertOptions(flowOptions, given, "the flow's options", (message) => new ConfigError(message));
  const options = withDefaults<PaymentFlowOptions, typeof flowOptions>(flowOptions, given);
  const { journal, owner, cipher, quoteTtlMs, gatewayId, circuitBreaker, on = {}, decisions } = options;
  const { leaseMs, takeFunds, releaseFunds, readBackDelayMs, clockSkewMs, readBacks, bankSkewMs } = options;
  // Its row in the table refuses a client without it.
  const client = apiClientOf(options.client) as ApiClient;
  const { tokensFollowTime = false, ...facts } = options.facts;
  const reporter = client.reporter.with(readFlowHooks(on));
  return {
    client,
    journal: timedJournal(journal, journalMethods, reporter),
    codec: new FlowCodec(cipher, quoteTtlMs),
    owner: owner ?? crypto.randomUUID(),
    leaseMs,
    scope: { service: options.service ?? new URL(client.baseUrl).host, gateway: gatewayId },
    takeFunds,
    releaseFunds,
    readBackDelayMs,
    clockSkewMs,
    tokensFollowTime,
    config: { readBacks, bankSkewMs, ...limits, facts },
    people: decisions.people,
    circuitBreaker: circuitBreaker === false ? undefined : new CircuitBreaker(circuitBreaker),
    reporter,
    openWork: new OpenWork(),
  };
}
