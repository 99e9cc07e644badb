/**
 * Makes a failing sequence of choices as short and as small as it can, by trying: shorter ones, ones without a part in the middle, ones
 * with zeros in them, ones with smaller numbers.
 *
 * @param isFailing whether a sequence still fails in the same way.
 * @param mostTries bounds the work.
 */
export async function shrink(
  failing: readonly number[],
  isFailing: (choices: readonly number[]) => Promise<boolean>,
  mostTries: number,
): Promise<readonly number[]> {
  let best = withoutZeros(failing);
  let tries = 0;
  const attempt = async (candidate: readonly number[]): Promise<boolean> => {
    const trimmed = withoutZeros(candidate);
    if (tries >= mostTries || !isSimpler(trimmed, best)) return false;
    tries += 1;
    if (!(await isFailing(trimmed))) return false;
    best = trimmed;
    return true;
  };
  for (let before: readonly number[] | undefined; before !== best && tries < mostTries; ) {
    before = best;
    for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = best.length - size; at >= 0; at -= size) {
        const head = best.slice(0, at);
        const tail = best.slice(at + size);
        if (await attempt([...head, ...tail])) continue;
        await attempt([...head, ...new Array<number>(size).fill(0), ...tail]);
      }
    }
    for (let at = 0; at < best.length; at++) {
      for (let value = Math.floor((best[at] ?? 0) / 2); value > 0; value = Math.floor(value / 2)) {
        if (!(await attempt(best.with(at, value)))) break;
      }
    }
  }
  return best;
}

/** Zeros at the end are what follows anyway. */
function withoutZeros(choices: readonly number[]): readonly number[] {
  return choices.slice(0, choices.findLastIndex((choice) => choice !== 0) + 1);
}

function isSimpler(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return one.length < other.length;
  const at = one.findIndex((choice, index) => choice !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}
