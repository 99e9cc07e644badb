import type { FieldTable } from "./fields.js";

/** The fields of a body that is sent. */
export interface BodyFields {
  readonly fields: FieldTable;
  /** The fields without which the body is refused before sending. The description makes few certain. */
  readonly required: readonly string[];
}

export type Verb = "create" | "get" | "update" | "list";

/**
 * One row of the description's "Operations" table. Client, sandbox, contract tests and the OpenAPI document
 * all read these rows; nothing about an operation is said anywhere else.
 */
export interface Endpoint {
  /** Name of the method, such as `liquidityProviders.deposits.create`. */
  readonly operation: string;
  readonly verb: Verb;
  readonly method: "GET" | "POST" | "PUT";
  /** As in the description, with the parameters named: `/liquidity-providers/{liquidityProviderId}/deposits`. */
  readonly path: string;
  readonly body?: BodyFields;
  /** The record in the response: one for `create` and `get`, an array of them for `list`. */
  readonly record?: FieldTable;
  /** Filters of a list, or the query parameters that a single read declares. */
  readonly query?: FieldTable;
  /** Filters beyond `query` are let through, since the description does not show them. */
  readonly openQuery?: true;
  /** Carries `X-SERVICE-SIGNATURE-BASE64` in any case (description: "Digital signatures", 1). */
  readonly signed?: true;
}

const types: unique symbol = Symbol("types");

/** A row that knows the types of what goes in and what comes out; they exist for the compiler only. */
export interface TypedEndpoint<Body, Output> extends Endpoint {
  readonly [types]?: (body: Body) => Output;
}

/** A row of the table, with the types of its body and of its response. */
export function endpoint<Output, Body = never>(row: Endpoint): TypedEndpoint<Body, Output> {
  return row;
}
