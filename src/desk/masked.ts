import { type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import { payments } from "../resources/payments.js";

/** What stands for a name or an account number that nobody asked for. */
export const hidden = "•••";

/** A record of the service, or the body of a request, without names and account numbers, as JSON. */
export function maskedJson(value: unknown, isShown: boolean): string {
  try {
    return JSON.stringify(value, isShown ? undefined : mask, 2) ?? "";
  } catch {
    // Nested more deeply than the stack.
    return hidden;
  }
}

const { record }: { readonly record: FieldTable } = payments.list;
/** They hold the names and accounts once more. */
const copies: ReadonlySet<string> = new Set(["creationRequestBody", "extras"]);

/** Fields that the client doesn't know are hidden too: they may hold anything. */
function mask(name: string, value: unknown): unknown {
  if (name === "") return value;
  const kind = kindOfField(record, name);
  const isConfidential = kind === undefined || fieldKinds[kind].isConfidential === true;
  return isConfidential || copies.has(name) ? hidden : value;
}
