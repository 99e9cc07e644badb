import { describeValue, looksLikeName } from "../errors/describe-value.js";

/** Why an input is refused. The message ends a sentence about a body or a query. */
export class InputFault extends Error {}

/**
 * A copy of a JSON value, of which each part is read once and JSON will lose nothing.
 *
 * @param path where the value stands, for messages.
 * @param name of the property that holds it, which its `toJSON` is told.
 * @returns undefined where `toJSON` returned that, as it does to be left out.
 * @throws {InputFault} that says what was found, and where.
 */
export function copyJson(path: string, value: unknown, name: string, level = 0): unknown {
  const toJson: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "toJSON") : undefined;
  if (typeof toJson !== "function") return copyValue(path, value, level);
  const made: unknown = toJson.call(value, name);
  if (made === null && Object.prototype.toString.call(value) === "[object Date]") {
    throw new InputFault(`needs ${path} to be a JSON value; found an invalid Date`);
  }
  return made === undefined ? undefined : copyValue(path, made, level);
}

/** A copy of what `toJSON` made, or of a value that has none: it is not asked again. */
function copyValue(path: string, value: unknown, level: number): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string" || Number.isFinite(value)) return value;
  if (level === mostLevels) {
    throw new InputFault(`needs ${path} to have at most ${mostLevels} levels; it has more, or contains itself`);
  }
  if (Array.isArray(value)) {
    // Unlike `map`, this also meets the holes of an array, which JSON would fill with null.
    return Array.from(value, (item: unknown, index) => {
      const place = below(path, `[${index}]`);
      const copied = copyJson(place, item, String(index), level + 1);
      if (copied === undefined) throw new InputFault(`needs ${place} to be a JSON value; found undefined`);
      return copied;
    });
  }
  if (typeof value !== "object" || Object.prototype.toString.call(value) !== "[object Object]") {
    throw new InputFault(`needs ${path} to be a JSON value; found ${describeValue(value)}`);
  }
  // Without a prototype, `__proto__` is a field like any other.
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, item] of Object.entries(value ?? {})) {
    // As in JSON, what is undefined is left out, and so is the method of an object that `toJSON` returned itself.
    if (item === undefined || (name === "toJSON" && typeof item === "function")) continue;
    const copied = copyJson(below(path, `.${name}`), item, name, level + 1);
    if (copied !== undefined) copy[name] = copied;
  }
  return copy;
}

/** More levels than any real value has, and few enough for the stack of every engine. */
const mostLevels = 1000;

/** A path of many levels, or of a value in the place of a name, is cut off. */
function below(path: string, step: string): string {
  const isShown = path.length <= 80 && (step.startsWith("[") || looksLikeName(step.slice(1)));
  return isShown ? path + step : `${path.replace(/…$/, "")}…`;
}
