/** CI sets `CBP_THOROUGH`: every cell of the matrices of faults, and more trials. */
export const isThorough = process.env.CBP_THOROUGH !== undefined;

/** How often a property is tried: so often in the thorough runs, and a fifth of it in the others. */
export function runs(often: number): number {
  return isThorough ? often : Math.ceil(often / 5);
}

/** Cases of which each tells as much as another: all of them in the thorough runs, and as many of the first in the others. */
export function some<Case>(cases: readonly Case[], count = 1): readonly Case[] {
  return isThorough ? cases : cases.slice(0, count);
}
