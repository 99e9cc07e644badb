import type { RawOperation } from "../api/operation.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import type { QueryValues } from "./check-input.js";
import { jsonFault } from "./json-value.js";

/** @throws {InvalidArgumentError} that names the parameter at fault, never with a value. */
export function checkRawQuery({ name }: RawOperation, given: object = {}): QueryValues {
  const values = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [parameter, value] of values) {
    if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) continue;
    const shown = looksLikeName(parameter) ? JSON.stringify(parameter) : "a parameter";
    throw new InvalidArgumentError(
      `${name}: ${shown} in the query must be a string, a number, or a boolean; got ${describeValue(value)}`,
    );
  }
  return Object.fromEntries(values.map(([parameter, value]) => [parameter, String(value)]));
}

/** @throws {InvalidArgumentError} that says what JSON can't carry, and in which place. */
export function checkRawBody({ name, method }: RawOperation, body: unknown): void {
  if (body === undefined) return;
  if (method === "GET") throw new InvalidArgumentError(`${name}: a GET has no body; give what it asks for as query`);
  const fault = jsonFault("the body", body);
  if (fault !== undefined) throw new InvalidArgumentError(`${name}: ${fault}`);
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
