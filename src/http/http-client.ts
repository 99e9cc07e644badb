import type { ApiClient, TokenHold } from "../api/api-client.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { type ApiPromise, parseRequestOptions, type RequestOptions } from "../api/request-options.js";
import { InvalidArgumentError, traceFrom } from "../core/errors.js";
import type { Reporter } from "../events/reporter.js";
import { assertSigner, Call, type CallSource } from "./call.js";
import { type CallContext, InFlight } from "./context.js";
import { checkHealth, checkTimeoutMs, type HealthReport } from "./health.js";
import { checkHeaders, prepareRequest } from "./prepare.js";
import { parseRawRequest, type RawRequest } from "./raw.js";
import { Schemas } from "./schema.js";

export interface HttpClientOptions extends Omit<CallContext, "schemas" | "reported" | "inFlight"> {
  /** Operations that are signed besides those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
  /** Shared with derived clients. By default, its own. */
  readonly schemas?: Schemas;
  /** Counts the calls of the client that this one is derived from. */
  readonly parent?: InFlight;
}

/** The options that a derived client can have of its own. */
export type DerivedOptions = Pick<CallContext, "timeoutMs" | "maxRetries" | "headers" | "validation" | "reporter">;

/** Calls operations. Returns the record, or throws an error that says what was done. */
export class HttpClient implements ApiClient {
  readonly #context: CallContext;
  readonly #signedOperations: ReadonlySet<string>;
  readonly #isDerived: boolean;
  #hasSigned = false;
  #closing: Promise<void> | undefined;

  constructor({ signedOperations, schemas = new Schemas(), parent, ...context }: HttpClientOptions) {
    this.#isDerived = parent !== undefined;
    this.#context = { ...context, schemas, reported: new Set(), inFlight: new InFlight(parent) };
    this.#signedOperations = signedOperations;
    if (this.#isDerived) return;
    // The libraries that the first call needs.
    schemas.load().catch(() => {});
    context.transport.preload?.();
    context.tokens.preload?.();
  }

  readonly call: ApiClient["call"] = (operation, ids, input = {}, options) =>
    run(this.call, () => this.#open(operation, { ids, input, signed: this.#isSigned(operation) }, options));

  readonly send: ApiClient["send"] = (operation, presigned, sendBy, options) =>
    run(this.send, () => this.#open(operation, { presigned, sendBy }, options));

  readonly check: ApiClient["check"] = async (operation, ids, input, options) => {
    const { headers = {}, ...parsed } = this.#parse(operation, options);
    checkHeaders(headers);
    prepareRequest(this.#context, operation, ids, input);
    this.assertCallable(operation);
    if (!this.#isSigned(operation) || this.#hasSigned) return;
    const trial = { presigned: { path: "/", body: "{}", signature: "" } };
    await new Call(this.#context, operation, trial, parsed).sign();
    this.#hasSigned = true;
  };

  readonly sign: ApiClient["sign"] = async (operation, ids, input, options) =>
    this.#open(operation, { ids, input, signed: this.#isSigned(operation) }, options).sign();

  request(given: RawRequest, options?: RequestOptions): ApiPromise<unknown> {
    return run(this.request, () => {
      const { operation, ...source } = parseRawRequest(given);
      return this.#open(operation, source, options);
    });
  }

  /** Reads one record of a list, once, and tells how that went. */
  checkHealth(list: Operation, given?: RequestOptions): Promise<HealthReport> {
    return checkHealth(async (response) => {
      const { timeoutMs = Math.min(checkTimeoutMs, this.#context.timeoutMs), ...options } = this.#parse(list, given);
      // A record that differs from the description shows that the service responds, too.
      const reporter = this.#context.reporter.with({ response });
      const context: CallContext = { ...this.#context, reporter, validation: "off" };
      const source = { ids: [], input: { paging: { _size: 1 } }, signed: this.#isSigned(list) };
      await new Call(context, list, source, { maxRetries: 0, ...options, timeoutMs }).run();
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
  derive(options: DerivedOptions): HttpClient {
    const { inFlight: parent, ...context } = this.#context;
    return new HttpClient({ ...context, ...options, signedOperations: this.#signedOperations, parent });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { inFlight, tokens, transport } = this.#context;
    await inFlight.close();
    if (this.#isDerived) return;
    await tokens.close?.();
    await transport.close();
  }

  #open(operation: AnyOperation, source: CallSource, options: RequestOptions | undefined): Call {
    const parsed = this.#parse(operation, options);
    const { query } = parsed;
    return new Call(this.#context, operation, query === undefined ? source : { ...source, input: { query } }, parsed);
  }

  #parse(operation: AnyOperation, options: RequestOptions | undefined): ReturnType<typeof parseRequestOptions> {
    const parsed = parseRequestOptions(operation, options);
    if (!this.#context.inFlight.isClosed) return parsed;
    throw new InvalidArgumentError(`${operation.name}: the client is closed`, { code: "client_closed" });
  }

  #isSigned({ name, signed }: Operation): boolean {
    return signed || this.#signedOperations.has(name);
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
