/** The version in package.json. `npm run release` sets both. */
export const version = "0.4.0";
