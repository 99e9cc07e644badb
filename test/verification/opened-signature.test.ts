import {
  constants,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  publicDecrypt,
  sign,
} from "node:crypto";
import { describe, expect, it } from "vitest";
import { openSignature } from "../../src/verification/opened-signature.js";
import { keyPairOf } from "../support/key-pairs.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const padding = constants.RSA_NO_PADDING;
const spkiOf = (key: KeyObject) => key.export({ type: "spki", format: "der" });

/** What is found in a signature that holds these bytes. */
function opened(block: Uint8Array) {
  const signature = privateEncrypt({ key: privateKey, padding }, block);
  return openSignature(spkiOf(publicKey), signature).map(({ scheme }) => scheme);
}

const sha256Name = Buffer.from("3031300d060960864801650304020105000420", "hex");
const digest = createHash("sha256").update("text").digest();

/** A block of 256 bytes that ends with the content, all other bytes as in PKCS#1 v1.5 but where they are given. */
function block(content: Uint8Array, { first = 0, type = 1, filling = 0xff } = {}): Buffer {
  const bytes = Buffer.alloc(256, filling);
  bytes.set([first, type]);
  bytes.set(content, 256 - content.length);
  bytes[255 - content.length] = 0;
  return bytes;
}

describe("PKCS#1 v1.5", () => {
  const content = Buffer.concat([sha256Name, digest]);

  it("is the padding, the name of the hash, and the hash", () => {
    expect(opened(block(content))).toEqual([{ padding: "PKCS#1 v1.5", hash: "sha256" }]);
    expect(opened(block(digest))).toEqual([{ padding: "PKCS#1 v1.5 without the name of its hash", hash: "sha256" }]);
  });

  it.each([
    ["begins with another byte", block(content, { first: 1 })],
    ["is that of an encryption", block(content, { type: 2 })],
    ["is filled with other bytes", block(content, { filling: 0xfe })],
    ["is not filled with one byte alone", block(content, { filling: 0xfe }).fill(0xff, 5, 6)],
    ["begins with two other bytes", block(content, { first: 1, type: 2 })],
    ["holds less than its hash", block(content.subarray(0, -1))],
    ["holds more than its hash", block(Buffer.concat([content, digest.subarray(0, 1)]))],
    ["names another hash", block(Buffer.concat([Buffer.from(sha256Name).fill(7, 3, 4), digest]))],
    ["holds as many bytes as no hash has", block(digest.subarray(1))],
    ["holds nothing but its filling", Buffer.alloc(256, 0xff).fill(0, 0, 1).fill(1, 1, 2)],
  ])("is not a block that %s", (_, bytes) => {
    expect(opened(bytes)).toEqual([]);
  });
});

describe("PSS", () => {
  const pss = (key: KeyObject, saltLength: number) =>
    sign("sha256", Buffer.from("text"), { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });

  it("ends with its own byte", () => {
    const encoded = publicDecrypt({ key: publicKey, padding }, pss(privateKey, 32));
    expect(opened(encoded)[0]).toEqual({ padding: "PSS", hash: "sha256" });
    encoded[255] = 0xcc;
    expect(opened(encoded)).toEqual([]);
  });

  it.each([
    ["sha512", 20],
    ["sha512", 64],
    ["sha256", constants.RSA_PSS_SALTLEN_MAX_SIGN],
  ])("with %s and a salt of %i bytes is told from what reads by chance as one of another hash", (hash, saltLength) => {
    const key = { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
    const readings = Array.from({ length: 300 }, () =>
      openSignature(spkiOf(publicKey), sign(hash, Buffer.from("text"), key)),
    );
    expect(readings.map(([first]) => first?.scheme.hash)).toEqual(readings.map(() => hash));
    // By each of five other hashes, one in 128.
    const ambiguous = readings.filter(({ length }) => length > 1).length;
    expect(ambiguous).toBeGreaterThan(0);
    expect(ambiguous).toBeLessThan(100);
  });

  it("is read from keys whose bits do not fill their bytes", () => {
    const odd = generateKeyPairSync("rsa", { modulusLength: 2050 });
    const [found] = openSignature(
      spkiOf(odd.publicKey),
      pss(odd.privateKey, constants.RSA_PSS_SALTLEN_MAX_SIGN),
    ).filter(({ scheme }) => scheme.hash === "sha256");
    expect([found?.fits(Buffer.from("text")), found?.fits(Buffer.from("other"))]).toEqual([true, false]);
  });
});

it("is of as many bytes as the key", () => {
  const signature = sign("sha256", Buffer.from("text"), privateKey);
  expect(openSignature(spkiOf(publicKey), signature)).toHaveLength(1);
  expect(openSignature(spkiOf(publicKey), Buffer.concat([Buffer.alloc(1), signature]))).toEqual([]);
  // The same number in fewer bytes is none either.
  let withZero = signature;
  for (let text = 0; withZero[0] !== 0; text += 1) withZero = sign("sha256", Buffer.from(`${text}`), privateKey);
  expect(openSignature(spkiOf(publicKey), withZero)).toHaveLength(1);
  expect(openSignature(spkiOf(publicKey), withZero.subarray(1))).toEqual([]);
});
