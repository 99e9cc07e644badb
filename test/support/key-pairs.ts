import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { SigningKeyPair } from "cross-border-payments";

export interface TestKeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const pairs = new Map<string, TestKeyPair>();

/** The RSA pair of this name, made when it is first asked for: a pair takes as long as a hundred calls. */
export function keyPairOf(owner: "gateway" | "stranger" | "third"): TestKeyPair {
  const pair = pairs.get(owner) ?? generateKeyPairSync("rsa", { modulusLength: 2048 });
  pairs.set(owner, pair);
  return pair;
}

/** The same pair, in the forms of `generateSigningKeyPair`. */
export function signingKeysOf(owner: "gateway" | "stranger" | "third"): SigningKeyPair {
  const { privateKey, publicKey } = keyPairOf(owner);
  const spki = String(publicKey.export({ type: "spki", format: "pem" }));
  return {
    privateKey: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    publicKey: spki,
    publicKeyBase64: Buffer.from(spki).toString("base64"),
  };
}
