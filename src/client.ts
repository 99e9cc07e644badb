import { type ApiClient, apiClientKey } from "./api/api-client.js";
import type { ApiPromise, RequestOptions } from "./api/request-options.js";
import { callerTokenSource } from "./auth/caller-token-source.js";
import { TokenManager } from "./auth/token-manager.js";
import {
  type ClientOptions,
  type ResolvedOptions,
  resolveChanges,
  resolveOptions,
  type SharedOptions,
} from "./client-options.js";
import type { TokenEvent } from "./events/events.js";
import { defaultLogger, logListener } from "./events/log-lines.js";
import { channelListener, createReporter, type Reporter, telemetryParts } from "./events/reporter.js";
import { type PayOutcome, pay, type TakeFunds } from "./flows/funds.js";
import { type HealthReport, HttpClient } from "./http/http-client.js";
import type { RawRequest } from "./http/prepare.js";
import { RetryBudget } from "./http/report.js";
import { type TokenSource, tokenSourceKey } from "./http/token-source.js";
import { LiquidityProviders } from "./resources/liquidity-providers.js";
import { PaymentGateways, paymentGateways } from "./resources/payment-gateways.js";
import { type PaymentIntentRequest, PaymentIntents } from "./resources/payment-intents.js";
import { Payments } from "./resources/payments.js";
import { createSigner } from "./signing/signer.js";
import { openTransport } from "./wire/open-transport.js";
import type { Transport } from "./wire/transport.js";

/**
 * The client of the Cross-Border Payment Service. Build one for each gateway and keep it, since it holds the access token and the
 * connections. It starts to load its libraries at once, and opens nothing before the first call. `close` it, or `await using` it.
 *
 * @example
 * const client = new CrossBorderClient({ baseUrl, auth: { authUrl, realm, clientId, username, password }, signingKey });
 * const outcome = await client.pay(intentRequest, async (intent) => ({
 *   senderGatewayTransactionId: await takeFromSender(intent.senderAccount, intent.senderAmount),
 * }));
 */
export class CrossBorderClient {
  /** Payment gateways, and their withdrawals. */
  readonly paymentGateways: PaymentGateways;
  /** Liquidity providers, and their deposits, withdrawals, exchange rates, and transfers. */
  readonly liquidityProviders: LiquidityProviders;
  /** The first step of a payment. */
  readonly paymentIntents: PaymentIntents;
  /** The second step of a payment, and the list of all payments. */
  readonly payments: Payments;
  readonly #http: HttpClient;
  readonly #resolved: ResolvedOptions;

  /**
   * For the entry points beside the main one.
   *
   * @internal
   */
  declare readonly [apiClientKey]: ApiClient;

  /** @throws {ConfigError} that names the option, what was found (never a secret), and what is expected. */
  constructor(options: ClientOptions);
  /** @param shared what another client shares with this one. */
  constructor(options: ClientOptions, { http, resolved } = openHttp(resolveOptions(options))) {
    this.#http = http;
    this.#resolved = resolved;
    Object.defineProperty(this, apiClientKey, { value: this.#http });
    this.paymentGateways = new PaymentGateways(this.#http);
    this.liquidityProviders = new LiquidityProviders(this.#http);
    this.paymentIntents = new PaymentIntents(this.#http);
    this.payments = new Payments(this.#http);
  }

  /**
   * Makes a payment in its two steps. Creates the intent, calls `takeFunds` with it, then creates the signed payment.
   *
   * If the second step fails, `error.funds` names the transaction. If `error.effect` is `none`, give the money back. If it's
   * `possible`, don't. Search for the payment by `error.request.signature` first. If it's `done`, the payment was recorded.
   *
   * @param options `signal` ends the call until the money is taken. `timeoutMs` is for each of the two requests.
   * @returns `paid` with both records, or `declined` if `takeFunds` returned `null`. `paid` means recorded. See its `isSettledBadly`.
   */
  pay(request: PaymentIntentRequest, takeFunds: TakeFunds, options?: RequestOptions): Promise<PayOutcome> {
    return pay(this.#http, request, takeFunds, options);
  }

  /**
   * Calls a path that the description doesn't have, with a token, the deadline, retries, events, and errors that tell what was done.
   *
   * A GET is a read. Any other request is never sent again once it may have arrived, unless it is `idempotent`. Its failure is
   * `possible`, or `none` if the service itself refused it or nothing was sent.
   *
   * @example
   * const refund = await client.request({
   *   method: "POST", path: "/refunds/{refundId}/approve", ids: ["42"], body: { reason: "duplicate" }, signed: true,
   * });
   * @returns the response's JSON, unchecked, or undefined if it has no body.
   * @throws {InvalidArgumentError} if a part can't be sent, or the path is described and its method writes.
   * @throws {ConfigError} if it must be signed and the client has no signingKey.
   */
  request<const Path extends `/${string}`>(request: RawRequest<Path>, options?: RequestOptions): ApiPromise<unknown> {
    return this.#http.request(request, options);
  }

  /**
   * Tells whether the service is available and accepts the client's token, for health endpoints and for the start of a process.
   *
   * Reads a list of one payment gateway once (`GET /payment-gateways?_size=1`). It logs in only if any other call would have to.
   * `maxRetries` is 0 and `timeoutMs` is 5,000 at most, unless `options` say otherwise.
   *
   * @returns what was found. It doesn't throw if the service is down.
   * @throws {InvalidArgumentError} if an option can't be used, or the client is closed (`client_closed`).
   * @throws {ConfigError} if `signedOperations` names this list, and the client has no signingKey.
   * @throws {AbortedError} if `options.signal` ended it.
   */
  check(options?: RequestOptions): Promise<HealthReport> {
    return this.#http.checkHealth(paymentGateways.list, options);
  }

  /**
   * A client with other defaults for its calls, and the same connections, token, and signing key.
   *
   * Each option that you give replaces the client's own, `headers` and `on` as a whole. Once the new client is closed, it refuses calls, and
   * those in flight finish. Closing this one waits for the calls of both, and closes both.
   *
   * @example
   * const patient = client.withOptions({ timeoutMs: 120_000, headers: { "x-batch": "nightly" } });
   * @throws {ConfigError} for any other option. It needs connections or a token of its own, so build another client.
   */
  withOptions(options: SharedOptions): CrossBorderClient {
    const resolved = resolveChanges(this.#resolved, options);
    const isHeard = options.on === undefined && options.logger === undefined;
    const reporter = isHeard ? this.#http.reporter : reporterOf(resolved);
    const http = this.#http.derive({ ...callDefaults(resolved), reporter });
    return Reflect.construct(CrossBorderClient, [options, { http, resolved }]);
  }

  /**
   * Refuses new calls, lets others finish, ends the session if `auth.endSessionOnClose` says so, and closes the client's own
   * connections. Close after every `pay` has ended. If `takeFunds` is still at work, the second step is refused (`client_closed`,
   * effect `none`, with its `funds`).
   */
  close(): Promise<void> {
    return this.#http.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const mebibyte = 2 ** 20;

function openHttp(resolved: ResolvedOptions) {
  const { baseUrl, signingKey, signedOperations, signQuery } = resolved;
  const reporter = reporterOf(resolved);
  const { maxSockets: connections, timeoutMs } = resolved;
  const transport = openTransport({ ...resolved, connections, connectTimeoutMs: Math.min(10_000, timeoutMs) });
  const http = new HttpClient({
    ...callDefaults(resolved),
    origin: baseUrl.origin,
    basePath: baseUrl.path,
    transport,
    tokens: createTokens(resolved, transport, reporter),
    signer: signingKey === undefined ? undefined : createSigner(signingKey),
    signedOperations: new Set(signedOperations),
    signQuery,
    maxRecordBytes: resolved.maxResponseBytes ?? mebibyte,
    maxListBytes: resolved.maxResponseBytes ?? 10 * mebibyte,
    reporter,
    budget: new RetryBudget(),
    random: Math.random,
  });
  return { http, resolved };
}

function callDefaults({ timeoutMs, maxRetries, validation, headers }: ResolvedOptions) {
  return { timeoutMs, maxRetries, validation, headers };
}

function reporterOf({ logger = defaultLogger(), telemetry, on }: ResolvedOptions): Reporter {
  const parts = telemetryParts(telemetry);
  // The hooks are last, since they could change an event.
  const listeners = [logger && logListener(logger), parts?.listener, channelListener(), on];
  return createReporter(
    listeners.filter((listener) => listener !== undefined),
    parts?.tracing,
  );
}

function createTokens(options: ResolvedOptions, transport: Transport, reporter: Reporter): TokenSource {
  const { auth, tokenLeewayMs: leewayMs, tokenStore: store } = options;
  const onToken = (event: TokenEvent) => reporter.emit("token", event);
  if (tokenSourceKey in auth) return auth[tokenSourceKey](onToken);
  if ("accessToken" in auth) return callerTokenSource(auth);
  return new TokenManager({ auth, transport, leewayMs, store, onToken, tracing: reporter.tracing });
}
