import type { ApiClient, TokenHold } from "../api/api-client.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import {
  type ApiPromise,
  type ParsedOptions,
  parseRequestOptions,
  type RequestOptions,
} from "../api/request-options.js";
import { clock } from "../core/clock.js";
import {
  AbortedError,
  ConfigError,
  type CrossBorderError,
  InvalidArgumentError,
  TokenError,
  traceFrom,
} from "../core/errors.js";
import { Call, type CallSource } from "./call.js";
import { parseRawRequest, type RawRequest } from "./prepare.js";
import { Schemas } from "./read.js";
import { type CallContext, InFlight } from "./report.js";

/** What a client shares with those that are derived from it is its own by default. */
export type HttpClientOptions = Omit<CallContext, "schemas" | "reported" | "inFlight"> & Partial<CallContext>;

/** Calls operations. Returns the record, or throws an error that says what was done. */
export class HttpClient implements ApiClient {
  readonly #context: CallContext;
  readonly #isDerived: boolean;
  #hasSigned = false;
  #closing: Promise<void> | undefined;

  constructor(options: HttpClientOptions) {
    this.#isDerived = options.inFlight !== undefined;
    this.#context = { schemas: new Schemas(), inFlight: new InFlight(), ...options, reported: new Set() };
    if (this.#isDerived) return;
    // The libraries that the first call needs.
    this.#context.schemas.load().catch(() => {});
    options.transport.preload?.();
    options.tokens.preload?.();
  }

  readonly call: ApiClient["call"] = (operation, ids, input = {}, options) =>
    run(this.call, () => this.#open(operation, { ids, input }, options));

  readonly send: ApiClient["send"] = (operation, presigned, sendBy, options) =>
    run(this.send, () => this.#open(operation, { presigned, sendBy }, options));

  readonly check: ApiClient["check"] = async (operation, ids, input, options) => {
    const isTrial = this.#isSigned(operation) && !this.#hasSigned;
    await this.#open(operation, { ids, input }, options, isTrial).sign({ signedPath: "/", text: "{}" });
    this.#hasSigned ||= isTrial;
  };

  readonly sign: ApiClient["sign"] = async (operation, ids, input, options) =>
    this.#open(operation, { ids, input }, options).sign();

  request(given: RawRequest, options?: RequestOptions): ApiPromise<unknown> {
    return run(this.request, () => {
      const { operation, signed, ...source } = parseRawRequest(given);
      return this.#open(operation, source, options, signed);
    });
  }

  /**
   * Reads one record of a list, once, and tells how that went.
   *
   * @throws {AbortedError} if your signal ended it, or {InvalidArgumentError} if an option is wrong.
   */
  async checkHealth(list: Operation, options?: RequestOptions): Promise<HealthReport> {
    const startMs = clock.monotonicMs();
    const timeoutMs = Math.min(5000, this.#context.timeoutMs);
    // A record that differs from the description shows that the service responds, too.
    const context: CallContext = { ...this.#context, maxRetries: 0, timeoutMs, validation: "off" };
    const call = this.#open(list, { ids: [], input: { paging: { _size: 1 } } }, options, undefined, context);
    const error = await call.run().then(
      () => undefined,
      (thrown: CrossBorderError) => thrown,
    );
    if (error instanceof AbortedError) throw traceFrom(error);
    const findings = findingsOf(error, call);
    const ok = findings.token === "accepted";
    return {
      ok,
      ...findings,
      ...(call.received && { latencyMs: call.received.durationMs }),
      durationMs: clock.monotonicMs() - startMs,
      ...(!ok && error && { error }),
    };
  }

  assertCallable(operation: AnyOperation, isSigned = this.#isSigned(operation)): void {
    if (!isSigned || this.#context.signer !== undefined) return;
    throw new ConfigError(`${operation.name} is signed, and the client was built without a signingKey`, {
      operation: operation.name,
    });
  }

  get reporter(): ApiClient["reporter"] {
    return this.#context.reporter;
  }

  get tokenHold(): TokenHold | undefined {
    return this.#context.tokens.hold?.();
  }

  get baseUrl(): string {
    return this.#context.origin + this.#context.basePath;
  }

  /** A client with the same connections, token, and retry budget. Closing this client closes it, too. */
  derive(changes: Partial<CallContext>): HttpClient {
    return new HttpClient({ ...this.#context, ...changes });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { inFlight, tokens, transport } = this.#context;
    if (this.#isDerived) return;
    await inFlight.close();
    await tokens.close?.();
    await transport.close();
  }

  #open(
    operation: AnyOperation,
    source: CallSource,
    options: RequestOptions | undefined,
    isSigned = this.#isSigned(operation),
    context = this.#context,
  ): Call {
    if (source.presigned === undefined) this.assertCallable(operation, isSigned);
    return new Call(context, operation, source, this.#parse(operation, options), isSigned);
  }

  #parse(operation: AnyOperation, options: RequestOptions | undefined): ParsedOptions {
    const parsed = parseRequestOptions(operation, options);
    if (this.#closing === undefined && !this.#context.inFlight.isClosed) return parsed;
    throw new InvalidArgumentError(`${operation.name}: the client is closed`, { code: "client_closed" });
  }

  #isSigned(operation: AnyOperation): boolean {
    return ("signed" in operation && operation.signed) || this.#context.signedOperations.has(operation.name);
  }
}

/**
 * Runs a call.
 *
 * @param from the method that was called. Stacks of wrong arguments begin there.
 */
function run<Output>(from: (...given: never) => unknown, open: () => Call): ApiPromise<Output> {
  try {
    const call = open();
    // `resource` gives each row its types.
    return toApiPromise(call.run() as Promise<Output>, call);
  } catch (error) {
    return toApiPromise(Promise.reject(traceFrom(error, from)));
  }
}

/**
 * The promise of a call. `told.response` is set when the data arrives. It is one promise, so that Node never reports a failure as
 * unhandled although you handle it.
 */
export function toApiPromise<T>(
  data: Promise<T>,
  told: Pick<Call, "response"> = { response: { status: 0, headers: {} } },
): ApiPromise<T> {
  return Object.assign(data, {
    withResponse: () => data.then((value) => ({ data: value, response: told.response })),
  });
}

/** The result of `client.check()`. It contains no secrets and no records, so you can return it from a health endpoint. */
export interface HealthReport {
  /** Whether a read would succeed now, since the service responds and accepts the token. */
  readonly ok: boolean;
  /**
   * - `responding`: it responded as described.
   * - `failing`: the response isn't the service's own, for example a 5xx, a redirect, or a proxy's page.
   * - `unreachable`: no response arrived in time.
   * - `not_asked`: there was nothing to ask it with.
   */
  readonly service: "responding" | "failing" | "unreachable" | "not_asked";
  /**
   * - `accepted`: by the service.
   * - `refused`: the service responded with 401. The next call renews it.
   * - `unavailable`: the client got none. See `error`.
   * - `unknown`: the service didn't say.
   */
  readonly token: "accepted" | "refused" | "unavailable" | "unknown";
  /** From the start of the request to the end of its response. Absent if none arrived. */
  readonly latencyMs?: number;
  /** The whole check, including a token request if one was needed, and the connection. */
  readonly durationMs: number;
  /** Absent if `ok`. */
  readonly error?: CrossBorderError;
}

function findingsOf(
  error: CrossBorderError | undefined,
  { failure, received }: Call,
): Pick<HealthReport, "service" | "token"> {
  // The service knows a client that it forbids to read this list.
  const isKnown = error === undefined || (failure === "refused" && error.status === 403);
  if (isKnown) return { service: "responding", token: "accepted" };
  if (failure === "unauthorized") return { service: "responding", token: "refused" };
  if (failure === "refused" || failure === "throttled") return { service: "responding", token: "unknown" };
  if (failure !== undefined) return { service: received === undefined ? "unreachable" : "failing", token: "unknown" };
  const isOfToken = error instanceof TokenError || error.code === "timeout";
  return { service: "not_asked", token: isOfToken ? "unavailable" : "unknown" };
}
