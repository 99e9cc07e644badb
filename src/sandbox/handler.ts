import type { TypedOperation } from "../api/operation.js";
import type { SandboxCall } from "./service.js";

/** What handles one row: takes a call with the row's body, returns the row's output, or throws a `SandboxRefusal`. */
export type Handler<Row> =
  Row extends TypedOperation<string, readonly string[], infer Body, infer Output>
    ? (call: SandboxCall<Body>) => Output
    : never;

/** A handler for each of these rows, by name. */
export type HandlersOf<Row extends { readonly name: string }> = { readonly [R in Row as R["name"]]: Handler<R> };
