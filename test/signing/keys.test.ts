import { createSecretKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigError, InvalidArgumentError } from "../../src/errors/errors.js";
import {
  generateSigningKeyPair,
  parsePublicKey,
  parseSigningKey,
  publicKeyToBase64,
  type SigningKey,
} from "../../src/signing/keys.js";
import { base64, expectToTellNothingOf, pkcs8, rsaKeyPair, spki, thrownBy } from "./test-keys.js";

const passphrase = "correct horse battery staple";
const pair = rsaKeyPair();
const weak = rsaKeyPair(1024);
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");
const dsa = generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 });
const pss = generateKeyPairSync("rsa-pss", { modulusLength: 2048 });

const pkcs1 = String(pair.privateKey.export({ type: "pkcs1", format: "pem" }));
const encrypted = {
  pkcs8: String(pair.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase })),
  pkcs1: String(pair.privateKey.export({ type: "pkcs1", format: "pem", cipher: "aes-256-cbc", passphrase })),
};

const wantedSigningKey =
  "; wanted: a private RSA key of at least 2048 bits, as PEM text, KeyObject or { key, passphrase }";
const wantedPublicKey =
  "; wanted: a public RSA key of at least 2048 bits, as PEM text, Base64 of the PEM text or KeyObject";

describe("parseSigningKey", () => {
  const accepted: [name: string, key: SigningKey][] = [
    ["PKCS#8 PEM", pkcs8(pair.privateKey)],
    ["PKCS#1 PEM", pkcs1],
    ["PEM with Windows line ends", pkcs1.replaceAll("\n", "\r\n")],
    ["PEM with text before it", `Bag Attributes\n    friendlyName: gateway\n${pkcs1}`],
    ["a KeyObject", pair.privateKey],
    ["encrypted PKCS#8 with its passphrase", { key: encrypted.pkcs8, passphrase }],
    ["encrypted PKCS#1 with its passphrase", { key: encrypted.pkcs1, passphrase }],
    ["a plain PEM with a passphrase that it does not need", { key: pkcs1, passphrase }],
    ["a KeyObject with a passphrase that it does not need", { key: pair.privateKey, passphrase }],
  ];

  it.each(accepted)("reads %s", (_name, key) => {
    const parsed = parseSigningKey(key);
    const text = Buffer.from("/payments{}");
    expect(parsed.type).toBe("private");
    expect(verify("sha256", text, pair.publicKey, sign("sha256", text, parsed))).toBe(true);
  });

  it("reads keys of more than 2048 bits", () => {
    expect(parseSigningKey(rsaKeyPair(3072).privateKey).asymmetricKeyDetails?.modulusLength).toBe(3072);
  });

  const pem = pkcs8(pair.privateKey);
  const refused: [found: string, key: unknown, secret?: string][] = [
    ["a public key", spki(pair.publicKey)],
    ["a public key", String(pair.publicKey.export({ type: "pkcs1", format: "pem" }))],
    ["a public key", pair.publicKey],
    ["an RSA key of 1024 bits", pkcs8(weak.privateKey)],
    ["an RSA key of 1024 bits", weak.privateKey],
    ["an EC key", pkcs8(ec.privateKey)],
    ["an EC key", String(ec.privateKey.export({ type: "sec1", format: "pem" }))],
    ["an EC key", ec.privateKey],
    ["an Ed25519 key", pkcs8(ed25519.privateKey)],
    ["a DSA key", pkcs8(dsa.privateKey)],
    ["an RSA-PSS key", pkcs8(pss.privateKey)],
    ["a key of the type x25519", pkcs8(generateKeyPairSync("x25519").privateKey)],
    ["a symmetric key", createSecretKey(Buffer.from("not-a-key-pair-but-a-shared-secret"))],
    ["an encrypted key without passphrase", encrypted.pkcs8],
    ["an encrypted key without passphrase", encrypted.pkcs1],
    ["an encrypted key that its passphrase does not open", { key: encrypted.pkcs8, passphrase: "wrong-passphrase" }],
    ["an encrypted key that its passphrase does not open", { key: encrypted.pkcs1, passphrase: "wrong-passphrase" }],
    ["an encrypted key that its passphrase does not open", { key: encrypted.pkcs8, passphrase: "" }],
    ["a key whose passphrase is no string", { key: encrypted.pkcs8 }],
    ["a key whose passphrase is no string", { key: pem, passphrase: undefined }],
    ["text that is no PEM", base64(pem)],
    ["text that is no PEM", "/run/secrets/gateway-signing-key.pem"],
    ["a PEM text whose line breaks are the two characters \\ and n", pem.replaceAll("\n", "\\n")],
    ["a PEM text whose private key cannot be read", `${pem.slice(0, 400)}\n-----END PRIVATE KEY-----\n`],
    ["a PEM text whose private key cannot be read", pem.replace(/M/g, "N")],
    ["a private key in OpenSSH's own format", pem.replaceAll("PRIVATE KEY", "OPENSSH PRIVATE KEY")],
    ["a certificate", spki(pair.publicKey).replaceAll("PUBLIC KEY", "CERTIFICATE")],
    ["a PEM text that holds no key", spki(pair.publicKey).replaceAll("PUBLIC KEY", "X509 CRL")],
    ["an empty string", ""],
    ["an empty string", { key: "", passphrase }],
    ["undefined", undefined],
    ["undefined", { key: undefined, passphrase }],
    ["null", null],
    ["a number", 2048],
    ["a Uint8Array", Buffer.from(pem), pem],
    ["an array", [pem], pem],
    ["an object", { pem }, pem],
    ["a function", () => pem, pem],
  ];

  it.each(refused)("refuses %s by name, without a word of the key", (found, key, secret) => {
    const error = thrownBy(() => parseSigningKey(key as SigningKey));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      message: `signingKey is ${found}${wantedSigningKey}`,
      effect: "none",
      code: "invalid_config",
    });
    expectToTellNothingOf(`${secret ?? textOf(key)} wrong-passphrase ${passphrase}`, error);
  });
});

describe("parsePublicKey", () => {
  const pem = spki(pair.publicKey);
  const pkcs1Pem = String(pair.publicKey.export({ type: "pkcs1", format: "pem" }));
  const der = (type: "spki" | "pkcs1") => base64(pair.publicKey.export({ type, format: "der" }));

  it.each([
    ["PEM", pem],
    ["PKCS#1 PEM", pkcs1Pem],
    ["Base64 of PEM", base64(pem)],
    ["Base64 of PEM, wrapped into lines", base64(pem).replace(/(.{76})/g, "$1\n")],
    ["Base64 of PKCS#1 PEM", base64(pkcs1Pem)],
    ["Base64 of DER", der("spki")],
    ["Base64 of PKCS#1 DER", der("pkcs1")],
    ["a KeyObject", pair.publicKey],
  ])("reads %s", (_name, input) => {
    expect(parsePublicKey(input).equals(pair.publicKey)).toBe(true);
  });

  const privatePem = pkcs8(pair.privateKey);
  it.each([
    ["a private key", privatePem],
    ["a private key", pkcs1],
    ["a private key", encrypted.pkcs8],
    ["a private key", encrypted.pkcs1],
    ["a private key", base64(privatePem)],
    ["a private key", `${pem}${privatePem}`],
    ["a private key", pair.privateKey],
    ["a private key", base64(pair.privateKey.export({ type: "pkcs8", format: "der" }))],
    ["a private key", base64(pair.privateKey.export({ type: "pkcs1", format: "der" }))],
    ["Base64 of something that is no public key", base64("a few words")],
    ["an RSA key of 1024 bits", spki(weak.publicKey)],
    ["an RSA key of 1024 bits", base64(weak.publicKey.export({ type: "spki", format: "der" }))],
    ["an EC key", base64(spki(ec.publicKey))],
    ["Base64 of something that is no public key", base64(ec.privateKey.export({ type: "sec1", format: "der" }))],
    ["an Ed25519 key", ed25519.publicKey],
    ["a DSA key", spki(dsa.publicKey)],
    ["an RSA-PSS key", spki(pss.publicKey)],
    ["a certificate", pem.replaceAll("PUBLIC KEY", "CERTIFICATE")],
    ["a text of several PEM blocks", `${pem}${pem}`],
    ["a PEM text whose public key cannot be read", pem.replace(/M/g, "N")],
    ["a PEM text whose public key cannot be read", pkcs8(pair.privateKey).replaceAll("PRIVATE KEY", "PUBLIC KEY")],
    ["a PEM text whose public key cannot be read", pkcs1.replaceAll("PRIVATE KEY", "PUBLIC KEY")],
    ["a PEM text whose line breaks are the two characters \\ and n", pem.replaceAll("\n", "\\n")],
    ["text that is neither PEM nor Base64", "bank-a.pem"],
    ["an empty string", ""],
    ["undefined", undefined],
    ["a Uint8Array", Buffer.from(pem)],
  ])("refuses %s by name", (found, input) => {
    const error = thrownBy(() => parsePublicKey(input as string | KeyObject));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ message: `publicKey is ${found}${wantedPublicKey}`, effect: "none" });
  });
});

describe("publicKeyToBase64", () => {
  it.each([
    ["as it is", (pem: string) => pem],
    ["with Windows line ends", (pem: string) => pem.replaceAll("\n", "\r\n")],
    ["without a last line break", (pem: string) => pem.trimEnd()],
  ])("keeps PEM text byte for byte: %s", (_name, change) => {
    const pem = change(spki(pair.publicKey));
    const encoded = publicKeyToBase64(pem);
    expect(encoded).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(Buffer.from(encoded, "base64").toString()).toBe(pem);
  });

  it("writes a KeyObject as PEM", () => {
    expect(publicKeyToBase64(pair.publicKey)).toBe(base64(spki(pair.publicKey)));
  });

  it.each([
    ["PKCS#8", pkcs8(pair.privateKey)],
    ["PKCS#1", pkcs1],
    ["encrypted", encrypted.pkcs8],
    ["behind a public one", spki(pair.publicKey) + pkcs1],
    ["a KeyObject", pair.privateKey],
  ])("never publishes a private key: %s", (_name, key) => {
    const error = thrownBy(() => publicKeyToBase64(key));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({
      message: expect.stringContaining("a private key, which must never be sent; wanted: "),
    });
    expectToTellNothingOf(textOf(key), error);
  });

  it.each([
    ["text that is no PEM", base64(spki(pair.publicKey))],
    ["an RSA key of 1024 bits", weak.publicKey],
    ["an EC key", spki(ec.publicKey)],
    ["null", null],
  ])("refuses %s", (found, key) => {
    expect(() => publicKeyToBase64(key as string | KeyObject)).toThrow(`the public key is ${found}; wanted: `);
  });
});

describe("generateSigningKeyPair", () => {
  it("makes a 2048-bit pair whose halves belong together, in the three forms", async () => {
    const made = await generateSigningKeyPair();
    const privateKey = parseSigningKey(made.privateKey);
    const text = Buffer.from("text");
    expect(privateKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(made.privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(made.publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
    expect(made.publicKeyBase64).toBe(base64(made.publicKey));
    expect(verify("sha256", text, parsePublicKey(made.publicKeyBase64), sign("sha256", text, privateKey))).toBe(true);
  });
});

/** What must not be told of a key: its text, where it has one. */
function textOf(key: unknown): string {
  if (typeof key === "string") return key;
  if (typeof key === "object" && key !== null && "key" in key) return textOf(key.key);
  return pkcs8(pair.privateKey);
}
