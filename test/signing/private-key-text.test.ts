import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { publicKeyToBase64 } from "../../src/signing/keys.js";
import { holdsPrivateKey } from "../../src/signing/private-key-text.js";
import {
  der,
  ec,
  ed25519,
  forms,
  inLines,
  jwk,
  pem,
  privateKey,
  publicKey,
  withoutHeader,
} from "./private-key-forms.js";
import { base64, pkcs8, spki } from "./test-keys.js";

const rsaDer = der(privateKey, "pkcs8");
// Node wants the length of the salt as a number, its types as a text.
const salt: object = { saltLength: 32 };
const restricted = { modulusLength: 2048, hashAlgorithm: "sha256", mgf1HashAlgorithm: "sha256", ...salt };
/** As long as `d` of a JWK, and no key by itself. */
const number = "aB3_".repeat(11);

it.each(forms)("finds a private key: %s", (_, text) => {
  expect(holdsPrivateKey(text)).toBe(true);
  for (const word of ["the key", "code", "no fee"]) expect(holdsPrivateKey(`${word}: ${text}\nand more`)).toBe(true);
});

it.each([
  ["rsa-pss", () => generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).privateKey],
  ["rsa-pss with its parameters", () => generateKeyPairSync("rsa-pss", restricted).privateKey],
  ["dsa", () => generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 }).privateKey],
  ["ed448", () => generateKeyPairSync("ed448").privateKey],
  ["x25519", () => generateKeyPairSync("x25519").privateKey],
  ["x448", () => generateKeyPairSync("x448").privateKey],
])("finds a key of another kind: %s", (_, make) => {
  const key = make();
  expect(holdsPrivateKey(base64(der(key, "pkcs8")))).toBe(true);
  expect(holdsPrivateKey(withoutHeader(pkcs8(key)))).toBe(true);
});

it("finds keys of curves in JSON", () => {
  for (const key of [ec, ed25519])
    expect(holdsPrivateKey(JSON.stringify(key.export({ format: "jwk" }), null, 2))).toBe(true);
});

describe("the marks of a key of which nothing else is left", () => {
  const marked: readonly (readonly [string, string])[] = [
    ["PEM", "-----BEGIN PRIVATE KEY-----"],
    ["PEM, percent-encoded", "BEGIN%20RSA%20PRIVATE%20KEY"],
    ["PEM with a line break in its label", "-----BEGIN PRIVATE\nKEY-----"],
    ["OpenSSH", "openssh-key-v1"],
    ["PuTTY", "PuTTY-User-Key-File-3: ssh-rsa"],
    ["the end of PuTTY", "Private-Lines: 14"],
    ["JSON", `{"kty":"RSA","d":"${number}"}`],
    ["JSON with spaces", `{ "kty" : "RSA",\n  "d" :\n  "${number}" }`],
    ["JSON in JSON", JSON.stringify(`{"kty":"RSA","d":"${number}"}`)],
    ["JSON with escaped quotes in quotes", `{\\"dp\\":\\"x\\",\\"d\\":\\"${number}\\"}`],
    ["source code", `{ kty: 'RSA', d: '${number}' }`],
    ["YAML", `kty: RSA\nd: ${number}\n`],
    ["YAML without spaces", `dp:x\nd:${number}`],
    ["XML", "<RSAKeyValue><Modulus>x</Modulus><D>y</D></RSAKeyValue>"],
  ];

  it.each(marked)("are found: %s", (_, text) => {
    expect(holdsPrivateKey(text)).toBe(true);
    expect(holdsPrivateKey(Buffer.from(text, "utf16le").toString("latin1"))).toBe(true);
    expect(holdsPrivateKey(base64(text.padStart(60)))).toBe(true);
    expect(holdsPrivateKey(base64(Buffer.from(text.padStart(60), "utf16le")))).toBe(true);
    expect(holdsPrivateKey(`${text} `.padStart(2 ** 16, "- "))).toBe(true);
  });

  it("are found at the end of Base64, whatever its length", () => {
    for (let length = 40; length < 48; length += 1) {
      const encoded = Buffer.from("openssh-key-v1".padStart(length)).toString("base64url");
      expect(holdsPrivateKey(encoded)).toBe(true);
      expect(holdsPrivateKey(`${encoded}x`)).toBe(true);
    }
  });

  it.each([
    ["the beginning of another PEM", "-----BEGIN PUBLIC KEY-----"],
    ["words about a key", "the PRIVATE KEY is elsewhere"],
    ["words far apart", "BEGIN with PRIVATE things, then the KEY"],
    ["a public key in JSON", `{"kty":"RSA","n":"${number}","e":"AQAB"}`],
    ["a short number in JSON", `{"kty":"RSA","d":"${number.slice(0, 39)}"}`],
    ["a long number in other JSON", `{"id":"RSA","d":"${number}"}`],
    ["a number to 2 dp", `${"Rounded to 2 dp. ".padEnd(300, "x ")} "d": 4`],
    ["a public key in XML", "<RSAKeyValue><Modulus>x</Modulus></RSAKeyValue>"],
    ["other XML", "<Value><D>y</D></Value>"],
  ])("are not found in %s", (_, text) => {
    expect(holdsPrivateKey(text)).toBe(false);
    expect(holdsPrivateKey(base64(text.padStart(60)))).toBe(false);
  });
});

describe("the first bytes of a key", () => {
  it.each([
    ["PKCS#1 of a length with a plus in Base64", "30823e01020100028201"],
    ["PKCS#1 of a length with a slash in Base64", "30823f01020100028201"],
    ["PKCS#1 of a length with a line break", "30820a0a020100028201"],
    ["PKCS#1 of more than two primes", "30820401020101028201"],
    ["PKCS#8 of version 1", "3051020101300506032b657004220420"],
    ["PKCS#8, encrypted by PBES2", "3082052e305806092a864886f70d01050d"],
    ["PKCS#8, encrypted as in PKCS#12", "30820519060a2a864886f70d010c0103"],
    ["PKCS#12", "308209b60201033082097006092a864886f70d010701"],
    ["PKCS#12 of a short length", "3081b602010330819006092a864886f70d010701"],
    ["PKCS#12 of no length", "3080020103308006092a864886f70d010701"],
    ["SEC1", "30770201010420"],
  ])("are found: %s", (_, hex) => {
    const bytes = Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(40, 0x5a)]);
    for (const text of [bytes.toString("hex"), base64(bytes), bytes.toString("base64url"), base64(base64(bytes))]) {
      expect(holdsPrivateKey(text)).toBe(true);
    }
  });
});

describe("a key beside other letters", () => {
  it.each(["", "a", "my", "key", "keys"])("is found behind %j without a space", (word) => {
    expect(holdsPrivateKey(`${word}${base64(rsaDer)}`)).toBe(true);
  });

  it("is found after a word that joins it where the lines are joined", () => {
    expect(holdsPrivateKey(`key ${rsaDer.toString("hex")}`)).toBe(true);
    expect(holdsPrivateKey(base64(`key ${base64(rsaDer)}`))).toBe(true);
    expect(holdsPrivateKey(base64(`key ${rsaDer.toString("hex")}`))).toBe(true);
  });

  it("is looked for in as much text as a key can be, and in no more than that", () => {
    const encoded = base64(rsaDer);
    expect(holdsPrivateKey(encoded.padStart(2 ** 15, "- "))).toBe(true);
    expect(holdsPrivateKey(encoded.padStart(2 ** 15 + 1, "- "))).toBe(false);
  });
});

const spkiDer = publicKey.export({ type: "spki", format: "der" });
const old = String(publicKey.export({ type: "pkcs1", format: "pem" }));

it.each([
  ["PEM", spki(publicKey)],
  ["PKCS#1 PEM", old],
  ["the registered Base64", publicKeyToBase64(publicKey)],
  ["Base64 of PEM with CRLF", base64(spki(publicKey).replaceAll("\n", "\r\n"))],
  ["Base64 of PKCS#1 PEM", base64(old)],
  ["Base64 of PEM in the URL alphabet", Buffer.from(spki(publicKey)).toString("base64url")],
  ["Base64 of DER", base64(spkiDer)],
  ["Base64 of PKCS#1 DER", base64(publicKey.export({ type: "pkcs1", format: "der" }))],
  ["Base64 of DER in lines", inLines(base64(spkiDer))],
  ["Base64 of Base64 of PEM", base64(base64(spki(publicKey)))],
  ["hex of DER", spkiDer.toString("hex")],
  ["JWK", JSON.stringify(publicKey.export({ format: "jwk" }))],
])("lets a public key pass: %s", (_, text) => {
  expect(holdsPrivateKey(text)).toBe(false);
  expect(holdsPrivateKey(text + pem)).toBe(true);
  expect(holdsPrivateKey(`${jwk} ${text}`)).toBe(true);
});

it.each([
  ["no letter", ""],
  ["words", "rent for May, room 12"],
  ["runs of any length", [40, 41, 42, 43, 44, 45].map((length) => "a".repeat(length)).join(" ")],
  ["hashes", `sha256=${"0123456789abcdef".repeat(4)}`],
  ["the bytes of a shared secret", createSecretKey(Buffer.alloc(64, 7)).export().toString("base64")],
])("lets other texts pass: %s", (_, text) => {
  expect(holdsPrivateKey(text)).toBe(false);
});
