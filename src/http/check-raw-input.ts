import type { RawOperation } from "../api/operation.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
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
      const shown = looksLikeName(parameter) ? JSON.stringify(parameter) : "a parameter";
      throw new InvalidArgumentError(
        `${name}: ${shown} in the query must be a string, a number, or a boolean; got ${describeValue(value)}`,
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
  let copied: unknown;
  try {
    copied = copyJson("the body", given, "");
  } catch (fault) {
    if (!(fault instanceof InputFault)) throw fault;
    throw new InvalidArgumentError(`${name}: ${fault.message}`);
  }
  if (copied !== undefined) return copied;
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
