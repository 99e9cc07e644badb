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
