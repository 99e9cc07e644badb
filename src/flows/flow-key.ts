import { InvalidArgumentError } from "../core/errors.js";

/** Bytes of UTF-8. */
const longestKey = 1024;

/** @throws {InvalidArgumentError} for a text that can't be a flow's key. */
export function assertFlowKey(key: unknown): asserts key is string {
  // Journals store keys as text: a key that UTF-8 can't hold, or that PostgreSQL refuses, must not become another key.
  if (typeof key === "string" && key !== "" && !/[\0\p{Cs}]/u.test(key) && isShort(key)) return;
  throw new InvalidArgumentError(
    `the key of a flow must be a well-formed string of 1 to ${longestKey} bytes of UTF-8, without U+0000`,
  );
}

function isShort(key: string): boolean {
  // No UTF-16 code unit takes more than three bytes.
  return key.length * 3 <= longestKey || utf8.encode(key).length <= longestKey;
}

const utf8 = new TextEncoder();

/**
 * The order of keys in every journal: by UTF-8 bytes, that is, by code points. JavaScript's own order is by UTF-16 units.
 */
export function compareKeys(one: string, other: string): number {
  const others = other[Symbol.iterator]();
  for (const character of one) {
    const codePoint = character.codePointAt(0) ?? 0;
    const difference = codePoint - (others.next().value?.codePointAt(0) ?? -1);
    if (difference !== 0) return difference;
  }
  return others.next().done === true ? 0 : -1;
}
