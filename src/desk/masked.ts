import { type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import { payments } from "../resources/payments.js";

/** Replaces a name or an account number until a user asks for it. */
export const hidden = "•••";

/** A record of the service, or the body of a request, without names and account numbers, as JSON. */
export function maskedJson(value: unknown, isShown: boolean): string {
  return JSON.stringify(value, isShown ? undefined : mask, 2) ?? "";
}

const { record }: { readonly record: FieldTable } = payments.list;
/** These repeat the names and accounts. */
const copies: ReadonlySet<string> = new Set(["creationRequestBody", "extras"]);

/** Unknown fields are hidden, too, because they can hold anything. */
function mask(name: string, value: unknown): unknown {
  if (name === "") return value;
  const kind = kindOfField(record, name);
  const isConfidential = kind === undefined || fieldKinds[kind].isConfidential === true;
  return isConfidential || copies.has(name) ? hidden : value;
}
