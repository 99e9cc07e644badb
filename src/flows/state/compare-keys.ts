/**
 * The order of keys in every journal: by UTF-8 bytes, which is the order of code points. JavaScript's own order is by UTF-16 units, and differs from it above U+FFFF.
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
