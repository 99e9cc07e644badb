/**
 * The candidate that was probably meant: of those that differ by few letters, the one that differs least; or else the first that ends with
 * it, as `payment-gateways` does with `gateways`.
 *
 * @param maxEdits by how many letters it may differ.
 */
export function nearest(
  given: string,
  candidates: Iterable<string>,
  maxEdits: number = Math.min(2, Math.floor(given.length / 3)),
): string | undefined {
  let [best, fewest]: [string | undefined, number] = [undefined, maxEdits + 1];
  let longer: string | undefined;
  for (const candidate of candidates) {
    if (candidate.endsWith(`-${given}`)) longer ??= candidate;
    if (Math.abs(candidate.length - given.length) >= fewest) continue;
    const count = editsBetween(given.toLowerCase(), candidate.toLowerCase());
    if (count < fewest) [best, fewest] = [candidate, count];
  }
  return best ?? longer;
}

/** Writes a suggestion for the end of a message. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const meant = nearest(given, candidates);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** Letters to insert, leave out, replace, or swap with the next one (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const edits = [
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      ];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) edits.push((beforeLast[column - 2] ?? 0) + 1);
      current.push(Math.min(...edits));
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
