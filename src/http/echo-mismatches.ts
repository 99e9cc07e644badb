import { type FieldTable, failedStatuses } from "../api/fields.js";
import type { Mismatch } from "./schema.js";

/** What a created payment says of a failure. It is recorded anyway. */
export function failureMismatches(record: FieldTable, data: unknown): readonly Mismatch[] {
  return failedStatuses(record, data).map((field) => ({
    field,
    expected: "pending or processed",
    found: String(Reflect.get(Object(data), field)),
  }));
}

/**
 * Where a created record repeats its signed request in another form. That is reported and decides nothing: a service may normalise what
 * it stores, and the record is known by its id.
 */
export function echoMismatches(record: unknown, text: string, signature: string): readonly Mismatch[] {
  const { creationRequestBody: body, creationRequestSignatureBase64: echoed } = Object(record) as Record<
    string,
    unknown
  >;
  const mismatches: Mismatch[] = [];
  if (typeof body === "string" && body !== text) mismatches.push(differing("creationRequestBody"));
  if (typeof echoed === "string" && echoed !== signature) mismatches.push(differing("creationRequestSignatureBase64"));
  return mismatches;
}

function differing(field: string): Mismatch {
  return { field, expected: "what was sent", found: "another form of it" };
}
