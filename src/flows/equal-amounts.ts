import { decimalNumeral, exact } from "../money.js";

/** Whether two amounts have the same value: `1.5` and `1.50` do. */
export function equalAmounts(one: unknown, other: unknown): boolean {
  if (typeof one !== "string" || typeof other !== "string") return false;
  if (one === other) return true;
  return decimalNumeral.test(one) && decimalNumeral.test(other) && exact(one).eq(other);
}
