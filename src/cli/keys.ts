import { rm, stat, writeFile } from "node:fs/promises";
import type { Command } from "commander";
import {
  generateSigningKeyPair,
  parsePublicKey,
  parseSigningKey,
  publicKeyToBase64,
  writePem,
} from "../signing/keys.js";
import { fingerprintOf } from "../verification/explain-signature.js";
import { action, examples } from "./options.js";
import { readBytes, withPassphrase } from "./settings.js";
import { print, printJson, styled, type Terminal } from "./terminal.js";

export function addKeys(program: Command, terminal: Terminal): void {
  const keys = program
    .command("keys")
    .helpCommand(false)
    .helpGroup("Keys:")
    .summary("generate a signing key, or show its public half");
  const generate = keys
    .command("generate")
    .summary("generate a key pair for signing")
    .description(
      "Generates an RSA key of 2048 bits as two files. Keep the private key where only the signer can read it. Send the public key at onboarding. Existing files are never overwritten.",
    )
    .option("--out <name>", "writes NAME.pem and NAME.public.pem", "signing-key")
    .option("--json", "print JSON")
    .action(action(terminal, generateKeys));
  examples(generate, "keys generate", "keys generate --out /etc/gateway/signing-2027");
  const show = keys
    .command("show <file>")
    .summary("show what to send at onboarding, and the fingerprint")
    .description(
      "FILE is a private key (PEM) or a public key (PEM, or Base64 of it). A private key itself is never shown. The passphrase of an encrypted key comes from CROSS_BORDER_KEY_PASSPHRASE or the terminal.",
    )
    .option("--json", "print JSON")
    .action(action(terminal, showKey));
  examples(show, "keys show signing-key.pem", "keys show registered.pem --json");
}

async function generateKeys(
  { out, json }: { readonly out: string; readonly json?: true },
  terminal: Terminal,
): Promise<void> {
  const [privateFile, publicFile] = [`${out}.pem`, `${out}.public.pem`];
  const { privateKey, publicKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
  // Both fail if the file exists.
  await writeFile(privateFile, privateKey, { flag: "wx", mode: 0o600 });
  try {
    await writeFile(publicFile, publicKey, { flag: "wx" });
  } catch (error) {
    await rm(privateFile);
    throw error;
  }
  const facts = { privateFile, publicFile, rsaPublicKeyBase64, fingerprint: fingerprintOf(publicKey) };
  if (json) printJson(terminal, facts);
  else show(`private key  ${privateFile} (mode 0600). Never send it.\npublic key   ${publicFile}`, facts, terminal);
}

async function showKey({ json }: { readonly json?: true }, terminal: Terminal, file = ""): Promise<void> {
  const text = Buffer.from(await readBytes(file, terminal)).toString("utf8");
  const isPrivate = text.includes("PRIVATE KEY-----");
  const key = isPrivate
    ? parseSigningKey(await withPassphrase(text, file === "-" ? "stdin" : file, terminal))
    : parsePublicKey(text);
  const publicKey = writePem("PUBLIC KEY", key.spki());
  const mode = isPrivate && file !== "-" ? (await stat(file)).mode & 0o777 : undefined;
  const facts = {
    kind: isPrivate ? "private" : "public",
    // A public key in PEM is sent byte for byte as it is.
    rsaPublicKeyBase64: publicKeyToBase64(!isPrivate && text.includes("-----BEGIN") ? text : publicKey),
    fingerprint: fingerprintOf(publicKey),
    ...(mode !== undefined && { mode: mode.toString(8).padStart(4, "0") }),
  };
  if (json) return printJson(terminal, facts);
  show(`${facts.kind} key  ${file}`, facts, terminal);
  if (mode === undefined || process.platform === "win32" || (mode & 0o077) === 0) return;
  const warning = `Others can read this private key (mode ${facts.mode}): chmod 600 ${file}`;
  print(terminal, "", styled(terminal, "yellow", warning));
}

function show(
  files: string,
  { rsaPublicKeyBase64, fingerprint }: { readonly rsaPublicKeyBase64: string; readonly fingerprint: string },
  terminal: Terminal,
): void {
  const titles = ["rsaPublicKeyBase64, to send at onboarding:", "fingerprint, SHA-256 of the public key's DER form:"];
  const [first = "", second = ""] = titles.map((title) => styled(terminal, "bold", title));
  print(terminal, files, "", first, rsaPublicKeyBase64, "", second, fingerprint);
}
