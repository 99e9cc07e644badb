import type { ApiClient, TokenHold } from "../api/api-client.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { type ApiPromise, parseRequestOptions, type RequestOptions } from "../api/request-options.js";
import { InvalidArgumentError, traceFrom } from "../core/errors.js";
import type { Reporter } from "../events/reporter.js";
import { assertSigner, Call, type CallSource } from "./call.js";
import { type CallContext, InFlight } from "./context.js";
import { checkHealth, checkTimeoutMs, type HealthReport } from "./health.js";
import { parseRawRequest, type RawRequest } from "./raw.js";
import { Schemas } from "./schema.js";

/** What a client shares with those that are derived from it is its own by default. */
export type HttpClientOptions = Omit<CallContext, "schemas" | "reported" | "inFlight"> &
  Partial<Pick<CallContext, "schemas" | "inFlight">>;

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

  /** Reads one record of a list, once, and tells how that went. */
  checkHealth(list: Operation, given?: RequestOptions): Promise<HealthReport> {
    return checkHealth(() => {
      const timeoutMs = Math.min(checkTimeoutMs, this.#context.timeoutMs);
      const options = { maxRetries: 0, timeoutMs, ...this.#parse(list, given) };
      // A record that differs from the description shows that the service responds, too.
      const context: CallContext = { ...this.#context, validation: "off" };
      return new Call(context, list, { ids: [], input: { paging: { _size: 1 } } }, options, this.#isSigned(list));
    });
  }

  assertCallable(operation: Operation): void {
    if (this.#isSigned(operation)) assertSigner(operation, this.#context.signer);
  }

  get reporter(): Reporter {
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
  ): Call {
    const { query, ...parsed } = this.#parse(operation, options);
    const whole = query === undefined ? source : { ...source, input: { query } };
    return new Call(this.#context, operation, whole, parsed, isSigned);
  }

  #parse(operation: AnyOperation, options: RequestOptions | undefined): ReturnType<typeof parseRequestOptions> {
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
    return toApiPromise(call.run() as Promise<Output>, call.report);
  } catch (error) {
    return toApiPromise(Promise.reject(traceFrom(error, from)));
  }
}

/**
 * The promise of a call. `told.response` is set when the data arrives. It is one promise, so that Node never reports a failure as
 * unhandled although you handle it.
 */
export function toApiPromise<T>(data: Promise<T>, told: Partial<Pick<Call["report"], "response">> = {}): ApiPromise<T> {
  return Object.assign(data, {
    withResponse: () => data.then((value) => ({ data: value, response: told.response ?? { status: 0, headers: {} } })),
  });
}
