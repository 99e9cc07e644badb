import { constants, createHash, createPublicKey, type KeyObject, publicDecrypt, verify } from "node:crypto";
import { counted } from "../core/describe.js";
import { parsePublicKey } from "../signing/keys.js";
import { decodeSignature, signedText } from "../signing/signer.js";
import { candidatesOf } from "./signed-text-variants.js";

/** A request with a signature to explain. */
export interface SignatureQuestion {
  /** Request path without host, base path and query included, as it was on the wire. */
  readonly path: string;
  /** The raw body, byte for byte, as it was on the wire. */
  readonly body: Uint8Array;
  /** The `X-SERVICE-SIGNATURE-BASE64` header, as it was on the wire. */
  readonly signature: string;
  /** The public key that is registered: PEM, or Base64 of the PEM. */
  readonly publicKey: string;
  /** Other keys of the same bank, by name. One of them may have signed. */
  readonly otherKeys?: ReadonlyMap<string, string> | undefined;
  /** The service's base path in the path. Without it, every beginning of the path is tried. */
  readonly basePath?: string | undefined;
  /** Scheme, host, and port of the service. Some sign the whole address. */
  readonly origin?: string | undefined;
}

export interface SignatureExplanation {
  readonly isValid: boolean;
  /** What is wrong. Empty if it is valid. */
  readonly findings: readonly SignatureFinding[];
  /** The SHA-256 of the bytes that had to be signed, in hex. */
  readonly wantedDigest: string;
  /** What the signature holds, in hex, if the key fits and the padding shows it. */
  readonly found?: { readonly hash: string; readonly digest: string };
  /** SHA-256 of the registered key's DER form, in hex. */
  readonly fingerprint: string;
}

/** Which part of a signature is wrong. `text` is how path and body were put together and handed to the signing function. */
export type SignatureAspect = "base64" | "key" | "algorithm" | "path" | "body" | "text";

/** One thing that is wrong, and what to do about it. */
export interface SignatureFinding {
  readonly aspect: SignatureAspect;
  readonly problem: string;
  readonly remedy: string;
}

function finding(aspect: SignatureAspect, problem: string, more = ""): SignatureFinding {
  return { aspect, problem, remedy: remedies[aspect] + more };
}

const remedies: Readonly<Record<SignatureAspect, string>> = {
  base64: "send the signature as Base64 with padding, on one line, with nothing around it",
  key: "sign with the private key whose public key is registered",
  algorithm: "sign with RSA, SHA-256 and the padding PKCS#1 v1.5",
  path: "sign the path exactly as it stands in the request line: base path included, host excluded",
  body: "make the body once, sign its bytes, and send the same bytes",
  text: "sign the bytes of the path, immediately followed by the bytes of the body, and let the signing function hash them",
};

/** SHA-256 of a key's DER form in hex, as `openssl pkey -pubin -outform DER | openssl dgst -sha256` prints it. */
export function fingerprintOf(publicKey: string): string {
  return sha256Hex(parsePublicKey(publicKey).spki());
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * Tells what is wrong with a signature. Opens it with the public key, and tries the texts that people sign by mistake. A signature
 * holds the hash of what was signed, so the hash of each text is enough.
 *
 * @throws {InvalidArgumentError} if the path doesn't start with `/`, or a key isn't a public RSA key of at least 2048 bits.
 */
export function explainSignature(question: SignatureQuestion): SignatureExplanation {
  const { path, body, signature, publicKey, otherKeys = new Map<string, string>() } = question;
  const wantedDigest = sha256Hex(signedText(path, body));
  const facts = { wantedDigest, fingerprint: fingerprintOf(publicKey) };
  const text = readSignatureText(signature);
  if ("problem" in text) return { isValid: false, findings: [text.problem], ...facts };
  const findings = text.mistake === undefined ? [] : [text.mistake];

  const best = findBest(text.bytes, question);
  if (best === undefined) {
    const others = otherKeys.size === 0 ? "" : `, nor with any of the ${counted(otherKeys.size, "other key")}`;
    const problem = `it was not made with the registered key${others}, or it was damaged: ${counted(text.bytes.length, "byte")}`;
    findings.push(finding("key", problem, ": compare the fingerprints of both"));
    return { isValid: false, findings, ...facts };
  }
  const { keyName, padding, hash, digest, mistakes } = best;
  if (keyName !== undefined) {
    const fingerprint = fingerprintOf(otherKeys.get(keyName) ?? "");
    const problem = `it was made with another key: ${keyName} (SHA-256 ${fingerprint})`;
    findings.push(finding("key", problem, ", or register that one"));
  }
  if (padding !== "PKCS#1 v1.5" || hash !== "sha256")
    findings.push(finding("algorithm", `it was made with ${hashTitle(hash)} and ${padding}`));
  findings.push(...(mistakes ?? [unknownText(best, wantedDigest)]));
  const found = digest === undefined ? undefined : { found: { hash, digest } };
  return { isValid: findings.length === 0, findings, ...facts, ...found };
}

/** `SHA-256` of `sha256`. */
export function hashTitle(name: string): string {
  return name.toUpperCase().replace("SHA", "SHA-");
}

function unknownText({ digest, hash }: OpenedSignature, wantedDigest: string): SignatureFinding {
  return finding(
    "text",
    `it is of another text than this path and body, and of none that people sign by mistake; it holds the ${hashTitle(hash)} ${digest}`,
    `: the SHA-256 of the bytes that are signed must be ${wantedDigest}, so let the signer show its own; if a proxy took a base path off, name it`,
  );
}

/** The bytes of a signature, and what is wrong with how it was written. */
interface SignatureBytes {
  readonly bytes: Uint8Array;
  readonly mistake?: SignatureFinding;
}

/** Reads Base64 with the mistakes that people make. Only a finding if it can't be read at all. */
function readSignatureText(text: string): SignatureBytes | { readonly problem: SignatureFinding } {
  for (const [mistake, repaired] of readings(text)) {
    const bytes = decodeSignature(repaired);
    // RSA with 1,024 bits has 128 bytes.
    if (bytes === undefined || bytes.length < 128) continue;
    return mistake === undefined ? { bytes } : { bytes, mistake: finding("base64", `the signature ${mistake}`) };
  }
  const short = decodeSignature(text.trim())?.length ?? 0;
  const found =
    short > 0 ? `Base64 of only ${counted(short, "byte")}` : `not Base64: ${counted(text.length, "character")}`;
  return { problem: finding("base64", `the signature is ${text.trim() === "" ? "nothing" : found}`) };
}

/** Texts that stand for the signature, the right one among them, each with what is wrong with it. */
function readings(text: string): [mistake: string | undefined, repaired: string][] {
  const joined = text.replace(/\s/g, "");
  return [
    // Hexadecimal digits are Base64 too, of other bytes.
    ["is in hexadecimal", Buffer.from(joined, "hex").toString("base64")],
    [undefined, text],
    ["has a line break or another white space at its beginning or end", text.trim()],
    ["is wrapped into lines", joined],
    ["lacks its padding (=), or has too much of it", padded(joined)],
    [
      "is in the alphabet for URLs (- and _ in place of + and /)",
      padded(joined.replaceAll("-", "+").replaceAll("_", "/")),
    ],
  ];
}

function padded(text: string): string {
  const bare = text.replace(/=+$/, "");
  return bare.padEnd(4 * Math.ceil(bare.length / 4), "=");
}

/** How an RSA signature was made. */
interface OpenedSignature {
  readonly padding: "PKCS#1 v1.5" | "PSS";
  /** As OpenSSL names it: `sha256`. */
  readonly hash: string;
  /** The hash that it holds, in hex. PSS mixes it with a salt, so it's absent. */
  readonly digest?: string;
  /** Whether it was made of the text. */
  fits(text: Uint8Array): boolean;
}

/** The hashes that libraries offer, and their names inside of a PKCS#1 v1.5 signature (RFC 8017, 9.2). */
const hashes: readonly (readonly [hash: string, name: string])[] = [
  ["sha256", "3031300d060960864801650304020105000420"],
  ["sha1", "3021300906052b0e03021a05000414"],
  ["sha512", "3051300d060960864801650304020305000440"],
  ["sha384", "3041300d060960864801650304020205000430"],
];

/** Opens a signature with the public key that may have made it. */
function openSignature(publicKey: string, signature: Uint8Array): readonly OpenedSignature[] {
  const spki = Buffer.from(parsePublicKey(publicKey).spki());
  const key = createPublicKey({ key: spki, format: "der", type: "spki" });
  const block = undo(key, signature);
  // RFC 8017, 9.2: 00 01 FF … FF 00, and then the hash with its name in front.
  const [, content] = /^0001(?:ff)+00(.*)$/.exec(block) ?? [];
  if (content !== undefined) {
    return hashes
      .filter(([, name]) => content.startsWith(name))
      .map(([hash, name]) => {
        const digest = content.slice(name.length);
        const fits = (text: Uint8Array) => createHash(hash).update(text).digest("hex") === digest;
        return { padding: "PKCS#1 v1.5", hash, digest, fits };
      });
  }
  const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  if (!block.endsWith("bc")) return [];
  return hashes.map(([hash]) => ({ padding: "PSS", hash, fits: (text) => verify(hash, text, pss, signature) }));
}

function undo(key: KeyObject, signature: Uint8Array): string {
  try {
    return publicDecrypt({ key, padding: constants.RSA_NO_PADDING }, signature).toString("hex");
  } catch {
    // It isn't as long as the key, or not below its modulus.
    return "";
  }
}

interface Search extends OpenedSignature {
  /** The key that opened it, if it isn't the registered one. */
  readonly keyName: string | undefined;
  /** What was signed in place of the text. Empty if it was the text. Absent if none of those that were tried fits. */
  readonly mistakes: readonly SignatureFinding[] | undefined;
}

/** The first that fits some text, or else one whose hash is known. */
function findBest(signature: Uint8Array, question: SignatureQuestion): Search | undefined {
  const keys: readonly [string | undefined, string][] = [
    [undefined, question.publicKey],
    ...(question.otherKeys ?? []),
  ];
  let known: Search | undefined;
  for (const [keyName, key] of keys) {
    for (const opened of openSignature(key, signature)) {
      const mistakes = findText(opened, question);
      if (mistakes !== undefined) return { ...opened, keyName, mistakes };
      if (opened.digest !== undefined) known ??= { ...opened, keyName, mistakes };
    }
  }
  return known;
}

/** The simplest explanation counts. A check of PSS takes as long as a hundred others. */
function findText({ padding, fits }: OpenedSignature, question: SignatureQuestion): SignatureFinding[] | undefined {
  const maxMistakes = padding === "PSS" ? 1 : 3;
  const found = candidatesOf(question).find(({ mistakes, text }) => mistakes.length <= maxMistakes && fits(text()));
  return found?.mistakes.map(([aspect, mistake]) => finding(aspect, `signed with ${mistake}`));
}
