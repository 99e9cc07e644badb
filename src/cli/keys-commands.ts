import { access, open, rm, stat } from "node:fs/promises";
import { InvalidArgumentError } from "../core/errors.js";
import {
  generateSigningKeyPair,
  parsePublicKey,
  parseSigningKey,
  publicKeyToBase64,
  writePem,
} from "../signing/keys.js";
import { fingerprintOf } from "../verification/explain-signature.js";
import { command, exitCodes } from "./command.js";
import { readBytes } from "./files.js";
import { withPassphrase } from "./signing-key.js";
import { print, printJson, styled, type Terminal } from "./terminal.js";

export const keysGenerateCommand = command({
  name: "keys generate",
  summary: "Makes a key pair for signing.",
  description:
    "RSA with 2048 bits, as two files: the private key, which only its owner can read and which is never sent, and the public key, which is sent at onboarding. Nothing is overwritten.",
  operands: [],
  options: {
    out: { type: "string", value: "NAME", help: "NAME.pem and NAME.public.pem; signing-key unless given" },
    json: { type: "boolean", help: "as JSON" },
  },
  examples: ["keys generate", "keys generate --out /etc/gateway/signing-2027"],
  async run({ values: { out = "signing-key", json } }, terminal) {
    const [privateFile, publicFile] = [`${out}.pem`, `${out}.public.pem`];
    for (const file of [privateFile, publicFile]) {
      if (await exists(file)) throw new InvalidArgumentError(`${file} exists already: choose another name by --out`);
    }
    const { privateKey, publicKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
    await write(privateFile, privateKey, 0o600);
    try {
      await write(publicFile, publicKey, 0o644);
    } catch (error) {
      // A pair or nothing.
      await rm(privateFile);
      throw error;
    }
    const facts = { privateFile, publicFile, rsaPublicKeyBase64, fingerprint: fingerprintOf(publicKey) };
    if (json) {
      printJson(terminal, facts);
      return exitCodes.done;
    }
    print(
      terminal,
      `private key  ${privateFile} (mode 0600): keep it where only the signer can read it; it is never sent`,
    );
    print(terminal, `public key   ${publicFile}`, "");
    showPublic(facts, terminal);
    return exitCodes.done;
  },
});

export const keysShowCommand = command({
  name: "keys show",
  summary: "Shows what to send at onboarding, and the fingerprint of a key.",
  description:
    "FILE is a private key (PEM) or a public one (PEM, or Base64 of it). A private key itself is never shown. The passphrase of an encrypted one is read from CROSS_BORDER_KEY_PASSPHRASE, or asked for at a terminal.",
  operands: ["FILE"],
  options: { json: { type: "boolean", help: "as JSON" } },
  examples: ["keys show signing-key.pem", "keys show registered.pem --json"],
  async run({ values: { json }, operands: [file = ""] }, terminal) {
    const text = Buffer.from(await readBytes(file, terminal)).toString("utf8");
    const isPrivate = text.includes("PRIVATE KEY-----");
    const publicKey = isPrivate
      ? await publicKeyOf(text, file, terminal)
      : writePem("PUBLIC KEY", parsePublicKey(text).spki());
    const mode = isPrivate && file !== "-" ? (await stat(file)).mode & 0o777 : undefined;
    const isOpen = mode !== undefined && process.platform !== "win32" && (mode & 0o077) !== 0;
    const facts = {
      kind: isPrivate ? "private" : "public",
      // A public key in PEM is sent byte for byte as it is.
      rsaPublicKeyBase64: publicKeyToBase64(!isPrivate && text.includes("-----BEGIN") ? text : publicKey),
      fingerprint: fingerprintOf(publicKey),
      ...(mode === undefined ? undefined : { mode: mode.toString(8).padStart(4, "0") }),
    };
    if (json) {
      printJson(terminal, facts);
      return exitCodes.done;
    }
    print(terminal, `${facts.kind} key  ${file}`, "");
    showPublic(facts, terminal);
    if (isOpen) {
      const warning = `others can read this private key (mode ${facts.mode}): chmod 600 ${file}`;
      print(terminal, "", styled(terminal, "yellow", warning));
    }
    return exitCodes.done;
  },
});

async function publicKeyOf(privateKey: string, file: string, terminal: Terminal): Promise<string> {
  const key = await withPassphrase(privateKey, file === "-" ? "stdin" : file, terminal);
  return writePem("PUBLIC KEY", parseSigningKey(key).spki());
}

function showPublic(
  { rsaPublicKeyBase64, fingerprint }: { readonly rsaPublicKeyBase64: string; readonly fingerprint: string },
  terminal: Terminal,
): void {
  print(terminal, styled(terminal, "bold", "rsaPublicKeyBase64, to send at onboarding:"), rsaPublicKeyBase64, "");
  print(terminal, styled(terminal, "bold", "fingerprint, SHA-256 of the public key's DER form:"), fingerprint);
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Fails where the file exists, even if it came a moment ago. */
async function write(file: string, text: string, mode: number): Promise<void> {
  const handle = await open(file, "wx", mode);
  try {
    // Not less, whatever the umask takes away from others.
    await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    // It was not there before.
    await rm(file);
    throw error;
  } finally {
    await handle.close();
  }
}
