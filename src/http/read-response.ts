import type { Operation } from "../api/operation.js";
import type { WireResponse } from "../wire/transport.js";
import { classifyStatus } from "./decision.js";
import { brokenOff, type Failure, refusedStatus, unreadable } from "./failure.js";
import type { Mismatch, Schemas } from "./schema.js";

/** How responses are compared with the description: `report` reports differences, `strict` throws on them, `off` does not look. */
export type ValidationMode = "report" | "strict" | "off";

/** What a response comes to: the data or a failure, and what differs from the description. */
export interface ReadResponse {
  readonly outcome: { readonly data: unknown } | Failure;
  readonly mismatches: readonly Mismatch[];
}

/** Reads a response: its status, its JSON, its shape, its fields. Pure. */
export function readResponse(
  operation: Operation,
  response: WireResponse,
  validation: ValidationMode,
  schemas: Schemas,
): ReadResponse {
  const failureClass = classifyStatus(response.status);
  if (failureClass !== undefined) return only(refusedStatus(failureClass, response));
  // The description gives the response to an update no body: whatever it contains, the update is done.
  if (operation.verb === "update") return only({ data: undefined });
  if (response.broken !== undefined) return only(brokenOff(response, response.broken));
  let data: unknown;
  try {
    data = JSON.parse(response.text);
  } catch {
    return only(unreadable(response, "it is not JSON"));
  }
  if (operation.verb === "list" ? !isArrayOfObjects(data) : !isObject(data)) {
    return only(
      unreadable(response, operation.verb === "list" ? "it is not an array of records" : "it is not a record"),
    );
  }
  const mismatches = validation === "off" ? noMismatches : schemas.mismatches(operation, data, response.text.length);
  const [first] = mismatches;
  if (validation !== "strict" || first === undefined) return { outcome: { data }, mismatches };
  const problem = `${first.field} is not ${first.expected} but ${first.found}`;
  return { outcome: unreadable(response, problem), mismatches };
}

const noMismatches: readonly Mismatch[] = [];

function only(outcome: ReadResponse["outcome"]): ReadResponse {
  return { outcome, mismatches: noMismatches };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isArrayOfObjects(value: unknown): value is object[] {
  if (!Array.isArray(value)) return false;
  // A loop: there may be millions of them.
  for (const item of value) if (!isObject(item)) return false;
  return true;
}
