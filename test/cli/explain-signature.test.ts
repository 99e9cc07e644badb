import { sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { run } from "./run.js";

const keys = keyPairOf("gateway");
const others = keyPairOf("stranger");
const body = '{"amount":"1.50"}';
const folder = temporaryFolder();
const file = (name: string) => join(folder, name);

beforeAll(() => {
  writeFileSync(file("body.json"), body);
  writeFileSync(file("key.pem"), keys.publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(file("old.pem"), others.publicKey.export({ type: "spki", format: "pem" }));
});

const signed = (text: string, key = keys.privateKey) => sign("sha256", Buffer.from(text), key).toString("base64");

function line(...more: readonly string[]): string[] {
  return ["explain-signature", "--path", "/v1/payments", "--public-key", file("key.pem"), ...more];
}

it("says that a signature is right", async () => {
  const signature = signed(`/v1/payments${body}`);
  const { code, stdout } = await run(line("--body", file("body.json"), "--signature", signature));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^The signature is valid: RSA, SHA-256, and PKCS#1 v1\.5/);
  expect(stdout).toContain("Whoever refused it saw others, or has another key.");
});

it("says what is wrong, and what to do", async () => {
  writeFileSync(file("signature.txt"), `${signed(`/payments${body}`)}\n`);
  const { code, stdout } = await run(line("--body", "-", "--signature-file", file("signature.txt")), { stdin: body });
  expect(code).toBe(1);
  expect(stdout).toContain("The signature is wrong:\n\npath: signed with no base path (/v1)\n→ sign the path");
});

it("names the key that was used, and gives it all as JSON", async () => {
  const signature = signed(`/v1/payments${body}`, others.privateKey);
  const { code, stdout } = await run(
    line("--body", file("body.json"), "--signature", signature, "--other-key", file("old.pem"), "--json"),
  );
  expect(code).toBe(1);
  const { isValid, findings, wantedDigest, found } = JSON.parse(stdout);
  expect(isValid).toBe(false);
  expect(findings).toEqual([
    {
      aspect: "key",
      problem: expect.stringContaining("old.pem"),
      remedy: expect.stringContaining("register that one"),
    },
  ]);
  expect(found).toEqual({ hash: "sha256", digest: wantedDigest });
});

it("wants a signature", async () => {
  const { code, stderr } = await run(line("--body", file("body.json")));
  expect(code).toBe(2);
  expect(stderr).toContain("--signature <text> or --signature-file <file> is missing");
});
