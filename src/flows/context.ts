import { type ApiClient, apiClientOf } from "../api/api-client.js";
import { clock } from "../core/clock.js";
import { counted } from "../core/describe.js";
import { ConfigError, CrossBorderError } from "../core/errors.js";
import { parseOptions, type WithDefaults, withDefaults } from "../core/parse.js";
import { flowHooks, readHooks } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import { payments } from "../resources/payments.js";
import { FlowCodec } from "./codec.js";
import { type Config, limits } from "./core/state.js";
import { OpenWork } from "./flow-call.js";
import { type ScopeFilter, timedJournal } from "./journal.js";
import { type CircuitBreakerOptions, flowOptions, type PaymentFlowOptions } from "./options.js";

type Options = WithDefaults<PaymentFlowOptions, typeof flowOptions>;

/** What the methods of a `PaymentFlow` work with. */
export interface FlowContext
  extends Pick<Options, "takeFunds" | "releaseFunds" | "journal" | "leaseMs" | "readBackDelayMs" | "clockSkewMs"> {
  readonly client: ApiClient;
  readonly codec: FlowCodec;
  readonly owner: string;
  /** The flows that this `PaymentFlow` may run. They are those of one gateway if `gatewayId` is given, and otherwise all of the service. */
  readonly scope: ScopeFilter;
  readonly tokensFollowTime: boolean;
  readonly config: Config;
  readonly people: 1 | 2;
  readonly circuitBreaker: CircuitBreaker | undefined;
  /** The client's reporter, with the hooks of the flow. */
  readonly reporter: Reporter;
  readonly openWork: OpenWork;
}

/** @throws {ConfigError} that names the option, the value that was found, and the expected one, or if the client has no signing key. */
export function toFlowContext(given: PaymentFlowOptions): FlowContext {
  const context = toOperatorContext(given);
  context.client.assertCallable(payments.create);
  return context;
}

/** The context for reading and deciding, which needs no signing key. */
export function toOperatorContext(given: PaymentFlowOptions): FlowContext {
  const refuse = (message: string) => new ConfigError(message);
  const parsed = parseOptions<PaymentFlowOptions>(flowOptions, given, "the flow's options", refuse);
  const options: Options = withDefaults(flowOptions, parsed);
  const { owner = crypto.randomUUID(), circuitBreaker, readBacks, bankSkewMs } = options;
  // Its row in the table refuses a client without it.
  const client = apiClientOf(options.client) as ApiClient;
  const { tokensFollowTime = false, ...facts } = options.facts;
  const reporter = client.reporter.with(readHooks(options.on ?? {}, flowHooks));
  return {
    ...options,
    client,
    journal: timedJournal(options.journal, reporter),
    codec: new FlowCodec(options.cipher, options.quoteTtlMs),
    owner,
    scope: { service: options.service ?? new URL(client.baseUrl).host, gateway: options.gatewayId },
    tokensFollowTime,
    config: { readBacks, bankSkewMs, ...limits, facts },
    people: options.decisions.people,
    circuitBreaker: circuitBreaker === false ? undefined : new CircuitBreaker(circuitBreaker),
    reporter,
    openWork: new OpenWork(),
  };
}

/**
 * Stops `takeFunds` while payment after payment ends unknown. A wrong route or a new firewall rule must not hold the money of a
 * thousand senders. After a pause one payment may pass, and a definite response to any payment ends the pause.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  /** How many outcomes in a row were unknown. */
  #unknown = 0;
  /** 0 while it is closed. */
  #pauseMs = 0;
  /** No payment is let through before this time of the monotonic clock. */
  #probeAtMs = 0;
  #isProbing = false;

  constructor(options: CircuitBreakerOptions = {}) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#pauseMs > 0;
  }

  /**
   * Call it before you store a flow that then asks for money. A flow that is refused here isn't stored.
   *
   * @throws {CrossBorderError} `flow_circuit_open`
   */
  assertMayBegin(): void {
    const leftMs = this.#probeAtMs - clock.monotonicMs();
    if (!this.isOpen || leftMs <= 0) return;
    throw new CrossBorderError(
      `the last ${counted(this.#unknown, "payment")} got no definite response: no money is taken for another one before the next is tried in ${Math.ceil(leftMs / 1000)} s. Check the route to the service, and held()`,
      { code: "flow_circuit_open" },
    );
  }

  /**
   * To be called before the money of a payment is asked for. After a pause only the first who calls it is let through.
   *
   * @throws {CrossBorderError} `flow_circuit_open`
   */
  assertClosed(): void {
    this.assertMayBegin();
    // A payment that may pass may never be sent. Then another one may pass after the next pause.
    this.#probeAtMs = clock.monotonicMs() + this.#pauseMs;
    this.#isProbing = true;
  }

  /**
   * Call it after each request that may have been sent.
   *
   * @param unknown whether the request got no definite response.
   */
  note(unknown: boolean): void {
    const { opensAfter = 5, pauseMs = 30_000 } = this.#options;
    this.#unknown = unknown ? this.#unknown + 1 : 0;
    if (!unknown) this.#pauseMs = 0;
    // Those that were under way when it opened say nothing new.
    if (this.isOpen ? !this.#isProbing : this.#unknown < opensAfter) return;
    this.#pauseMs = this.isOpen ? Math.min(longestPauseMs, 2 * this.#pauseMs) : pauseMs;
    this.#probeAtMs = clock.monotonicMs() + this.#pauseMs;
    this.#isProbing = false;
  }
}

/** The longest pause, unless the first one is longer. */
const longestPauseMs = 600_000;
