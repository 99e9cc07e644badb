import type { Endpoint, TypedEndpoint } from "./endpoint.js";
import type { ApiPromise, RequestOptions } from "./request-options.js";

/** Paging and sorting of a list, by the names of the wire. */
export interface PagingValues {
  readonly _size?: number | undefined;
  readonly _before?: string | undefined;
  readonly _after?: string | undefined;
  readonly _sort?: string | undefined;
}

export interface CallInput<Body> {
  /** One value for each `{parameter}` of the path, in order. */
  readonly path: readonly string[];
  readonly paging?: PagingValues;
  /** Filters of a list, or the declared query parameters of a single read. */
  readonly query?: object | undefined;
  readonly body?: Body;
}

/** A signed request that is ready to be sent, to the byte. */
export interface SignedRequest {
  /** Path and query as they stand in the request line, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** Value of `X-SERVICE-SIGNATURE-BASE64`. */
  readonly signature: string;
}

/** Where an object that makes calls keeps its `ApiClient`, for the entry points beside the main one. */
export const apiClientKey: unique symbol = Symbol.for("cross-border-payments.caller");

/** Makes one call of one operation: what resources need to know of the client. */
export interface ApiClient {
  call<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<NoInfer<Body>>,
    options: RequestOptions | undefined,
  ): ApiPromise<Output>;
  /** Refuses what `call` would refuse, and does nothing else. */
  check<Body, Output>(endpoint: TypedEndpoint<Body, Output>, input: CallInput<NoInfer<Body>>): Promise<void>;
  /** Checks and signs what `call` would send, and sends nothing. */
  sign<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<NoInfer<Body>>,
    options: RequestOptions | undefined,
  ): Promise<SignedRequest>;
  /** Sends a request that was signed before, with the very bytes. `gate` is called when the first is about to leave; if it throws, none does. */
  send<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    request: SignedRequest,
    gate: () => void,
    options: RequestOptions | undefined,
  ): ApiPromise<Output>;
  /** Refuses an operation that this client can't sign, before any I/O. */
  assertCallable(endpoint: Endpoint): void;
  /** Refuses an id that can be no part of a path, before any I/O. */
  assertId(endpoint: Endpoint, index: number, id: unknown): asserts id is string;
}

/** Options of a single read. */
export interface GetOptions<Query> extends RequestOptions {
  /** The query parameters that the description declares for single reads; their effect is not shown. */
  readonly query?: Query | undefined;
}
