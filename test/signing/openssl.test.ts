import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { platforms, signingOn } from "./signing-on.js";
import { pkcs8, spki } from "./test-keys.js";

const absent = spawnSync("openssl", ["version"]).status !== 0;
const reason = "there is no openssl command here";

const pair = keyPairOf("gateway");
const requests = [
  { path: "/payments", body: '{"senderAmount":"1250.50","memo":"Žofie 🎉"}' },
  { path: "/gateway/v1/payments?x=1&y=%2F", body: "{}" },
  { path: "/payments", body: "" },
];

const folder = temporaryFolder();

describe.for(platforms)("on the platform %s", async (platform) => {
  const { createSigner, generateSigningKeyPair, signRequest, verifySignature } = await signingOn(platform);

  it.for(requests)("OpenSSL verifies every signature: $path $body", async (request, { skip }) => {
    skip(absent, reason);
    const key = pkcs8(pair.privateKey);
    const bySigner = createSigner(key).sign(request.path, Buffer.from(request.body));
    for (const signature of [await signRequest({ key, ...request }), await bySigner]) {
      expect(opensslVerify(request.path + request.body, signature).stdout.toString()).toBe("Verified OK\n");
      expect(opensslVerify(`${request.path + request.body} `, signature).status).not.toBe(0);
    }
  });

  it.for(requests)("makes and verifies the signature that OpenSSL makes: $path $body", async (request, { skip }) => {
    skip(absent, reason);
    const signature = opensslSign(request.path + request.body);
    expect(await signRequest({ key: pkcs8(pair.privateKey), ...request })).toBe(signature);
    expect(await verifySignature({ publicKey: spki(pair.publicKey), ...request, signature })).toBe(true);
  });

  it("OpenSSL reads a generated key pair", async ({ skip }) => {
    skip(absent, reason);
    const { privateKey, publicKey } = await generateSigningKeyPair();
    const derived = spawnSync("openssl", ["pkey", "-pubout", "-check"], { input: privateKey }).stdout.toString();
    expect(derived).toBe(`Key is valid\n${publicKey}`);
  });
});

describe("keys that OpenSSL makes", () => {
  const openssl = (command: string) => spawnSync("openssl", command.split(" "), { cwd: folder }).stdout.toString();
  const rsa = "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:";
  it.for<[name: string, make: () => string, found: string | undefined]>([
    ["PKCS#8", () => openssl(`${rsa}2048`), undefined],
    ["PKCS#1", () => openssl("genrsa -traditional 2048"), undefined],
    ["RSA-1024", () => openssl(`${rsa}1024`), "an RSA key of 1024 bits"],
    ["EC", () => openssl("ecparam -name prime256v1 -genkey -noout"), "an EC key"],
    ["EC in PKCS#8", () => openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"), "an EC key"],
    ["Ed25519", () => openssl("genpkey -algorithm ed25519"), "an ED25519 key"],
    ["encrypted", () => openssl(`${rsa}2048 -aes256 -pass pass:x`), "an encrypted key"],
    ["public", () => spki(pair.publicKey), "a public key"],
  ])("are read, or refused by name: %s", async ([, make, found], { skip }) => {
    skip(absent, reason);
    const { parseSigningKey } = await signingOn("node");
    const pem = make();
    if (found === undefined) parseSigningKey(pem);
    else expect(() => parseSigningKey(pem)).toThrow(`signingKey is ${found}`);
  });
});

function opensslVerify(text: string, signature: string): SpawnSyncReturns<Buffer> {
  const publicKey = file("public.pem", spki(pair.publicKey));
  const signatureFile = file("signature", Buffer.from(signature, "base64"));
  return spawnSync("openssl", [
    ...["dgst", "-sha256", "-verify", publicKey],
    ...["-signature", signatureFile, file("text", text)],
  ]);
}

/** The private key goes through a pipe: it is never written to a file. */
function opensslSign(text: string): string {
  const command = 'cat | openssl dgst -sha256 -sign /dev/stdin "$1" | openssl base64 -A';
  const result = spawnSync("sh", ["-c", command, "sh", file("text", text)], { input: pkcs8(pair.privateKey) });
  return result.stdout.toString();
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
