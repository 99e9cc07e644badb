/**
 * What `JSON.stringify` writes, at any depth: a response may be nested so deeply that `JSON.parse` reads it and `JSON.stringify`
 * runs out of stack.
 *
 * @throws {TypeError} for a BigInt, and for an object that contains itself.
 */
export function writeJson(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return writeDeepJson(value);
  }
}

/** The same text for the same content, in whatever order it holds its fields. */
export function writeSortedJson(value: object): string {
  return writeDeepJson(value, (fields) => fields.toSorted());
}

interface Open {
  readonly value: object;
  /** Absent for an array. */
  readonly keys: readonly string[] | undefined;
  readonly items: readonly unknown[];
  next: number;
  isEmpty: boolean;
}

function writeDeepJson(root: object, ordered = (fields: readonly string[]) => fields): string {
  const pieces: string[] = [];
  const open: Open[] = [];
  const ancestors = new Set<object>();
  const enter = (value: object): void => {
    if (ancestors.has(value)) throw new TypeError("an object contains itself");
    ancestors.add(value);
    const keys = Array.isArray(value) ? undefined : ordered(Object.keys(value));
    const items: unknown[] = Array.isArray(value) ? value : (keys ?? []).map((key) => Reflect.get(value, key));
    open.push({ value, keys, items, next: 0, isEmpty: true });
    pieces.push(keys === undefined ? "[" : "{");
  };
  enter(root);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.next === top.items.length) {
      pieces.push(top.keys === undefined ? "]" : "}");
      ancestors.delete(top.value);
      open.pop();
      continue;
    }
    const key = top.keys?.[top.next];
    const item = toJsonValue(top.items[top.next], key ?? String(top.next));
    top.next += 1;
    const isNested = typeof item === "object" && item !== null;
    // What JSON has no text for is left out of an object, and null in an array.
    const text = isNested ? "" : (JSON.stringify(item) as string | undefined);
    if (text === undefined && key !== undefined) continue;
    const comma = top.isEmpty ? "" : ",";
    top.isEmpty = false;
    pieces.push(comma + (key === undefined ? "" : `${JSON.stringify(key)}:`) + (text ?? "null"));
    if (isNested) enter(item);
  }
  return pieces.join("");
}

function toJsonValue(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  const toJson: unknown = Reflect.get(value, "toJSON");
  const given: unknown = typeof toJson === "function" ? toJson.call(value, key) : value;
  const isBoxed = given instanceof Number || given instanceof String || given instanceof Boolean;
  return isBoxed ? given.valueOf() : given;
}
