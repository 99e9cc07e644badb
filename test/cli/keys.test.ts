import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { signRequest, verifySignature } from "../../src/index.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { type CommandResult, run } from "./run.js";

const folder = temporaryFolder();
const file = (name: string) => join(folder, name);
const openssl = (...line: readonly string[]) => execFileSync("openssl", line, { encoding: "utf8", stdio: "pipe" });
const shown = async (name: string, more: object = {}) =>
  JSON.parse((await run(["keys", "show", name, "--json"], more)).stdout);

let generated: CommandResult;
beforeAll(async () => {
  generated = await run(["keys", "generate", "--out", file("one"), "--json"]);
});

it("makes a pair that signs, and says what to send", async () => {
  const [key, publicKey] = ["one.pem", "one.public.pem"].map((name) => readFileSync(file(name), "utf8"));
  expect(statSync(file("one.pem")).mode & 0o777).toBe(0o600);
  expect(generated.stdout).not.toContain("PRIVATE");
  const { rsaPublicKeyBase64, fingerprint, ...files } = JSON.parse(generated.stdout);
  expect(files).toEqual({ privateFile: file("one.pem"), publicFile: file("one.public.pem") });
  expect(rsaPublicKeyBase64).toBe(Buffer.from(publicKey ?? "").toString("base64"));
  expect(await shown("-", { stdin: rsaPublicKeyBase64 })).toEqual({ kind: "public", rsaPublicKeyBase64, fingerprint });
  const request = { path: "/payments", body: "{}" };
  const signature = await signRequest({ ...request, key: key ?? "" });
  expect(await verifySignature({ ...request, signature, publicKey: rsaPublicKeyBase64 })).toBe(true);
});

it("gives the fingerprint that OpenSSL gives, of either key", async () => {
  openssl("pkey", "-pubin", "-in", file("one.public.pem"), "-outform", "DER", "-out", file("one.der"));
  const [fingerprint] = openssl("dgst", "-sha256", "-r", file("one.der")).split(" ");
  expect(await shown(file("one.pem"))).toMatchObject({ fingerprint, kind: "private" });
  expect(await shown(file("one.public.pem"))).toMatchObject({ fingerprint, kind: "public" });
});

it.each(["taken.pem", "taken.public.pem"])("overwrites nothing where there is a %s", async (name) => {
  writeFileSync(file(name), "mine");
  const { code, stderr } = await run(["keys", "generate", "--out", file("taken")]);
  expect([code, stderr]).toEqual([3, expect.stringContaining(`${name}: file exists`)]);
  expect(readFileSync(file(name), "utf8")).toBe("mine");
  expect(existsSync(file(name === "taken.pem" ? "taken.public.pem" : "taken.pem"))).toBe(false);
  rmSync(file(name));
});

it("warns of a private key that others can read", async () => {
  chmodSync(file("one.pem"), 0o640);
  const { stdout } = await run(["keys", "show", file("one.pem")]);
  expect(stdout.replaceAll(folder, "…").replace(/\w{60,}=*/g, "…")).toMatchInlineSnapshot(`
    "private key  …/one.pem

    rsaPublicKeyBase64, to send at onboarding:
    …

    fingerprint, SHA-256 of the public key's DER form:
    …

    Others can read this private key (mode 0640): chmod 600 …/one.pem
    "
  `);
});

it("shows a public key in PEM byte for byte, since that is what is registered", async () => {
  const odd = readFileSync(file("one.public.pem"), "utf8").trimEnd().replaceAll("\n", "\r\n");
  expect((await shown("-", { stdin: odd })).rsaPublicKeyBase64).toBe(Buffer.from(odd).toString("base64"));
});
