import { afterEach, expect, it, vi } from "vitest";
import { SigningError } from "../../src/core/errors.js";
import { createSigner } from "../../src/signing/signer.js";
import { verifySignature } from "../../src/signing/verify-signature.js";
import { keyPairOf } from "../support/key-pairs.js";
import { rejectionOf } from "./test-keys.js";

const { privateKey, publicKey } = keyPairOf("gateway");
afterEach(() => vi.restoreAllMocks());

it("signs many requests at once", async () => {
  const signer = createSigner(privateKey);
  const paths = Array.from({ length: 100 }, (_, index) => `/payments/${index}`);
  const signatures = await Promise.all(paths.map((path) => signer.sign(path, new Uint8Array())));
  for (const [index, signature] of signatures.entries()) {
    expect(await verifySignature({ publicKey, path: paths[index] ?? "", body: "", signature })).toBe(true);
  }
});

it("turns a failure of the crypto library into a SigningError, and signs the next request", async () => {
  const signer = createSigner(privateKey);
  const failing = (...given: unknown[]) => {
    const done = given.at(-1) as (error: Error) => void;
    done(Object.assign(new Error("out of memory"), { code: "ERR_OSSL_MALLOC_FAILURE" }));
  };
  vi.spyOn(process.getBuiltinModule("node:crypto"), "sign").mockImplementationOnce(failing as never);
  const error = await rejectionOf(signer.sign("/payments", new Uint8Array()));
  expect(error).toBeInstanceOf(SigningError);
  expect(error).toMatchObject({ effect: "none", cause: { code: "ERR_OSSL_MALLOC_FAILURE" } });
  expect(await signer.sign("/payments", new Uint8Array())).toMatch(/^[A-Za-z0-9+/]{342}==$/);
});
