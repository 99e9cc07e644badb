/**
 * Whether an object that the caller gave is a plain one. Of such an object only its own properties count, so that nothing
 * comes from an `Object.prototype` that others have added to.
 */
export function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  // In another realm, such as a `vm` context, `Object.prototype` is another object.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** A property of an object that the caller gave: of a plain one its own, of an instance of a class any. */
export function propertyOf(given: object, name: string, isPlain: boolean): unknown {
  return isPlain && !Object.hasOwn(given, name) ? undefined : (given as Readonly<Record<string, unknown>>)[name];
}

/**
 * Whether a value can be read for the named properties. An instance of a class that has none of them was meant to be something
 * else, and so was one of a built-in class, such as a `Map`, or a promise that was not awaited: reading it would find nothing.
 */
export function canBeRead(value: unknown, names: readonly string[]): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (isPlain(value)) return true;
  return Object.prototype.toString.call(value) === "[object Object]" && names.some((name) => name in value);
}
