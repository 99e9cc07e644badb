import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { keyPairOf } from "./key-pairs.js";

/** All sandboxes of the file sign their ID tokens with one key: a sandbox makes its own in the time of ten logins. */
export function withOneTokenKey(): void {
  const { generateKeyPair } = crypto;
  beforeAll(() => {
    const generate = { [promisify.custom]: async () => keyPairOf("third") };
    Object.assign(crypto, { generateKeyPair: Object.assign(() => {}, generate) });
    syncBuiltinESMExports();
  });
  afterAll(() => {
    Object.assign(crypto, { generateKeyPair });
    syncBuiltinESMExports();
  });
}
