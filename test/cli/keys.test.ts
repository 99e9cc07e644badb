import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { signRequest, verifySignature } from "../../src/index.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { type CommandResult, run } from "./run.js";

const folder = temporaryFolder();
const file = (name: string) => join(folder, name);

function openssl(...line: readonly string[]): string {
  return execFileSync("openssl", line, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

let generated: CommandResult;
beforeAll(async () => {
  generated = await run(["keys", "generate", "--out", file("one")]);
});

it("makes a pair that signs, and says what to send", async () => {
  const { code, stdout } = generated;
  expect(code).toBe(0);
  const [privateKey, publicKey] = ["one.pem", "one.public.pem"].map((name) => readFileSync(file(name), "utf8"));
  expect(statSync(file("one.pem")).mode & 0o777).toBe(0o600);
  expect(stdout).not.toContain("PRIVATE");
  const publicKeyBase64 = Buffer.from(publicKey ?? "").toString("base64");
  expect(stdout.split("\n")).toContain(publicKeyBase64);
  const request = { path: "/payments", body: "{}" };
  const signature = await signRequest({ ...request, key: privateKey ?? "" });
  expect(await verifySignature({ ...request, signature, publicKey: publicKeyBase64 })).toBe(true);
});

it("gives the fingerprint that OpenSSL gives, of either key", async () => {
  openssl("pkey", "-pubin", "-in", file("one.public.pem"), "-outform", "DER", "-out", file("one.der"));
  const [fingerprint] = openssl("dgst", "-sha256", "-r", file("one.der")).split(" ");
  for (const name of ["one.pem", "one.public.pem"]) {
    const { stdout } = await run(["keys", "show", file(name), "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ fingerprint, kind: name === "one.pem" ? "private" : "public" });
    expect(stdout).not.toContain("PRIVATE");
  }
});

it.each(["taken.pem", "taken.public.pem"])("overwrites nothing where there is a %s", async (name) => {
  writeFileSync(file(name), "mine");
  const { code, stderr } = await run(["keys", "generate", "--out", file("taken")]);
  expect(code).toBe(3);
  expect(stderr).toContain(`${name}: file exists`);
  expect(readFileSync(file(name), "utf8")).toBe("mine");
  const other = name === "taken.pem" ? "taken.public.pem" : "taken.pem";
  expect(existsSync(file(other))).toBe(false);
  rmSync(file(name));
});

it("leaves nothing behind where a file can't be written as a whole", () => {
  const line = `ulimit -f 1; exec '${process.execPath}' ${command} keys generate --out '${file("large")}'`;
  const { status, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 3, stderr: expect.stringContaining("EFBIG") });
  expect([existsSync(file("large.pem")), existsSync(file("large.public.pem"))]).toEqual([false, false]);
});

it("tells programs the same", async () => {
  const { stdout } = await run(["keys", "generate", "--out", file("json"), "--json"]);
  const { fingerprint, rsaPublicKeyBase64, ...files } = JSON.parse(stdout);
  expect(files).toEqual({ privateFile: file("json.pem"), publicFile: file("json.public.pem") });
  const shown = JSON.parse((await run(["keys", "show", "-", "--json"], { stdin: rsaPublicKeyBase64 })).stdout);
  expect(shown).toEqual({ kind: "public", rsaPublicKeyBase64, fingerprint });
});

it("warns of a private key that others can read", async () => {
  expect((await run(["keys", "show", file("one.pem")])).stdout).not.toContain("chmod");
  chmodSync(file("one.pem"), 0o640);
  const { stdout } = await run(["keys", "show", file("one.pem")]);
  expect(stdout).toContain(`Others can read this private key (mode 0640): chmod 600 ${file("one.pem")}`);
});

it("opens an encrypted key with the passphrase of the environment, and says when there is none", async () => {
  const encrypted = file("one.enc.pem");
  openssl("pkcs8", "-topk8", "-in", file("one.pem"), "-out", encrypted, "-passout", "pass:open sesame");
  const none = await run(["keys", "show", encrypted]);
  expect(none.code).toBe(3);
  expect(none.stderr).toContain("Give its passphrase in CROSS_BORDER_KEY_PASSPHRASE");
  const env = { CROSS_BORDER_KEY_PASSPHRASE: "open sesame" };
  const { stdout } = await run(["keys", "show", encrypted, "--json"], { env });
  const known = JSON.parse((await run(["keys", "show", file("one.public.pem"), "--json"])).stdout);
  expect(JSON.parse(stdout)).toMatchObject({ fingerprint: known.fingerprint });
});

it("shows a public key in PEM byte for byte, since that is what is registered", async () => {
  const odd = readFileSync(file("one.public.pem"), "utf8").trimEnd().replaceAll("\n", "\r\n");
  const { stdout } = await run(["keys", "show", "-", "--json"], { stdin: odd });
  expect(JSON.parse(stdout).rsaPublicKeyBase64).toBe(Buffer.from(odd).toString("base64"));
});

it("refuses what is no key", async () => {
  const { code, stderr } = await run(["keys", "show", "-"], { stdin: "hm, no" });
  expect(code).toBe(3);
  expect(stderr).toContain("publicKey is text that is not PEM");
});
