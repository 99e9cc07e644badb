import type { Timestamp } from "../core/clock.js";
import type { Reporter } from "../events/reporter.js";
import type { Operation, TypedOperation } from "./operation.js";
import type { ApiPromise, RequestOptions } from "./request-options.js";

/** Paging and sorting of a list, by their names on the wire. */
export interface PagingValues {
  readonly _size?: number | undefined;
  readonly _before?: string | undefined;
  readonly _after?: string | undefined;
  readonly _sort?: string | undefined;
}

export interface CallInput<Body> {
  readonly body?: Body;
  /** The body's unknown fields are the service's own, so none of them is misspelled. */
  readonly isFromService?: true;
  /** Filters of a list, or the declared query parameters of a single read. */
  readonly query?: object | undefined;
  readonly paging?: PagingValues;
}

/** A signed request, ready to be sent byte for byte. */
export interface SignedRequest {
  /** Path and query as they stand in the request line, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** Value of `X-SERVICE-SIGNATURE-BASE64`. */
  readonly signature: string;
}

/** The part of the client that resources and flows use. */
export interface ApiClient {
  /** The service's origin and base path, without a slash at its end. */
  readonly baseUrl: string;
  /** Gets the events of this client. */
  readonly reporter: Reporter;
  /** Absent while tokens are requested as they are needed. */
  readonly tokenHold: TokenHold | undefined;
  /** Calls one operation. `ids` are the parameters of its path, in order. */
  call<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input?: CallInput<NoInfer<Body>>,
    options?: RequestOptions,
  ): ApiPromise<Output>;
  /**
   * Throws what `call` would throw before it sends anything. For a signed operation, the key or the signer makes one trial signature
   * per client.
   */
  check<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input: CallInput<NoInfer<Body>>,
    options?: RequestOptions,
  ): Promise<void>;
  /** Checks and signs what `call` would send, and sends nothing. */
  sign<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    ids: NoInfer<Ids>,
    input: CallInput<NoInfer<Body>>,
    options?: RequestOptions,
  ): Promise<SignedRequest>;
  /**
   * Sends a request that `sign` made, maybe in another process, byte for byte.
   *
   * @param sendBy if the request hasn't been sent by then, by either clock, it isn't sent at all.
   */
  send<Ids extends readonly string[], Body, Output>(
    operation: TypedOperation<string, Ids, Body, Output>,
    request: SignedRequest,
    sendBy: Timestamp,
    options?: RequestOptions,
  ): ApiPromise<Output>;
  /** Refuses an operation that this client can't sign. */
  assertCallable(operation: Operation): void;
}

/** The property in which a client keeps its `ApiClient`, for the entry points beside the main one. */
export const apiClientKey: unique symbol = Symbol("api-client");

/** Options of a single read. */
export interface GetOptions<Query> extends RequestOptions {
  /** The query parameters that the description declares for single reads. Their effect is not shown. */
  readonly query?: Query | undefined;
}

/** The `ApiClient` of a client. `undefined` for anything else. */
export function apiClientOf(client: unknown): ApiClient | undefined {
  const api: unknown = Reflect.get(Object(client), apiClientKey);
  return typeof api === "object" && api !== null ? (api as ApiClient) : undefined;
}

/** Why a client requests no token at present, and for how long. */
export interface TokenHold {
  /**
   * `refused` (the login), `session-ended`, `throttled`, `failing` (the identity server), `unsent` (no connection), `maybe-sent` (no response),
   * `token-rejected` (the service refuses new tokens too), and so on. It may get further values.
   */
  readonly reason: string;
  /** Whether other credentials, or another login, are needed. Waiting doesn't help then. */
  readonly needsLogin: boolean;
  /** In how many milliseconds a token may be requested again. */
  readonly endsInMs: number;
}
