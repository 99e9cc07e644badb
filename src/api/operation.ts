import type { FieldTable } from "./fields.js";
import type { PathTemplate } from "./path.js";

export type Verb = "create" | "get" | "list" | "update";
export type Method = "GET" | "POST" | "PUT";

/** The method of a described operation, or of a raw request. */
export type CallMethod = Method | "PATCH" | "DELETE";

export interface BodyFields {
  readonly fields: FieldTable;
  /** Required fields. The description names few. */
  readonly required: readonly string[];
  /** Allowed values in this body. In records the same fields are open. */
  readonly oneOf?: Readonly<Record<string, readonly string[]>>;
}

/**
 * One row of the description's "Operations" table. The client, the sandbox, and the tests all read these rows. `resource` makes
 * them.
 */
export interface Operation {
  /** Its path in code, such as `liquidityProviders.deposits.create`. */
  readonly name: string;
  readonly verb: Verb;
  readonly method: Method;
  readonly path: PathTemplate;
  readonly record: FieldTable;
  /** Absent if the request has no body. */
  readonly body?: BodyFields;
  /**
   * The filters of a list, or the query parameters that a single read declares. With `open` the description doesn't show them, so
   * any are sent as they are.
   */
  readonly query?: FieldTable | "open";
  /** Always carries `X-SERVICE-SIGNATURE-BASE64` (Interface description 0.0.1, "Digital signatures"). */
  readonly signed: boolean;
  /** The field of the body, or the id in the path, that names the signing gateway. */
  readonly signer?: string | undefined;
  /** A create that moves no money. If its response is lost, it may be requested again. */
  readonly repeatable?: true | undefined;
  /** The body is a record of the service with the field of `identifiedBy`. Unknown fields are sent along. */
  readonly sendsBack?: true | undefined;
  /** A field that the response repeats. A response in which it differs belongs to another request. */
  readonly identifiedBy?: string | undefined;
}

/** `client.request` makes one for each call. Its body and response can be anything. */
export interface RawOperation {
  /** Method and path template: `POST /refunds/{refundId}/approve`. */
  readonly name: string;
  readonly verb: "request";
  readonly method: CallMethod;
  readonly path: PathTemplate;
  /** Its fields aren't known, so each of them may hold anything. */
  readonly record: FieldTable;
  readonly query: "open";
  /** The caller says that sending it twice does what sending it once does. */
  readonly idempotent: boolean;
}

/** A described or a raw operation. */
export type AnyOperation = Operation | RawOperation;

declare const types: unique symbol;

/** A row with the types of its ids, body, and output, for the compiler only. */
export interface TypedOperation<Name extends string, Ids extends readonly string[], Body, Output> extends Operation {
  readonly name: Name;
  // A method, so that a row also fits `Operation`.
  [types]?(ids: Ids, body: Body): Output;
}
