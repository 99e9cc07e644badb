/** The version of this package, as package.json has it. `npm run release` sets both: where there are no files, it can't be read. */
export const version = "0.3.0";
