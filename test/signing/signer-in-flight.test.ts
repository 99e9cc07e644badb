import type * as Crypto from "node:crypto";
import { expect, it, vi } from "vitest";
import { SigningError } from "../../src/errors.js";
import type * as NodeCrypto from "../../src/node-crypto.js";
import { createSigner } from "../../src/signing/signer.js";
import { verifySignature } from "../../src/signing/verify.js";
import { rsaKeyPair } from "./test-keys.js";

const seen = vi.hoisted(() => ({ now: 0, most: 0, calls: 0 }));
const faults = vi.hoisted((): Error[] => []);

// Counts and passes on: the signatures are real, and so are the failures but for those that stand in `faults`.
vi.mock("../../src/node-crypto.js", async (original) => {
  const crypto = (await original<typeof NodeCrypto>()).nodeCrypto();
  type Done = (error: Error | null, signature: Buffer) => void;
  const sign = (algorithm: string, text: Uint8Array, key: Crypto.SignKeyObjectInput, done: Done) => {
    seen.calls += 1;
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    crypto.sign(algorithm, text, key, (error, signature) => {
      seen.now -= 1;
      done(faults.shift() ?? error, signature);
    });
  };
  return { nodeCrypto: () => ({ ...crypto, sign }) };
});

const { privateKey, publicKey } = rsaKeyPair();

it("has at most eight signatures in the thread pool, and finishes all that were asked for", async () => {
  const signer = createSigner(privateKey);
  const paths = Array.from({ length: 100 }, (_, index) => `/payments/${index}`);
  const signatures = await Promise.all(paths.map((path) => signer.sign(path, new Uint8Array())));
  expect(seen).toEqual({ now: 0, most: 8, calls: 100 });
  for (const [index, signature] of signatures.entries()) {
    expect(verifySignature({ publicKey, path: paths[index] ?? "", body: "", signature })).toBe(true);
  }
});

it("hands a lone request to the thread pool in the tick in which it was asked for", async () => {
  const before = seen.calls;
  const signature = createSigner(privateKey).sign("/payments", new Uint8Array());
  expect(seen.calls).toBe(before + 1);
  await signature;
});

it("turns a failure of the crypto library into a SigningError, and signs the next request", async () => {
  const signer = createSigner(privateKey);
  faults.push(Object.assign(new Error("out of memory"), { code: "ERR_OSSL_MALLOC_FAILURE" }));
  const error = await signer.sign("/payments", new Uint8Array()).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SigningError);
  expect(error).toMatchObject({ message: "the signing key made no signature, so nothing was sent", effect: "none" });
  expect(error).toHaveProperty("cause.code", "ERR_OSSL_MALLOC_FAILURE");
  expect(await signer.sign("/payments", new Uint8Array())).toMatch(/^[A-Za-z0-9+/]{342}==$/);
});
