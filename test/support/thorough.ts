/** `npm run test:all` sets it: every cell of the matrices of faults, and more trials. */
export const isThorough = process.env.CBP_THOROUGH !== undefined;

/** How often a property is tried: so often in the thorough runs, and a fifth of it in the others. */
export function runs(often: number): number {
  return isThorough ? often : Math.ceil(often / 5);
}
