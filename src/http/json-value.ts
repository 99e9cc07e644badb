import { describeValue, looksLikeName } from "../core/describe.js";
import { isPlainObject } from "../core/parse.js";

/** More levels than any real value has. A value that contains itself has more. */
const maxLevels = 100;

/**
 * The first part of a value that JSON can't carry, as a sentence. Values with a `toJSON` make their own JSON.
 *
 * @param path the value's place, for messages.
 * @param isExact refuses whole numbers that were rounded when they were read.
 */
export function jsonFault(path: string, value: unknown, isExact = false, left = maxLevels): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined;
  if (isExact && typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return notJson(path, "a number that JavaScript can't hold exactly");
  }
  if (Number.isFinite(value)) return undefined;
  if (left === 0) return `${path} must have at most ${maxLevels} levels; it has more, or contains itself`;
  if (Array.isArray(value)) {
    // Unlike `map`, this also meets the holes of an array, which JSON would fill with null.
    return firstFault(Array.from(value, (item, index) => [`${path}[${index}]`, item]));
  }
  if (typeof Object(value).toJSON === "function") return undefined;
  if (!isPlainObject(value)) return notJson(path, describeValue(value));
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  return firstFault(fields.map(([name, item]) => [below(path, name), item]));

  function firstFault(items: readonly (readonly [place: string, item: unknown])[]): string | undefined {
    for (const [place, item] of items) {
      const fault = jsonFault(place, item, isExact, left - 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
}

/** A name that may be a value in the wrong place, such as an account number, isn't shown. */
function below(path: string, name: string): string {
  return looksLikeName(name) && path.length <= 80 ? `${path}.${name}` : `${path.replace(/…$/, "")}…`;
}

function notJson(path: string, got: string): string {
  return `${path} must be a JSON value; got ${got}`;
}
