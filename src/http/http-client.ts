import type { ApiClient, CallInput, SignedRequest, TokenHold } from "../api/api-client.js";
import type { AnyOperation, Operation, TypedOperation } from "../api/operation.js";
import {
  type ApiPromise,
  parseRequestOptions,
  type RequestOptions,
  type ResponseInfo,
} from "../api/request-options.js";
import type { Timestamp } from "../core/clock.js";
import { InvalidArgumentError, traceFrom } from "../core/errors.js";
import { type Reporter, serverAttributes } from "../events/reporter.js";
import { assertSigner, Call, type CallSource, signOnly, trySigner } from "./call.js";
import { type CallContext, InFlight, ReportedFields } from "./context.js";
import { checkHealth, checkTimeoutMs, type HealthReport } from "./health.js";
import { checkHeaders, checkRequest, prepareRequest } from "./prepare.js";
import { parseRawRequest, type RawRequest } from "./raw.js";
import { SchemaLoader } from "./schema.js";

/**
 * The promise of a call. `told.response` is set by the time that the data arrives. It is one promise, not two: a failure is
 * reported once, and never as unhandled beside the one that the caller handles.
 */
export function toApiPromise<T>(
  data: Promise<T>,
  told: { readonly response?: ResponseInfo | undefined } = {},
): ApiPromise<T> {
  return Object.assign(data, {
    withResponse: () => data.then((value) => ({ data: value, response: told.response ?? { status: 0, headers: {} } })),
  });
}

export interface HttpClientOptions extends Omit<CallContext, "server" | "schemas" | "reported" | "inFlight"> {
  /** Operations that are signed besides those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
  /** Shared by clients that were made together. Default: its own. */
  readonly schemas?: SchemaLoader;
  /** The client that this one is derived from. It uses the same connections and token. */
  readonly parent?: HttpClient;
}

/** What a derived client can have of its own. */
export type DerivedOptions = Pick<CallContext, "timeoutMs" | "maxRetries" | "headers" | "validation" | "reporter">;

/** Calls operations. Returns the record, or throws an error that says what was done. */
export class HttpClient implements ApiClient {
  readonly #context: CallContext;
  readonly #signedOperations: ReadonlySet<string>;
  readonly #parent: HttpClient | undefined;
  readonly #inFlight: InFlight;
  #hasSigned = false;
  #keyId: Promise<string | undefined> | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor({ signedOperations, schemas = new SchemaLoader(), parent, ...context }: HttpClientOptions) {
    this.#parent = parent;
    this.#inFlight = new InFlight(parent === undefined ? undefined : parent.#inFlight);
    const server = serverAttributes(context.origin);
    this.#context = { ...context, server, schemas, reported: new ReportedFields(), inFlight: this.#inFlight };
    this.#signedOperations = signedOperations;
    if (parent === undefined) this.#preload();
  }

  call<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input: CallInput<NoInfer<Body>> = {},
    options?: RequestOptions,
  ): ApiPromise<Output> {
    const signed = this.#isSigned(operation);
    return this.#run(operation, { ids, input, signed }, options, this.call);
  }

  send<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    request: SignedRequest,
    sendBy: Timestamp,
    options?: RequestOptions,
  ): ApiPromise<Output> {
    return this.#run(operation, { presigned: request, sendBy }, options, this.send);
  }

  async check<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input: CallInput<NoInfer<Body>>,
    options?: RequestOptions,
  ): Promise<void> {
    const parsed = parseRequestOptions(operation, options);
    checkHeaders(parsed.headers);
    checkRequest(this.#context, operation, ids, input);
    this.#assertOpen(operation.name);
    this.assertCallable(operation);
    if (!this.#isSigned(operation) || this.#hasSigned) return;
    await trySigner(this.#context, operation, parsed);
    this.#hasSigned = true;
  }

  async sign<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input: CallInput<NoInfer<Body>>,
    options?: RequestOptions,
  ): Promise<SignedRequest> {
    const parsed = parseRequestOptions(operation, options);
    this.#assertOpen(operation.name);
    const request = prepareRequest(this.#context, operation, ids, input);
    const signature = this.#isSigned(operation) ? await signOnly(this.#context, operation, request, parsed) : "";
    return { path: request.path, body: request.text, signature };
  }

  request(given: RawRequest, options?: RequestOptions): ApiPromise<unknown> {
    try {
      const { operation, ...source } = parseRawRequest(given);
      return this.#run<unknown>(operation, source, options, this.request);
    } catch (error) {
      return toApiPromise(Promise.reject(traceFrom(error, this.request)));
    }
  }

  /** Reads one record of a list, once, and tells how that went. */
  async checkHealth(list: Operation, given?: RequestOptions): Promise<HealthReport> {
    this.#inFlight.begin();
    try {
      const options = parseRequestOptions(list, given);
      this.#assertOpen(list.name);
      const timeoutMs = options.timeoutMs ?? Math.min(checkTimeoutMs, this.#context.timeoutMs);
      const input = { paging: { _size: 1 }, lenient: true } as const;
      const source = { ids: [], input, signed: this.#isSigned(list) };
      const maxRetries = options.maxRetries ?? 0;
      return await checkHealth(() => this.#newCall(list, source, { ...options, timeoutMs, maxRetries }));
    } catch (error) {
      throw traceFrom(error);
    } finally {
      this.#inFlight.end();
    }
  }

  signingKeyId(): Promise<string | undefined> {
    this.#keyId ??= this.#describeKey();
    return this.#keyId;
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
    return new HttpClient({ ...this.#context, ...options, signedOperations: this.#signedOperations, parent: this });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #describeKey(): Promise<string | undefined> {
    return (await this.#context.signer?.describe("/", new Uint8Array()))?.publicKeySha256;
  }

  async #close(): Promise<void> {
    await this.#inFlight.none();
    if (this.#parent !== undefined) return;
    await this.#context.tokens.close?.();
    await this.#context.transport.close();
  }

  /** @param from the method that was called. Stacks of wrong arguments begin there. */
  #run<Output>(
    operation: AnyOperation,
    source: CallSource,
    options: RequestOptions | undefined,
    from: (...args: never) => unknown,
  ): ApiPromise<Output> {
    try {
      const call = this.#open(operation, source, options);
      // `resource` gives each row its types.
      return toApiPromise(call.run() as Promise<Output>, call.report);
    } catch (error) {
      return toApiPromise(Promise.reject(traceFrom(error, from)));
    }
  }

  #open(operation: AnyOperation, source: CallSource, options: RequestOptions | undefined): Call {
    const parsed = parseRequestOptions(operation, options);
    this.#assertOpen(operation.name);
    return this.#newCall(operation, source, parsed);
  }

  #newCall(operation: AnyOperation, source: CallSource, options: ReturnType<typeof parseRequestOptions>): Call {
    const { query } = options;
    return new Call(this.#context, operation, query === undefined ? source : { ...source, input: { query } }, options);
  }

  #assertOpen(name: string): void {
    if (this.#hasClosed()) throw new InvalidArgumentError(`${name}: the client is closed`, { code: "client_closed" });
  }

  #hasClosed(): boolean {
    const parent = this.#parent;
    return this.#isClosed || (parent === undefined ? false : parent.#hasClosed());
  }

  /** Begins to load the libraries that the first call needs. */
  #preload(): void {
    this.#context.schemas.load().catch(() => {});
    this.#context.transport.preload?.();
    this.#context.tokens.preload?.();
  }

  #isSigned({ name, signed }: Operation): boolean {
    return signed || this.#signedOperations.has(name);
  }
}
