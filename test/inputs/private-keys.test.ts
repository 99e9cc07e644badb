import { execFileSync } from "node:child_process";
import { createPrivateKey, type KeyObject } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { type CrossBorderClient, InvalidArgumentError, publicKeyToBase64 } from "cross-border-payments";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClientKey } from "../../src/api/api-client.js";
import { holdsPrivateKey } from "../../src/signing/private-key-text.js";
import { type Harness, harnesses } from "../contract/harness.js";
import { der, forms, inLines, jwk, pem, privateKey, publicKey } from "../signing/private-key-forms.js";
import { base64, pkcs8, rsaKeyPair, spki } from "../signing/test-keys.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { runs } from "../support/thorough.js";
import { bodyOf, callByName, everyOperation } from "./call-by-name.js";

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
  client = harness.client({ signingKey: signingKeysOf("gateway").privateKey });
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
  });

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
  });

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
      { numRuns: runs(300) },
    );
  });
});

describe("other texts", () => {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const rsa = ["-newkey", "rsa:2048"];
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
});
