import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { signRequest } from "../../src/signing/sign-request.js";
import { createSigner } from "../../src/signing/signer.js";
import { verifySignature } from "../../src/signing/verify.js";
import { pkcs8, rsaKeyPair, spki } from "./test-keys.js";

const absent = spawnSync("openssl", ["version"]).status !== 0;
const reason = "there is no openssl command here";

const pair = rsaKeyPair();
const requests = [
  { path: "/payments", body: '{"senderAmount":"1250.50","memo":"Žofie 🎉"}' },
  { path: "/gateway/v1/payments?x=1&y=%2F", body: "{}" },
  { path: "/payments", body: "" },
];

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cross-border-signing-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.for(requests)(
  "OpenSSL verifies what signRequest and the client's signer made: $path $body",
  async (request, { skip }) => {
    skip(absent, reason);
    const bySigner = await createSigner(pair.privateKey).sign(request.path, Buffer.from(request.body));
    for (const signature of [signRequest({ key: pair.privateKey, ...request }), bySigner]) {
      expect(opensslVerify(request.path + request.body, signature).stdout.toString()).toBe("Verified OK\n");
      expect(opensslVerify(`${request.path + request.body} `, signature).status).not.toBe(0);
    }
  },
);

it.for(requests)("makes the very signature that OpenSSL makes, and verifies it: $path $body", (request, { skip }) => {
  skip(absent, reason);
  const signature = opensslSign(request.path + request.body);
  expect(signRequest({ key: pkcs8(pair.privateKey), ...request })).toBe(signature);
  expect(verifySignature({ publicKey: spki(pair.publicKey), ...request, signature })).toBe(true);
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
