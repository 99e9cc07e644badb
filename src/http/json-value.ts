import { describeValue } from "../errors/describe-value.js";
import { holdsPrivateKey, shortestPrivateKey } from "../signing/private-key-text.js";

/** Why an input is refused. The message ends a sentence about a body or a query. */
export class InputFault extends Error {}

/**
 * A copy of a JSON value, of which each part is read once and JSON will lose nothing.
 *
 * @param path where the value stands, for messages.
 * @throws {InputFault} that says what was found, and where.
 */
export function copyJson(path: string, value: unknown, level = 0): unknown {
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (typeof value === "string") return assertNoKey(path, value);
  if (level === mostLevels) {
    throw new InputFault(`needs ${path} to have at most ${mostLevels} levels; it has more, or contains itself`);
  }
  const toJson: unknown = typeof value === "object" ? Reflect.get(value ?? {}, "toJSON") : undefined;
  if (typeof toJson === "function") return copyJson(path, toJson.call(value, ""), level + 1);
  if (Array.isArray(value)) {
    // Unlike `map`, this also meets the holes of an array, which JSON would fill with null.
    return Array.from(value, (item: unknown, index) => copyJson(below(path, `[${index}]`), item, level + 1));
  }
  if (typeof value !== "object" || Object.prototype.toString.call(value) !== "[object Object]") {
    throw new InputFault(`needs ${path} to be a JSON value; found ${describeValue(value)}`);
  }
  // Without a prototype, `__proto__` is a field like any other.
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, item] of Object.entries(value ?? {})) {
    assertNoKey(`the names in ${path}`, name);
    // As in JSON, what is undefined is left out.
    if (item !== undefined) copy[name] = copyJson(below(path, `.${name}`), item, level + 1);
  }
  return copy;
}

/** More than any real value has, and few enough for the stack of every engine. */
const mostLevels = 1000;

/** A path of many levels, or of a value in the place of a name, is cut off. */
function below(path: string, step: string): string {
  return path.length > 80 || step.length > 40 ? `${path.replace(/…$/, "")}…` : path + step;
}

function assertNoKey(path: string, text: string): string {
  if (text.length >= shortestPrivateKey && holdsPrivateKey(text)) {
    throw new InputFault(`needs ${path} to be a JSON value; found a private key, which must never be sent`);
  }
  return text;
}
