import { bareContenders, pooledSigning } from "./bare.mjs";
import { clientContender, releaseBeforeContender } from "./client.mjs";
import { commitBefore } from "./packages.mjs";
import { sdkContenders } from "./sdks.mjs";

/** The library under test, as it is called in the tables. */
export const client = "cross-border-payments";

/** Its loss shows in the next run. */
export const releaseBefore = `0.3.0 (${commitBefore})`;

/** All ratios are to this one. */
export const yardstick = "undici.request";

/** It hardly differs between versions of Node, as `undici.request` does. */
export const secondYardstick = "undici.dispatch";

/** By name: a function that opens it. */
export const contenders = {
  [client]: clientContender,
  [releaseBefore]: releaseBeforeContender,
  ...bareContenders,
  ...sdkContenders,
};

/** Those that the client is to be ahead of. */
export const peers = Object.keys(contenders).filter(
  (name) => ![client, releaseBefore, yardstick, secondYardstick, pooledSigning].includes(name),
);

export { pooledSigning };
