import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  verify,
} from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigError, InvalidArgumentError } from "../../src/core/errors.js";
import type { SigningKey } from "../../src/signing/keys.js";
import { keyPairOf } from "../support/key-pairs.js";
import { platforms, signingOn } from "./signing-on.js";
import { base64, expectToTellNothingOf, pkcs8, rsaKeyPair, spki, thrownBy } from "./test-keys.js";

const passphrase = "correct horse battery staple";
const pair = keyPairOf("gateway");
const weak = rsaKeyPair(1024);
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pss = generateKeyPairSync("rsa-pss", { modulusLength: 2048 });
const dsa = generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 });

const pkcs1 = String(pair.privateKey.export({ type: "pkcs1", format: "pem" }));
const encrypted = {
  pkcs8: String(pair.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase })),
  pkcs1: String(pair.privateKey.export({ type: "pkcs1", format: "pem", cipher: "aes-256-cbc", passphrase })),
};

/** What happens to PEM on its way through environment variables, templates, editors, and other programs. */
const mangled: [name: string, change: (pem: string) => string | Uint8Array][] = [
  ["with spaces for line breaks", (pem) => pem.trim().replaceAll("\n", " ")],
  ["without line breaks", (pem) => pem.replaceAll("\n", "")],
  ["with the two characters \\n for line breaks", (pem) => pem.replaceAll("\n", "\\n")],
  ["with \\r\\n for line breaks", (pem) => pem.replaceAll("\n", "\\r\\n")],
  ["in quotes", (pem) => `"${pem.trim()}"`],
  ["as JSON", (pem) => JSON.stringify(pem)],
  ["with indented lines", (pem) => pem.replace(/^/gm, "  ")],
  ["with a byte order mark", (pem) => `\ufeff${pem}`],
  ["as a Buffer", (pem) => Buffer.from(pem)],
  ["as a Uint8Array", (pem) => new TextEncoder().encode(pem)],
];

/** What a message says to pass, unless it says what to do already. */
function adviceAfter(found: string, kind: "private" | "public", forms: string): string {
  return /[.?]$/.test(found) ? "" : `. Pass a ${kind} RSA key of at least 2048 bits, as ${forms}.`;
}

function inLinesOf(width: number, pem: string): string {
  const [begin = "", ...lines] = pem.trim().split("\n");
  const end = lines.pop() ?? "";
  return [begin, ...(lines.join("").match(new RegExp(`.{1,${width}}`, "g")) ?? []), end, ""].join("\n");
}

const text = Buffer.from("/payments{}");
const onlyNodeDecrypts =
  "an encrypted key, which only Node can decrypt. Decrypt it first, for example with openssl pkcs8 -topk8 -nocrypt.";

describe.for(platforms)("on the platform %s", async (platform) => {
  const { generateSigningKeyPair, parsePublicKey, parseSigningKey, publicKeyFault, publicKeyToBase64 } =
    await signingOn(platform);

  describe("parseSigningKey", () => {
    const accepted: [name: string, key: SigningKey][] = [
      ["PKCS#8 PEM", pkcs8(pair.privateKey)],
      ["PKCS#1 PEM", pkcs1],
      ["PEM with text before it", `Bag Attributes\n    friendlyName: gateway\n${pkcs1}`],
      ["PKCS#8 under the label of PKCS#1", pkcs8(pair.privateKey).replaceAll("PRIVATE", "RSA PRIVATE")],
      ["PKCS#1 under the label of PKCS#8", pkcs1.replaceAll("RSA PRIVATE", "PRIVATE")],
      ...mangled.map(([name, change]): [string, SigningKey] => [`PEM ${name}`, change(pkcs1)]),
      ["PEM behind its public key", `${spki(pair.publicKey)}${pkcs1}`],
      ["a KeyObject", pair.privateKey],
      ["a plain PEM with a passphrase that it does not need", { key: pkcs1, passphrase }],
    ];

    it.each(accepted)("reads %s", async (_name, key) => {
      const signature = await parseSigningKey(key).sign(text);
      expect(verify("sha256", text, pair.publicKey, signature)).toBe(true);
      expect(base64(parseSigningKey(key).spki())).toBe(base64(pair.publicKey.export({ type: "spki", format: "der" })));
    });

    const encryptedForms = [encrypted.pkcs1, ...mangled.map(([, change]) => change(encrypted.pkcs8))];
    it.runIf(platform === "node").each(encryptedForms)("decrypts a key with its passphrase (case %#)", async (key) => {
      const signature = await parseSigningKey({ key, passphrase }).sign(text);
      expect(verify("sha256", text, pair.publicKey, signature)).toBe(true);
    });

    const pem = pkcs8(pair.privateKey);
    const aPath = 'a file path. Pass what the file contains: await readFile(path, "utf8").';
    /** On the web, only RSA keys that are long enough are readable. */
    const onNode = (found: string) => (platform === "web" ? "a PEM text whose private key can't be read" : found);
    const refused: [found: string, key: unknown, secret?: string][] = [
      ["a public key", spki(pair.publicKey)],
      ["a public key", pair.publicKey],
      [onNode("an RSA key of 1024 bits"), pkcs8(weak.privateKey)],
      [onNode("an EC key"), pkcs8(ec.privateKey)],
      [onNode("an RSA-PSS key"), pkcs8(pss.privateKey)],
      ["a DSA key", dsa.privateKey],
      ["a symmetric key", createSecretKey(Buffer.from("not-a-key-pair-but-a-shared-secret"))],
      ["a key whose passphrase is undefined. Is the environment variable set?", { key: encrypted.pkcs8 }],
      ["a key whose passphrase is not a string", { key: pem, passphrase: 1 }],
      ["Base64 of a PEM text. Decode it first.", base64(pem)],
      ["text that is not PEM", "the key of the bank"],
      ["text that is not PEM", base64("a few words")],
      ["text that is not PEM", "version 1.2 of a key"],
      ["text that is not PEM", "two lines\nof a/b"],
      ["text that is not PEM", `${"k".repeat(254)}/b`],
      ["bytes of something that is not PEM", pair.privateKey.export({ type: "pkcs8", format: "der" })],
      [aPath, "/run/secrets/gateway-signing-key.pem"],
      [aPath, "gateway.pem\n"],
      ["a PEM text without a key", pem.replaceAll("PRIVATE KEY", "PARAMETERS")],
      ["a PEM text whose private key can't be read", pkcs1.slice(0, 400)],
      ["a public key", spki(pair.publicKey).replaceAll("PUBLIC", "RSA PUBLIC")],
      ["an empty string. Is the environment variable set?", " \n"],
      ["a PEM text whose private key can't be read", `${pem.slice(0, 400)}\n-----END PRIVATE KEY-----\n`],
      ["a PEM text of several private keys", `${pem}${pkcs8(keyPairOf("stranger").privateKey)}`],
      ["a private key in OpenSSH's own format", pem.replaceAll("PRIVATE KEY", "OPENSSH PRIVATE KEY")],
      ["a certificate", spki(pair.publicKey).replaceAll("PUBLIC KEY", "CERTIFICATE")],
      ["an empty string. Is the environment variable set?", ""],
      ["undefined. Is the environment variable set?", undefined],
      ["null", null],
      ["an object", { pem }, pem],
    ];

    const encryptedKeys = [encrypted.pkcs8, encrypted.pkcs1].flatMap((key): [found: string, key: unknown][] =>
      platform === "web"
        ? [[onlyNodeDecrypts, { key, passphrase }]]
        : [
            ["an encrypted key. Pass { key, passphrase }.", key],
            ["an encrypted key that the passphrase doesn't open", { key, passphrase: "wrong-passphrase" }],
          ],
    );

    it.each([...refused, ...encryptedKeys])("refuses %s by name, without a word of the key", (found, key, secret) => {
      const error = thrownBy(() => parseSigningKey(key as SigningKey));
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({
        message: `signingKey is ${found}${adviceAfter(found, "private", "PEM, KeyObject, or { key, passphrase }")}`,
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
      ["Base64 of DER", der("spki")],
      ["Base64 of PKCS#1 DER", der("pkcs1")],
      ["SPKI under the label of PKCS#1", pem.replaceAll("PUBLIC", "RSA PUBLIC")],
      ["PKCS#1 under the label of SPKI", pkcs1Pem.replaceAll("RSA ", "")],
      ...mangled.map(([name, change]): [string, string | Uint8Array] => [`PEM ${name}`, change(pem)]),
      ["a KeyObject", pair.publicKey],
    ])("reads %s", (_name, input) => {
      expect(base64(parsePublicKey(input).spki())).toBe(der("spki"));
    });

    const privatePem = pkcs8(pair.privateKey);
    const onNode = (found: string) => (platform === "web" ? "a PEM text whose public key can't be read" : found);
    it.each([
      ["a private key", privatePem],
      ["a private key", base64(privatePem)],
      ["a private key", `${pem}${privatePem}`],
      ["a private key", pair.privateKey],
      ["a private key", base64(pair.privateKey.export({ type: "pkcs8", format: "der" }))],
      ["a private key", base64(pair.privateKey.export({ type: "pkcs1", format: "der" }))],
      ["a certificate", pem.replaceAll("PUBLIC KEY", "CERTIFICATE")],
      ["Base64 of something that is not a public key", base64("a few words")],
      [onNode("an RSA key of 1024 bits"), spki(weak.publicKey)],
      [onNode("an EC key"), base64(spki(ec.publicKey))],
      ["a text of several PEM blocks", `${pem}${pem}`],
      ["a PEM text whose public key can't be read", pem.replace(/M/g, "N")],
      ['a file path. Pass what the file contains: await readFile(path, "utf8").', "bank-a.pem"],
      ["text that is not PEM", "no key!"],
      ["an empty string. Is the environment variable set?", ""],
      ["undefined. Is the environment variable set?", undefined],
    ])("refuses %s by name", (found, input) => {
      const error = thrownBy(() => parsePublicKey(input as string | KeyObject));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      const advice = adviceAfter(found, "public", "PEM, Base64 of the PEM text, or KeyObject");
      expect(error).toMatchObject({ message: `publicKey is ${found}${advice}`, effect: "none" });
    });
  });

  describe("publicKeyFault", () => {
    const pem = spki(pair.publicKey);
    it.each([
      [undefined, ""],
      [undefined, base64(pem)],
      ["PEM text: give it to publicKeyToBase64 first", pem],
      ["a private key, which must never be sent", base64(pkcs8(pair.privateKey))],
      ["text that is not PEM", "no key!"],
    ])("finds %s", (fault, text) => {
      expect(publicKeyFault(text)).toBe(fault);
    });
  });

  describe("publicKeyToBase64", () => {
    it.each([
      ["as it is", (pem: string) => pem],
      ["with Windows line ends", (pem: string) => pem.replaceAll("\n", "\r\n")],
      ["in lines of 76 characters", () => inLinesOf(76, spki(pair.publicKey))],
      ["PKCS#1", () => String(pair.publicKey.export({ type: "pkcs1", format: "pem" }))],
    ])("keeps PEM text byte for byte: %s", (_name, change) => {
      const pem = change(spki(pair.publicKey));
      const encoded = publicKeyToBase64(pem);
      expect(encoded).toMatch(/^[A-Za-z0-9+/]+=*$/);
      expect(Buffer.from(encoded, "base64").toString()).toBe(pem);
    });

    it.each([
      ...mangled.slice(0, 8),
      ["under the label of PKCS#1", (pem: string) => pem.replaceAll("PUBLIC", "RSA PUBLIC")] as const,
    ])("writes PEM %s in order", (_name, change) => {
      const pem = spki(pair.publicKey);
      expect(publicKeyToBase64(change(pem))).toBe(base64(pem));
      expect(publicKeyToBase64(Buffer.from(change(pem)))).toBe(base64(pem));
      expect(publicKeyToBase64(pair.publicKey)).toBe(base64(pem));
    });

    it.each([
      ["PKCS#1", pkcs1],
      ["encrypted", encrypted.pkcs8],
      ["behind a public one", spki(pair.publicKey) + pkcs1],
      ["a KeyObject", pair.privateKey],
    ])("never publishes a private key: %s", (_name, key) => {
      const error = thrownBy(() => publicKeyToBase64(key));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error).toMatchObject({
        message: expect.stringContaining("a private key, which must never be sent. Pass "),
      });
      expectToTellNothingOf(textOf(key), error);
    });

    it("refuses any other text by its name", () => {
      const advice = adviceAfter("", "public", "PEM or KeyObject");
      expect(() => publicKeyToBase64("no key")).toThrow(`the public key is text that is not PEM${advice}`);
    });
  });

  describe("generateSigningKeyPair", () => {
    it("makes a 2048-bit pair whose halves belong together, in the three forms", async () => {
      const made = await generateSigningKeyPair();
      const privateKey = createPrivateKey(made.privateKey);
      expect(privateKey.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: 65537n });
      expect(made.privateKey).toBe(pkcs8(privateKey));
      expect(made.publicKey).toBe(spki(createPublicKey(privateKey)));
      expect(made.publicKeyBase64).toBe(base64(made.publicKey));
    });
  });
});

/** What must not be told of a key: its text, where it has one. */
function textOf(key: unknown): string {
  if (typeof key === "string") return key;
  if (typeof key === "object" && key !== null && "key" in key) return textOf(key.key);
  return pkcs8(pair.privateKey);
}
