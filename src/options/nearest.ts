/**
 * The candidate that was probably meant: the one that differs by the fewest letters, if they are few, or else the first that begins or
 * ends with what was given, as `maxRetries` does with `retries`.
 */
export function nearest(given: string, candidates: Iterable<string>): string | undefined {
  const wanted = given.toLowerCase();
  let [best, fewest]: [string | undefined, number] = [undefined, Math.min(2, Math.floor(wanted.length / 3)) + 1];
  let longer: string | undefined;
  for (const candidate of candidates) {
    const name = candidate.toLowerCase();
    if (wanted.length > 3 && (name.startsWith(wanted) || name.endsWith(wanted))) longer ??= candidate;
    // A length that differs by more can't be near, and the other text may be huge.
    if (Math.abs(name.length - wanted.length) >= fewest) continue;
    const count = editsBetween(wanted, name);
    if (count < fewest) [best, fewest] = [candidate, count];
  }
  return best ?? longer;
}

/** Letters to insert, leave out, replace, or swap with the next one (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const cost = one[row - 1] === other[column - 1] ? 0 : 1;
      const edits = [(last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + cost];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped && row > 1) edits.push((beforeLast[column - 2] ?? 0) + 1);
      current.push(Math.min(...edits));
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
