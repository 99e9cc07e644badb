import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { derTags, readSequence, writeElement } from "../../src/platform/der.js";
import { readPkcs8, readRsaPrivateKey, readRsaPublicKey, readSpki } from "../../src/platform/rsa-der.js";
import { rsaKeyPair } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";
import { runs } from "../support/thorough.js";

const pair = keyPairOf("gateway");
const der = (key: KeyObject, type: "pkcs8" | "pkcs1" | "spki") => Uint8Array.from(key.export({ type, format: "der" }));
const spki = der(pair.publicKey, "spki");
const pkcs8 = der(pair.privateKey, "pkcs8");

describe("of an RSA key", () => {
  it.each([2048, 2050, 2054, 3072])("reads the size and both halves as OpenSSL writes them: %d bits", (bits) => {
    const { privateKey, publicKey } = rsaKeyPair(bits);
    const publicDer = { bits, spki: der(publicKey, "spki") };
    const privateDer = { ...publicDer, pkcs8: der(privateKey, "pkcs8") };
    expect(readPkcs8(der(privateKey, "pkcs8"))).toEqual(privateDer);
    expect(readRsaPrivateKey(der(privateKey, "pkcs1"))).toEqual(privateDer);
    expect(readSpki(der(publicKey, "spki"))).toEqual(publicDer);
    expect(readRsaPublicKey(der(publicKey, "pkcs1"))).toEqual(publicDer);
  });

  it("writes the same bytes for a key whose algorithm comes without its NULL", () => {
    const [algorithm, key] = readSequence(spki) ?? [];
    const bare = algorithm?.content.subarray(0, -2) ?? new Uint8Array();
    const bitString = writeElement(derTags.bitString, key?.content ?? new Uint8Array());
    const without = writeElement(derTags.sequence, writeElement(derTags.sequence, bare), bitString);
    expect(without.length).toBe(spki.length - 2);
    expect(readSpki(without)).toEqual({ bits: 2048, spki });
  });

  it("refuses parameters of the algorithm that are not NULL", () => {
    const end = spki.indexOf(derTags.null, spki.indexOf(derTags.oid));
    const changed = spki.with(end, derTags.octetString);
    expect(readSpki(changed)).toBeUndefined();
  });

  it("refuses a private key whose modulus is not the product of its primes, with which Node signs all the same", () => {
    const numbers = (readSequence(der(pair.privateKey, "pkcs1")) ?? []).map(({ content }) => content);
    for (const place of [1, 4, 5]) {
      const damaged = numbers.map((content, index) =>
        index === place ? content.with(40, (content[40] ?? 0) ^ 1) : content,
      );
      const key = writeElement(derTags.sequence, ...damaged.map((content) => writeElement(derTags.integer, content)));
      expect(readRsaPrivateKey(key)).toBeUndefined();
    }
  });

  it("takes no private key for a public one, and the other way round", () => {
    expect(readSpki(pkcs8)).toBeUndefined();
    expect(readRsaPublicKey(der(pair.privateKey, "pkcs1"))).toBeUndefined();
    expect(readPkcs8(spki)).toBeUndefined();
    expect(readRsaPrivateKey(der(pair.publicKey, "pkcs1"))).toBeUndefined();
  });

  it("reads PKCS#8 with attributes and with the public key behind it, which its second version allows", () => {
    const [, algorithm, key] = (readSequence(pkcs8) ?? []).map(({ tag, content }) => writeElement(tag, content));
    const version = writeElement(derTags.integer, Uint8Array.of(1));
    const parts = [version, algorithm ?? version, key ?? version];
    const attributes = writeElement(0xa0, Uint8Array.of(5, 0));
    const publicKey = writeElement(0x81, Uint8Array.of(0));
    expect(readPkcs8(writeElement(derTags.sequence, ...parts, attributes, publicKey))).toEqual(readPkcs8(pkcs8));
    expect(readPkcs8(writeElement(derTags.sequence, ...parts, version))).toBeUndefined();
    const thirdVersion = writeElement(derTags.integer, Uint8Array.of(2));
    expect(readPkcs8(writeElement(derTags.sequence, thirdVersion, ...parts.slice(1)))).toBeUndefined();
  });

  it("names a key of more than two primes", () => {
    const [, ...numbers] = (readSequence(der(pair.privateKey, "pkcs1")) ?? []).map(({ tag, content }) =>
      writeElement(tag, content),
    );
    const version = writeElement(derTags.integer, Uint8Array.of(1));
    const third = writeElement(derTags.sequence);
    const key = writeElement(derTags.sequence, version, ...numbers, third);
    expect(readRsaPrivateKey(key)).toEqual({ keyType: "rsa-multi-prime" });
  });
});

const others: [keyType: string, pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }][] = [
  ["ec", generateKeyPairSync("ec", { namedCurve: "P-256" })],
  ["ed25519", generateKeyPairSync("ed25519")],
  ["ed448", generateKeyPairSync("ed448")],
  ["x25519", generateKeyPairSync("x25519")],
  ["x448", generateKeyPairSync("x448")],
  ["dsa", generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 })],
  ["rsa-pss", generateKeyPairSync("rsa-pss", { modulusLength: 2048 })],
];

it.each(others)("names a key of the type %s as node:crypto does", (keyType, { privateKey, publicKey }) => {
  expect(privateKey.asymmetricKeyType).toBe(keyType);
  expect(readPkcs8(der(privateKey, "pkcs8"))).toEqual({ keyType });
  expect(readSpki(der(publicKey, "spki"))).toEqual({ keyType });
});

it("names an algorithm that it does not know by its object identifier", () => {
  const oid = writeElement(derTags.oid, Uint8Array.of(0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x11));
  const key = writeElement(derTags.bitString, new Uint8Array(33));
  const mlDsa = writeElement(derTags.sequence, writeElement(derTags.sequence, oid), key);
  expect(readSpki(mlDsa)).toEqual({ keyType: "2.16.840.1.101.3.4.3.17" });
});

it("reads a damaged key as OpenSSL does, or not at all", () => {
  const damage = fc.record({ at: fc.nat(spki.length - 1), byte: fc.nat(255), length: fc.nat(spki.length) });
  fc.assert(
    fc.property(damage, fc.boolean(), ({ at, byte, length }, isCut) => {
      const damaged = Uint8Array.from(spki);
      damaged[at] = byte;
      const bytes = isCut ? damaged.subarray(0, length) : damaged;
      const read = readSpki(bytes);
      if (read === undefined || "keyType" in read) return;
      const key = createPublicKey({ key: Buffer.from(bytes), format: "der", type: "spki" });
      expect(read).toEqual({ bits: key.asymmetricKeyDetails?.modulusLength, spki: der(key, "spki") });
    }),
    { numRuns: runs(1000) },
  );
});
