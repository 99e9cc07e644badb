/** Whether payments with higher tokens were created later: they were, they were not, or there are too few to tell. */
export type TokenTime = "follows" | "unclear" | "none";

/** Twenty pairs in one order are no accident. */
const provingPairs = 20;

/**
 * Compares each payment with the one that lies half of the list after it, so that small disorder (several machines, late commits)
 * does not count.
 *
 * @param createdMs times of creation, in the order of the tokens.
 * @param toleranceMs payments created closer to each other than this show nothing.
 */
export function tokenTimeOf(createdMs: readonly number[], toleranceMs: number): TokenTime {
  const half = Math.floor(createdMs.length / 2);
  let rising = 0;
  let pairs = 0;
  for (let index = 0; index < half; index += 1) {
    const difference = (createdMs[index + half] ?? Number.NaN) - (createdMs[index] ?? Number.NaN);
    if (!(Math.abs(difference) > toleranceMs)) continue;
    pairs += 1;
    if (difference > 0) rising += 1;
  }
  if (pairs < provingPairs) return "unclear";
  if (rising >= 0.9 * pairs) return "follows";
  return rising <= 0.75 * pairs ? "none" : "unclear";
}
