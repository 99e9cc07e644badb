/**
 * A frozen copy of JSON data, nested objects included: whatever happens to the original, the copy stays, and nobody can change it.
 * Of any depth: a response may be nested more deeply than the stack.
 */
export function frozenCopy<T>(value: T): T {
  if (!isObject(value)) return value;
  const root = emptyLike(value);
  const pending: [from: object, to: object][] = [[value, root]];
  let copies: Map<object, object> | undefined;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [from, to] = next;
    for (const key of Object.keys(from)) {
      let item: unknown = Reflect.get(from, key);
      if (isObject(item)) {
        copies ??= new Map([[value, root]]);
        let copy = copies.get(item);
        if (copy === undefined) {
          copy = emptyLike(item);
          copies.set(item, copy);
          pending.push([item, copy]);
        }
        item = copy;
      }
      // Not an assignment: as a field of JSON data `__proto__` is a name like any other.
      Object.defineProperty(to, key, { value: item, enumerable: true });
    }
    Object.freeze(to);
  }
  return root as T;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}
