import type { FieldKind } from "../api/fields.js";
import { equalAmounts, isExactNumber } from "../money.js";

/**
 * Whether two values of a field mean the same: a service may write an amount in another way, trim a text, group an account's digits, or
 * give an id as a number.
 */
export function isSameField(kind: FieldKind | undefined, one: unknown, other: unknown): boolean {
  return kind === "decimal" ? equalAmounts(one, other) : withoutForm(kind, one) === withoutForm(kind, other);
}

function withoutForm(kind: FieldKind | undefined, value: unknown): unknown {
  const text = isExactNumber(value) ? String(value) : value;
  if (kind === undefined || kind === "any") return value;
  if (typeof text !== "string") return text;
  return kind === "account" ? text.replace(/\s/g, "") : text.trim();
}
