/**
 * A frozen copy of JSON data, nested objects included: whatever happens to the original, the copy stays, and nobody can change it.
 * Of any depth: a response may be nested more deeply than the stack.
 */
export function frozenCopy<T>(value: T): T {
  if (!isObject(value)) return value;
  const root = shallowCopy(value);
  const pending = [root];
  let copies: Map<object, object> | undefined;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const key of Object.keys(next)) {
      const item: unknown = Reflect.get(next, key);
      if (!isObject(item)) continue;
      copies ??= new Map([[value, root]]);
      let copy = copies.get(item);
      if (copy === undefined) {
        copy = shallowCopy(item);
        copies.set(item, copy);
        pending.push(copy);
      }
      // Not an assignment: as a field of JSON data `__proto__` is a name like any other.
      Object.defineProperty(next, key, { value: copy });
    }
    Object.freeze(next);
  }
  return root as T;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function shallowCopy(value: object): object {
  return Array.isArray(value) ? [...value] : { ...value };
}
