/** The version in package.json. `npm run release` sets both, since bundles can't read the file. */
export const version = "0.3.0";
