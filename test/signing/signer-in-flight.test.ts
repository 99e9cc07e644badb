import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { SigningError } from "../../src/core/errors.js";
import { createSigner } from "../../src/signing/signer.js";
import { verifySignature } from "../../src/signing/verify-signature.js";
import { keyPairOf } from "../support/key-pairs.js";
import { rejectionOf, rsaKeyPair } from "./test-keys.js";

type Done = (error: Error | null, signature: Buffer) => void;

const crypto = process.getBuiltinModule("node:crypto");
const { sign } = crypto;
const seen = { here: 0, now: 0, most: 0, calls: 0 };
const faults: Error[] = [];

// Counts and passes on: the signatures are real, and so are the failures but for those that stand in `faults`.
function countedSign(algorithm: string, text: Uint8Array, key: string, done?: Done): Buffer | undefined {
  if (done === undefined) {
    seen.here += 1;
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    return sign(algorithm, text, key);
  }
  seen.calls += 1;
  seen.now += 1;
  seen.most = Math.max(seen.most, seen.now);
  sign(algorithm, text, key, (error, signature) => {
    seen.now -= 1;
    done(faults.shift() ?? error, signature);
  });
  return undefined;
}

beforeEach(() => {
  Object.assign(seen, { here: 0, now: 0, most: 0, calls: 0 });
  vi.spyOn(crypto, "sign").mockImplementation(countedSign as typeof sign);
});
afterEach(() => vi.restoreAllMocks());

const { privateKey, publicKey } = keyPairOf("gateway");

it("makes one signature at once and has at most twelve in the thread pool, and finishes all of them", async () => {
  const signer = createSigner(privateKey);
  const paths = Array.from({ length: 100 }, (_, index) => `/payments/${index}`);
  const signatures = await Promise.all(paths.map((path) => signer.sign(path, new Uint8Array())));
  expect(seen).toEqual({ here: 1, now: 0, most: 12, calls: 99 });
  for (const [index, signature] of signatures.entries()) {
    expect(await verifySignature({ publicKey, path: paths[index] ?? "", body: "", signature })).toBe(true);
  }
});

it("makes a lone signature before the call returns", async () => {
  const signature = createSigner(privateKey).sign("/payments", new Uint8Array());
  expect(seen).toMatchObject({ here: 1, calls: 0 });
  await signature;
});

it("makes one at once in each turn, where a test's environment has taken setImmediate away, as Jest's jsdom does", async () => {
  const { setImmediate } = await import("node:timers");
  vi.stubGlobal("setImmediate", undefined);
  onTestFinished(() => void vi.unstubAllGlobals());
  const signer = createSigner(privateKey);
  for (let count = 0; count < 2; count++) {
    await signer.sign("/payments", new Uint8Array());
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen).toMatchObject({ here: 2, calls: 0 });
});

it("keeps the event loop free of a second signature in the same turn", async () => {
  const signer = createSigner(privateKey);
  for (let count = 0; count < 2; count++) await signer.sign("/payments", new Uint8Array());
  expect(seen).toMatchObject({ here: 1, calls: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  await signer.sign("/payments", new Uint8Array());
  expect(seen.here).toBe(2);
});

it("hands a larger key to the thread pool before the call returns", async () => {
  const signature = createSigner(rsaKeyPair(3072).privateKey).sign("/payments", new Uint8Array());
  expect(seen).toMatchObject({ here: 0, calls: 1 });
  await signature;
});

it.each([
  ["at once", 0],
  ["in the thread pool", 1],
])("turns a failure of the crypto library %s into a SigningError, and signs the next request", async (_, before) => {
  const signer = createSigner(privateKey);
  for (let count = 0; count < before; count++) await signer.sign("/payments", new Uint8Array());
  faults.push(Object.assign(new Error("out of memory"), { code: "ERR_OSSL_MALLOC_FAILURE" }));
  const error = await rejectionOf(signer.sign("/payments", new Uint8Array()));
  expect(error).toBeInstanceOf(SigningError);
  expect(error).toMatchObject({ message: "the signing key made no signature, so nothing was sent", effect: "none" });
  expect(error).toHaveProperty("cause.code", "ERR_OSSL_MALLOC_FAILURE");
  expect(await signer.sign("/payments", new Uint8Array())).toMatch(/^[A-Za-z0-9+/]{342}==$/);
});
