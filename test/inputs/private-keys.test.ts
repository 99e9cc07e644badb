import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { type CrossBorderClient, InvalidArgumentError, publicKeyToBase64 } from "cross-border-payments";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClientKey } from "../../src/api/api-client.js";
import { holdsPrivateKey } from "../../src/signing/private-key-text.js";
import { type Harness, harnesses, signingKeys } from "../contract/harness.js";
import { base64, pkcs8, rsaKeyPair, spki } from "../signing/test-keys.js";
import { bodyOf, callByName, everyOperation } from "./call-by-name.js";

const { privateKey, publicKey } = rsaKeyPair();
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const ed25519 = generateKeyPairSync("ed25519").privateKey;

const pem = pkcs8(privateKey);
const der = (key: KeyObject, type: "pkcs1" | "pkcs8" | "sec1") => key.export({ type: type as "pkcs8", format: "der" });
const pkcs1 = String(privateKey.export({ type: "pkcs1", format: "pem" }));
const encrypted = { cipher: "aes-256-cbc", passphrase: "correct horse" };
const encryptedPkcs8 = String(privateKey.export({ type: "pkcs8", format: "pem", ...encrypted }));
const jwk = JSON.stringify(privateKey.export({ format: "jwk" }));
const inLines = (text: string, size = 64) => (text.match(new RegExp(`.{1,${size}}`, "g")) ?? []).join("\n");
const withoutHeader = (text: string) => text.replace(/-----.*-----\n/g, "");

/** OpenSSH's own format, as far as it can be told: an unencrypted key of the type `ssh-rsa`, with the bytes of this key. */
const openSsh = `-----BEGIN OPENSSH PRIVATE KEY-----\n${inLines(
  base64(Buffer.concat([Buffer.from("openssh-key-v1\0"), randomBytes(16), der(privateKey, "pkcs1")])),
  70,
)}\n-----END OPENSSH PRIVATE KEY-----\n`;

const forms: readonly (readonly [string, string])[] = [
  ["PKCS#8 PEM", pem],
  ["PKCS#8 PEM with CRLF", pem.replaceAll("\n", "\r\n")],
  ["PKCS#8 PEM on one line", pem.replaceAll("\n", " ")],
  ["PKCS#8 PEM with escaped breaks", pem.replaceAll("\n", "\\n")],
  ["PKCS#8 PEM, percent-encoded", encodeURIComponent(pem)],
  ["PKCS#1 PEM", pkcs1],
  ["encrypted PKCS#8 PEM", encryptedPkcs8],
  ["encrypted PKCS#1 PEM", String(privateKey.export({ type: "pkcs1", format: "pem", ...encrypted }))],
  ["EC PEM (SEC1)", String(ec.export({ type: "sec1", format: "pem" }))],
  ["EC PEM (PKCS#8)", pkcs8(ec)],
  ["Ed25519 PEM", pkcs8(ed25519)],
  ["OpenSSH", openSsh],
  ["a PEM that is cut off", pem.slice(0, 600)],
  ["PEM without its header", withoutHeader(pem)],
  ["a pair: public, then private", spki(publicKey) + pem],
  ["JWK", jwk],
  ["JWK in a set, with spaces", JSON.stringify({ keys: [JSON.parse(jwk)] }, null, 2)],
  ["JWK inside a JSON string", JSON.stringify(jwk)],
  ["Base64 of PKCS#8 PEM", base64(pem)],
  ["Base64 of PKCS#8 PEM in lines", inLines(base64(pem))],
  ["Base64 of PKCS#8 PEM in lines with CRLF", inLines(base64(pem)).replaceAll("\n", "\r\n")],
  ["Base64 of PKCS#8 PEM between spaces", `  ${base64(pem)}\n`],
  ["Base64 of PKCS#8 PEM in the URL alphabet", Buffer.from(pem).toString("base64url")],
  ["Base64 of PKCS#8 PEM without padding", base64(pem).replace(/=+$/, "")],
  ["Base64 of PKCS#8 PEM in quotes", `"${base64(pem)}"`],
  ["Base64 of PKCS#8 PEM in UTF-16", base64(Buffer.from(pem, "utf16le"))],
  ["Base64 of PKCS#1 PEM", base64(pkcs1)],
  ["Base64 of encrypted PKCS#8 PEM", base64(encryptedPkcs8)],
  ["Base64 of OpenSSH", base64(openSsh)],
  ["Base64 of the pair", base64(spki(publicKey) + pem)],
  ["Base64 of the public, then of the private", `${base64(spki(publicKey))}\n${base64(pem)}`],
  ["Base64 of JWK", base64(jwk)],
  ["Base64 of Base64 of PEM", base64(base64(pem))],
  ["Base64 of Base64 of PEM in lines", base64(`${inLines(base64(pem))}\n`)],
  ["Base64 of Base64 of DER", base64(base64(der(privateKey, "pkcs8")))],
  ["Base64 of PKCS#8 DER", base64(der(privateKey, "pkcs8"))],
  ["Base64 of PKCS#1 DER", base64(der(privateKey, "pkcs1"))],
  ["Base64 of SEC1 DER", base64(der(ec, "sec1"))],
  ["Base64 of EC PKCS#8 DER", base64(der(ec, "pkcs8"))],
  ["Base64 of DER with a line break behind it", base64(Buffer.concat([der(privateKey, "pkcs8"), Buffer.from("\n")]))],
  ["Base64 of encrypted PKCS#8 DER", withoutHeader(encryptedPkcs8)],
  ["Base64 of DER in the URL alphabet", der(privateKey, "pkcs8").toString("base64url")],
  ["hex of PKCS#8 DER", der(privateKey, "pkcs8").toString("hex")],
  ["hex of PKCS#1 DER, upper case", der(privateKey, "pkcs1").toString("hex").toUpperCase()],
  ["a data URL", `data:application/x-pem-file;base64,${base64(pem)}`],
  ["Base64 in short lines with escaped breaks", inLines(base64(pem), 20).replaceAll("\n", "\\n")],
  ["Base64 in the lines of a source", inLines(base64(pem), 32).replace(/^(.*)$/gm, '"$1",')],
  ["Base64, percent-encoded", encodeURIComponent(inLines(base64(der(privateKey, "pkcs8"))))],
  [
    "hex with colons",
    der(privateKey, "pkcs8")
      .toString("hex")
      .replace(/..(?=.)/g, "$&:"),
  ],
  ["UTF-16 that was read as Latin-1", Buffer.from(pem, "utf16le").toString("latin1")],
  ["a PEM whose label is broken", pem.replace("PRIVATE KEY", "PRIVATE KE\nY")],
  ["JWK without its type", JSON.stringify({ ...JSON.parse(jwk), kty: undefined })],
  ["a line of an env file", `SIGNING_KEY=${base64(pem)}`],
];

const gateways = (client: CrossBorderClient) => client.paymentGateways;

/** Where the description has a public key, and where one could be looked for. */
const places: readonly (readonly [string, (client: CrossBorderClient, key: string) => PromiseLike<unknown>])[] = [
  ["create", (client, key) => gateways(client).create({ institutionId: "a", rsaPublicKeyBase64: key })],
  ["update", (client, key) => gateways(client).update("1", { rsaPublicKeyBase64: key })],
  ["filter", (client, key) => gateways(client).list({ filter: { rsaPublicKeyBase64: key } })],
  ["query of a read", (client, key) => gateways(client).get("1", { query: { rsaPublicKeyBase64: key } })],
  [
    "filter of deposits",
    (client, key) => client.liquidityProviders.deposits("1").list({ filter: { paymentGatewayPublicKeyBase64: key } }),
  ],
  ["filter of payments", (client, key) => client.payments.list({ filter: { creationRequestPublicKeyBase64: key } })],
];

const [sockets] = harnesses;
let harness: Harness;
let client: CrossBorderClient;
beforeAll(async () => {
  if (sockets === undefined) throw new Error("there is no harness");
  harness = await sockets.open();
  client = harness.client({ signingKey: (await signingKeys()).privateKey });
});
afterAll(() => harness[Symbol.asyncDispose]());

/** The call is refused, says nothing of the key, and nothing is sent: not even a token is asked for. */
async function expectRefusal(call: () => unknown, secret: string, message: RegExp): Promise<void> {
  const before = harness.sandbox.requests.length;
  const error = await (async () => call())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect((error as Error).message).toMatch(message);
  const shown = [(error as Error).stack, inspect(error, { showHidden: true, depth: 9 }), JSON.stringify(error)].join();
  for (const piece of secret.replace(/-----[A-Z ]+-----/g, "").match(/\S{20}/g) ?? [])
    expect(shown).not.toContain(piece);
  expect(harness.sandbox.requests.length).toBe(before);
}

describe.each(places)("in the place of a public key (%s)", (_, call) => {
  it.each(forms)("refuses a private key: %s", async (_, key) => {
    await expectRefusal(() => call(client, key), key, /a private key, which must never be sent/);
  });

  it.each([
    ["SubjectPublicKeyInfo", spki(publicKey)],
    ["PKCS#1", String(publicKey.export({ type: "pkcs1", format: "pem" }))],
  ])("refuses raw PEM (%s), and names the function that it needs", async (_, key) => {
    await expectRefusal(() => call(client, key), key, /publicKeyToBase64/);
  });

  it.each([
    ["a KeyObject", publicKey],
    ["a private KeyObject", privateKey],
    ["a Uint8Array", Buffer.from(pem)],
    ["an object", JSON.parse(jwk)],
  ])("refuses %s, and names the function that makes a text of a key", async (_, key) => {
    await expectRefusal(() => call(client, key as never), pem, /publicKeyToBase64/);
  });
});

/** Private RSA keys in the wrong field altogether. EC keys are too short to be told from other texts. */
const rsaForms = forms.filter(([name, key]) => !/EC|SEC1|Ed25519/.test(name) && key.length > 256);

describe.each(everyOperation.filter(({ body }) => body !== undefined))("in any field of $name", (row) => {
  const texts = Object.entries(row.body?.fields ?? {}).filter(([, kind]) => kind !== "any" && kind !== "decimal");
  it.each(texts)("refuses a private key as %s", async (field) => {
    for (const [, key] of rsaForms.filter((_, index) => index % 6 === 0)) {
      const call = () => callByName(client, row, { ...bodyOf(row), [field]: key });
      await expectRefusal(call, key, row.body?.oneOf?.[field] === undefined ? /a private key/ : /another|private/);
    }
  });
});

it.each(everyOperation.filter(({ path }) => path.parameters.length > 0))(
  "refuses a private key as an id of $name",
  async (row) => {
    const key = base64(pem);
    const api = Reflect.get(client, apiClientKey);
    const ids = row.path.parameters.map(() => "1");
    for (const index of ids.keys()) {
      await expectRefusal(
        () => api.call(row, ids.with(index, key), {}),
        key,
        /Id is a private key, which must never be sent/,
      );
    }
  },
);

it.each(rsaForms)("refuses a private key inside extras: %s", async (_, key) => {
  const row = everyOperation.find(({ name }) => name === "payments.create");
  if (row === undefined) throw new Error("there is no such row");
  for (const extras of [key, [key], { a: { b: [{ key }] } }, { [key]: 1 }]) {
    await expectRefusal(() => callByName(client, row, { ...bodyOf(row), extras }), key, /extras.* a private key/s);
  }
});

describe("public keys", () => {
  const genuine = (key: KeyObject) => {
    const text = spki(key);
    const old = String(key.export({ type: "pkcs1", format: "pem" }));
    const spkiDer = key.export({ type: "spki", format: "der" });
    const pkcs1Der = key.export({ type: "pkcs1", format: "der" });
    return [
      publicKeyToBase64(key),
      publicKeyToBase64(text),
      publicKeyToBase64(text.replaceAll("\n", "\r\n")),
      publicKeyToBase64(old),
      inLines(publicKeyToBase64(key)),
      Buffer.from(text).toString("base64url"),
      base64(spkiDer),
      base64(pkcs1Der),
      inLines(base64(spkiDer)),
      base64(base64(text)),
      spkiDer.toString("hex"),
    ];
  };

  it("are sent as they are given", async () => {
    for (const key of genuine(publicKey)) {
      for (const [, call] of places) {
        const error: unknown = await Promise.resolve(call(client, key)).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).not.toBeInstanceOf(InvalidArgumentError);
      }
    }
  }, 60_000);

  it("of any size are told from private ones, whatever their bits are", () => {
    for (const bits of [512, 1024, 1032, 2048, 2056]) {
      for (let count = 0; count < 2; count += 1) {
        const pair = rsaKeyPair(bits);
        if (bits >= 2048) for (const key of genuine(pair.publicKey)) expect(holdsPrivateKey(key)).toBe(false);
        expect(holdsPrivateKey(base64(spki(pair.publicKey)))).toBe(false);
        expect(holdsPrivateKey(base64(pkcs8(pair.privateKey)))).toBe(true);
        expect(holdsPrivateKey(base64(der(createPrivateKey(pkcs8(pair.privateKey)), "pkcs1")))).toBe(true);
      }
    }
  }, 60_000);

  it("with any modulus are let through, and so is any other text of Base64 or hex", () => {
    const frame = publicKey.export({ type: "spki", format: "der" });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 256, maxLength: 256 }), (modulus) => {
        const made = Buffer.from(frame);
        made.set(modulus, made.length - 261);
        expect(holdsPrivateKey(base64(made))).toBe(false);
        expect(
          holdsPrivateKey(base64(`-----BEGIN PUBLIC KEY-----\n${inLines(base64(made))}\n-----END PUBLIC KEY-----\n`)),
        ).toBe(false);
        expect(holdsPrivateKey(Buffer.from(modulus).toString("hex"))).toBe(false);
      }),
      { numRuns: 300 },
    );
  }, 60_000);
});

describe("other texts", () => {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const rsa = ["-newkey", "rsa:2048"];
  // Node wants the length of the salt as a number, its types as a text.
  const salt: object = { saltLength: 32 };
  const restricted = { modulusLength: 2048, hashAlgorithm: "sha256", mgf1HashAlgorithm: "sha256", ...salt };
  const pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"];

  it.each<[string, string[]]>([
    ["RSA", rsa],
    ["RSASSA-PSS", [...rsa, ...pss]],
    ["ECDSA", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]],
    ["Ed25519", ["-newkey", "ed25519"]],
  ])("may be a certificate with the serial number 0 or 1, signed by %s", (_, algorithm) => {
    for (const serial of ["0", "1"]) {
      const more = ["-subj", "/C=CH/O=Bank/CN=a", "-set_serial", serial, "-keyout", "a.key", "-out", "a.crt"];
      execFileSync("openssl", ["req", "-x509", "-nodes", ...algorithm, ...more], { cwd: folder, stdio: "ignore" });
      const certificate = readFileSync(join(folder, "a.crt"), "utf8");
      expect(holdsPrivateKey(certificate)).toBe(false);
      expect(holdsPrivateKey(base64(certificate))).toBe(false);
      expect(holdsPrivateKey(certificate + readFileSync(join(folder, "a.key"), "utf8"))).toBe(true);
    }
  });

  it("may be of numbers to 2 dp", () => {
    expect(holdsPrivateKey(`${"Rounded to 2 dp. ".padEnd(300, "x ")} "d": 4`)).toBe(false);
  });

  it.each([
    ["rsa-pss", generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).privateKey],
    ["rsa-pss with its parameters", generateKeyPairSync("rsa-pss", restricted).privateKey],
    ["dsa", generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 }).privateKey],
    ["ed448", generateKeyPairSync("ed448").privateKey],
    ["x25519", generateKeyPairSync("x25519").privateKey],
    ["x448", generateKeyPairSync("x448").privateKey],
  ])("are not keys of other kinds: %s", (_, key) => {
    expect(holdsPrivateKey(base64(der(key, "pkcs8")))).toBe(true);
    expect(holdsPrivateKey(withoutHeader(pkcs8(key)))).toBe(true);
  });

  it("are not keys of curves in JSON", () => {
    for (const key of [ec, ed25519])
      expect(holdsPrivateKey(JSON.stringify(key.export({ format: "jwk" }), null, 2))).toBe(true);
  });
});
