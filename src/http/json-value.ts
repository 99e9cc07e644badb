import { describeValue, looksLikeName } from "../core/describe.js";

/** Why an input is refused: the path of a value, what it must be, and what it is. */
export class InputFault extends Error {}

/**
 * A copy of a JSON value, of which each part is read once and JSON will lose nothing.
 *
 * @param path where the value stands, for messages.
 * @param name of the property that holds it, which its `toJSON` is told.
 * @param isExact refuses whole numbers that were rounded when they were read.
 * @returns undefined where `toJSON` returned that, as it does to be left out.
 * @throws {InputFault} that says what was found, and where.
 */
export function copyJson(path: string, value: unknown, name: string, isExact = false, level = 0): unknown {
  const toJson: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "toJSON") : undefined;
  if (typeof toJson !== "function") return copyValue(path, value, isExact, level);
  const made: unknown = toJson.call(value, name);
  if (made === null && Object.prototype.toString.call(value) === "[object Date]") {
    throw notJson(path, "an invalid Date");
  }
  return made === undefined ? undefined : copyValue(path, made, isExact, level);
}

/** A copy of what `toJSON` made, or of a value that has none: it is not asked again. */
function copyValue(path: string, value: unknown, isExact: boolean, level: number): unknown {
  if (isExact && typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw notJson(path, "a number that JavaScript can't hold exactly");
  }
  if (value === null || typeof value === "boolean" || typeof value === "string" || Number.isFinite(value)) return value;
  if (level === maxLevels) {
    throw new InputFault(`${path} must have at most ${maxLevels} levels; it has more, or contains itself`);
  }
  if (Array.isArray(value)) {
    // Unlike `map`, this also meets the holes of an array, which JSON would fill with null.
    return Array.from(value, (item: unknown, index) => {
      const place = below(path, `[${index}]`);
      const copied = copyJson(place, item, String(index), isExact, level + 1);
      if (copied === undefined) throw notJson(place, "undefined");
      return copied;
    });
  }
  if (typeof value !== "object" || Object.prototype.toString.call(value) !== "[object Object]") {
    throw notJson(path, describeValue(value));
  }
  // Without a prototype, `__proto__` is a field like any other.
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, item] of Object.entries(value ?? {})) {
    // As in JSON, what is undefined is left out, and so is the method of an object that `toJSON` returned itself.
    if (item === undefined || (name === "toJSON" && typeof item === "function")) continue;
    const copied = copyJson(below(path, `.${name}`), item, name, isExact, level + 1);
    if (copied !== undefined) copy[name] = copied;
  }
  return copy;
}

/** More levels than any real value has, and few enough for the stack of every engine. */
const maxLevels = 1000;

/** A path of many levels, or of a value in the place of a name, is cut off. */
function below(path: string, step: string): string {
  const isShown = path.length <= 80 && (step.startsWith("[") || looksLikeName(step.slice(1)));
  return isShown ? path + step : `${path.replace(/…$/, "")}…`;
}

function notJson(path: string, got: string): InputFault {
  return new InputFault(`${path} must be a JSON value; got ${got}`);
}
