/** `npm run test:all` sets it: every cell of the matrices of faults, and more trials. */
export const isThorough = process.env.CBP_THOROUGH !== undefined;
