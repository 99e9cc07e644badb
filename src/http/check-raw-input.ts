import type { RawOperation } from "../api/operation.js";
import { describeName, describeValue, looksLikeName } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import type { QueryValues } from "./check-input.js";
import { copyJson, InputFault } from "./json-value.js";

/**
 * A copy of a query of which no field is known.
 *
 * @throws {InvalidArgumentError} that names the parameter at fault, never with a value.
 */
export function checkRawQuery({ name }: RawOperation, given: object | undefined): QueryValues {
  const checked: Record<string, string | number> = Object.create(null);
  for (const [parameter, value] of Object.entries(given ?? {})) {
    if (value === undefined) continue;
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isFinite(value)) {
      throw new InvalidArgumentError(
        `${name}: the query needs ${describeName(parameter)} to be a string, a number or a boolean; found ${describeValue(value)}`,
      );
    }
    checked[parameter] = String(value);
  }
  return checked;
}

/**
 * A copy of a body of which no field is known.
 *
 * @returns undefined where there is none.
 * @throws {InvalidArgumentError} that says what JSON can't carry, and where.
 */
export function checkRawBody({ name, method }: RawOperation, given: unknown): unknown {
  if (given === undefined) return undefined;
  if (method === "GET") throw new InvalidArgumentError(`${name}: a GET has no body; give what it asks for as query`);
  try {
    const copied = copyJson("the body", given, "");
    if (copied !== undefined) return copied;
  } catch (thrown) {
    if (thrown instanceof InputFault) throw new InvalidArgumentError(`${name}: the request ${thrown.message}`);
    // What the caller's code throws may quote any part of the body: it is no cause of this error.
    throw new InvalidArgumentError(`${name}: the body can't be read: one of its getters or toJSON methods threw`);
  }
  throw new InvalidArgumentError(`${name}: the toJSON method of the body returned undefined`);
}

/** Every text and every number in a value, at any depth, as text; and the names that may be values too, such as account numbers. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    looksLikeName(name) ? textsIn(item) : [name, ...textsIn(item)],
  );
}
