import type { ApiClient, CallInput, SignedRequest } from "../api/api-client.js";
import { emit } from "../api/client-events.js";
import type { Endpoint, TypedEndpoint } from "../api/endpoint.js";
import { type ApiPromise, checkRequestOptions, type RequestOptions } from "../api/request-options.js";
import { ConfigError, InvalidArgumentError } from "../errors/errors.js";
import { CallControl } from "../timing/deadline.js";
import { type ResponseSlot, toApiPromise } from "./api-promise.js";
import { Call, type CallContext, type PreparedCall, type Signing } from "./call.js";
import { operationKind } from "./decision.js";
import { checkHeaders } from "./headers.js";
import { encodePathValue, encodeQuery, fillPath, type PathTemplate, parsePathTemplate } from "./path.js";
import { Schemas } from "./schema.js";

/** How responses are held against the description: `report` tells of differences, `strict` throws on them, `off` does not look. */
export type ValidationMode = "report" | "strict" | "off";

export interface HttpClientOptions extends CallContext {
  readonly origin: string;
  /** Base path without a slash at its end; may be empty. */
  readonly basePath: string;
  readonly signing: Signing | undefined;
  /** Operations that are signed beside those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
  /** Whether the query belongs to the signed text. */
  readonly signQuery: boolean;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
  readonly validation: ValidationMode;
}

/** Makes calls: from an endpoint's row and its input to the record, or to an error that says what was done. */
export class HttpClient implements ApiClient {
  readonly #options: HttpClientOptions;
  readonly #templates = new Map<Endpoint, PathTemplate>();
  readonly #reported = new Set<string>();
  #schemas: Schemas | undefined;
  #loading: Promise<Schemas> | undefined;
  #closed = false;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  call<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<Body>,
    options: RequestOptions | undefined,
  ): ApiPromise<Output> {
    const slot: ResponseSlot = {};
    const kept = this.#keep(input);
    const data = this.#run(endpoint, options, slot, (schemas) => this.#prepare(schemas, endpoint, kept, options ?? {}));
    // The row's type and the row's table of fields are held together by the compiler where the row is written.
    return toApiPromise(data as Promise<Output>, slot);
  }

  async check<Body, Output>(endpoint: TypedEndpoint<Body, Output>, input: CallInput<Body>): Promise<void> {
    const kept = this.#keep(input);
    this.#prepare(await this.#load(), endpoint, kept, {});
  }

  async sign<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<Body>,
    options: RequestOptions | undefined,
  ): Promise<SignedRequest> {
    const kept = this.#keep(input);
    const control = this.#open(endpoint, options);
    try {
      const prepared = this.#prepare(await this.#load(), endpoint, kept, options ?? {});
      return await new Call(this.#options, prepared, control, {}).toSigned();
    } finally {
      control.finish();
    }
  }

  send<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    request: SignedRequest,
    gate: () => void,
    options: RequestOptions | undefined,
  ): ApiPromise<Output> {
    const slot: ResponseSlot = {};
    const data = this.#run(endpoint, options, slot, () => this.#presigned(endpoint, request, gate, options ?? {}));
    return toApiPromise(data as Promise<Output>, slot);
  }

  assertId(endpoint: Endpoint, index: number, id: unknown): asserts id is string {
    encodePathValue(endpoint.operation, this.#template(endpoint).parameters[index] ?? "id", id);
  }

  assertCallable(endpoint: Endpoint): void {
    const { operation } = endpoint;
    if (this.#isSigned(endpoint) && this.#options.signing === undefined) {
      throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#options.transport.close();
  }

  async #run(
    endpoint: Endpoint,
    options: RequestOptions | undefined,
    slot: ResponseSlot,
    prepare: (schemas: Schemas) => PreparedCall,
  ): Promise<unknown> {
    const control = this.#open(endpoint, options);
    try {
      const schemas = this.#schemas ?? (await this.#load());
      const call = new Call(this.#options, prepare(schemas), control, slot);
      return await call.run((data) => this.#compare(schemas, endpoint, data));
    } finally {
      control.finish();
    }
  }

  #open({ operation }: Endpoint, options: RequestOptions = {}): CallControl {
    checkRequestOptions(operation, options);
    if (this.#closed) throw new InvalidArgumentError(`${operation}: the client is closed`, { code: "client_closed" });
    return new CallControl({
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs,
      maxRetries: options.maxRetries ?? this.#options.maxRetries,
      signal: options.signal,
    });
  }

  /** Until the schemas are loaded the input waits: what its owner changes meanwhile is not what was asked for. */
  #keep<Body>(input: CallInput<Body>): CallInput<Body> {
    if (this.#schemas !== undefined) return input;
    return { ...input, ...copyOf("body", input.body), ...copyOf("query", input.query) };
  }

  /** With the first call: the libraries that a call needs are loaded side by side. */
  async #load(): Promise<Schemas> {
    if (this.#loading === undefined) {
      this.#loading = Schemas.load();
      this.#options.transport.preload?.();
      this.#options.tokens.preload?.();
    }
    this.#schemas = await this.#loading;
    return this.#schemas;
  }

  /** Everything that can be wrong with the caller's input is found here, before any I/O. */
  #prepare(schemas: Schemas, endpoint: Endpoint, input: CallInput<unknown>, options: RequestOptions): PreparedCall {
    const { operation } = endpoint;
    const { signQuery, signing, maxListBytes, maxRecordBytes, origin } = this.#options;
    const pathname = fillPath(this.#template(endpoint), operation, input.path);
    const query = input.query === undefined ? undefined : schemas.checkQuery(endpoint, input.query);
    const path = pathname + encodeQuery(operation, { ...input.paging, ...query });
    const fields = endpoint.body === undefined ? undefined : schemas.checkBody(operation, endpoint.body, input.body);
    this.assertCallable(endpoint);
    return {
      endpoint,
      kind: operationKind(endpoint.method),
      origin,
      path,
      signedPath: signQuery ? path : pathname,
      signing: this.#isSigned(endpoint) ? signing : undefined,
      body: fields === undefined ? "" : serialise(operation, fields),
      headers: checkHeaders(options.headers),
      maxResponseBytes: endpoint.verb === "list" ? maxListBytes : maxRecordBytes,
      secrets: () => [...secretValues(query), ...secretValues(fields)],
    };
  }

  /** A call whose request was made by `sign`, maybe in another process. */
  #presigned(endpoint: Endpoint, request: SignedRequest, gate: () => void, options: RequestOptions): PreparedCall {
    const { signQuery, signing, maxRecordBytes, origin } = this.#options;
    return {
      endpoint,
      kind: operationKind(endpoint.method),
      origin,
      path: request.path,
      signedPath: signQuery ? request.path : (request.path.split("?")[0] ?? request.path),
      signing,
      signature: request.signature,
      gate,
      body: request.body,
      headers: checkHeaders(options.headers),
      maxResponseBytes: maxRecordBytes,
      secrets: () => secretValues(JSON.parse(request.body)),
    };
  }

  /** What is wrong with a 2xx's data, after the differences that are only reported. */
  #compare(schemas: Schemas, endpoint: Endpoint, data: unknown): string | undefined {
    const { validation, events } = this.#options;
    const { operation, verb, record } = endpoint;
    if (record === undefined) return undefined;
    if (verb === "list" ? !isArrayOfObjects(data) : !isObject(data)) {
      return verb === "list" ? "it is not an array of records" : "it is not a record";
    }
    if (validation === "off") return undefined;
    const mismatches = schemas.mismatches(endpoint, record, data);
    for (const mismatch of mismatches) {
      const key = `${operation} ${mismatch.field}`;
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      emit(events, "mismatch", { operation, ...mismatch });
    }
    const [first] = mismatches;
    if (validation !== "strict" || first === undefined) return undefined;
    return `${first.field} is not ${first.expected} but ${first.found}`;
  }

  #isSigned(endpoint: Endpoint): boolean {
    return endpoint.signed === true || this.#options.signedOperations.has(endpoint.operation);
  }

  #template(endpoint: Endpoint): PathTemplate {
    let template = this.#templates.get(endpoint);
    if (template === undefined) {
      template = parsePathTemplate(this.#options.basePath, endpoint.path);
      this.#templates.set(endpoint, template);
    }
    return template;
  }
}

function copyOf(name: "body" | "query", value: unknown): object {
  return isObject(value) ? { [name]: { ...value } } : {};
}

function serialise(operation: string, fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields);
  } catch {
    throw new InvalidArgumentError(
      `${operation}: the body holds what JSON can't: a BigInt, or an object inside itself`,
    );
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isArrayOfObjects(value: unknown): value is object[] {
  return Array.isArray(value) && value.every(isObject);
}

/** Values that may stand in no message, although the service may repeat them in one. */
function secretValues(fields: Readonly<Record<string, unknown>> | undefined): string[] {
  return Object.entries(fields ?? {}).flatMap(([name, value]) =>
    secretFields.has(name) && typeof value === "string" ? [value] : [],
  );
}

const secretFields: ReadonlySet<string> = new Set([
  "accountVerificationBearerToken",
  "senderAccount",
  "senderName",
  "receiverAccount",
  "receiverName",
]);
