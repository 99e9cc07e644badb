import type { FieldTable } from "./fields.js";
import type { PathTemplate } from "./path.js";

export type Verb = "create" | "get" | "list" | "update";
export type Method = "GET" | "POST" | "PUT";

/** Of a described operation, or of one that the description does not have yet. */
export type CallMethod = Method | "PATCH" | "DELETE";

export interface BodyFields {
  readonly fields: FieldTable;
  /** The fields without which the body is refused before it is sent. The description makes few certain. */
  readonly required: readonly string[];
  /** The values that the description allows in this body; in records the same fields are open. */
  readonly oneOf?: Readonly<Record<string, readonly string[]>>;
}

/**
 * One row of the description's "Operations" table. The client, the sandbox and the tests all read these rows; nothing about an
 * operation is said anywhere else. `resource` makes them.
 */
export interface Operation {
  /** Its path in code, such as `liquidityProviders.deposits.create`. */
  readonly name: string;
  readonly verb: Verb;
  readonly method: Method;
  readonly path: PathTemplate;
  readonly record: FieldTable;
  /** Absent where the request has no body. */
  readonly body?: BodyFields;
  /**
   * The filters of a list, or the query parameters that a single read declares. `open`: the description does not show them, so
   * that any is sent as it is.
   */
  readonly query?: FieldTable | "open";
  /** Always carries `X-SERVICE-SIGNATURE-BASE64` (Interface description 0.0.1, "Digital signatures"). */
  readonly signed: boolean;
  /** What names the gateway whose key signs: a field of the body, or the id in the path of a record that has a signer. */
  readonly signer?: string | undefined;
  /** A create that moves nothing: when its response is lost, it may be asked for again. */
  readonly repeatable?: true | undefined;
  /** The body is a record of the service with the field of `identifiedBy`: unknown fields are sent along. */
  readonly sendsBack?: true | undefined;
  /** The field that comes back as it was sent, if it was: a response in which it differs belongs to another request. */
  readonly identifiedBy?: string | undefined;
}

/** What is called without a row: `client.request` makes one for each call. Nothing is known of what goes in or comes out. */
export interface RawOperation {
  /** Method and path template: `POST /refunds/{refundId}/approve`. */
  readonly name: string;
  readonly verb: "request";
  readonly method: CallMethod;
  readonly path: PathTemplate;
  /** The caller says that sending it twice does what sending it once does. */
  readonly idempotent: boolean;
}

/** Whatever a call can be made of. */
export type AnyOperation = Operation | RawOperation;

declare const types: unique symbol;

/** A row with the types of what goes in and what comes out. They exist for the compiler only. */
export interface TypedOperation<Name extends string, Ids extends readonly string[], Body, Output> extends Operation {
  readonly name: Name;
  // A method, so that a row also fits where its types are not known.
  [types]?(ids: Ids, body: Body): Output;
}
