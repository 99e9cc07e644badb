import { counted } from "../core/describe.js";
import { parsePublicKey } from "../signing/keys.js";
import { signedText } from "../signing/signed-text.js";
import { sha256Hex } from "./fingerprint.js";
import { type OpenedSignature, openSignature, type SignatureScheme } from "./opened-signature.js";
import { finding, type SignatureAspect, type SignatureFinding } from "./signature-finding.js";
import { readSignatureText } from "./signature-text.js";
import { bodyVariants, joinVariants, pathVariants, type Variant, wholeVariants } from "./signed-text-variants.js";

/** A request whose signature is to be explained. */
export interface SignatureQuestion {
  /** Request path without host, base path and query included, as it was on the wire. */
  readonly path: string;
  /** The raw body, byte for byte, as it was on the wire. */
  readonly body: Uint8Array;
  /** The `X-SERVICE-SIGNATURE-BASE64` header, as it was on the wire. */
  readonly signature: string;
  /** The public key that is registered: PEM, or Base64 of the PEM. */
  readonly publicKey: string;
  /** Other keys of the same house, by their names: one of them may have signed. */
  readonly otherKeys?: ReadonlyMap<string, string> | undefined;
  /** What of the path is the service's base path. Without it, every beginning of the path is tried. */
  readonly basePath?: string | undefined;
  /** Scheme, host and port of the service: some sign the whole address. */
  readonly origin?: string | undefined;
}

export interface SignatureExplanation {
  readonly isValid: boolean;
  /** What is wrong; empty where it is valid. */
  readonly findings: readonly SignatureFinding[];
  /** The SHA-256 of the bytes that had to be signed, in hex. */
  readonly wantedDigest: string;
  /** What the signature holds, in hex, where the key fits and the padding shows it. */
  readonly found?: { readonly hash: string; readonly digest: string };
  /** SHA-256 of the registered key's DER form, in hex. */
  readonly fingerprint: string;
}

/**
 * Tells what is wrong with a signature, by undoing it with the public key and trying what people sign by mistake. A signature holds the
 * hash of what was signed, so that thousands of texts are tried within milliseconds.
 *
 * @throws {InvalidArgumentError} when the path does not start with `/`, or a key is not a public RSA key of at least 2048 bits.
 */
export function explainSignature(question: SignatureQuestion): SignatureExplanation {
  const { path, body, signature } = question;
  const spki = parsePublicKey(question.publicKey).spki();
  const facts = { wantedDigest: sha256Hex(signedText(path, body)), fingerprint: sha256Hex(spki) };
  const text = readSignatureText(signature);
  if ("problem" in text) return { isValid: false, findings: [text.problem], ...facts };
  const findings = text.mistake === undefined ? [] : [text.mistake];

  const { opened, problem } = openWithAnyKey(spki, text.bytes, question.otherKeys ?? new Map());
  if (problem !== undefined) findings.push(problem);
  const best = findBest(opened, question);
  if (best === undefined) return { isValid: false, findings, ...facts };
  const { scheme, digest } = best.opened;
  if (!isRight(scheme))
    findings.push(finding("algorithm", `it was made with ${hashTitle(scheme.hash)} and ${scheme.padding}`));
  findings.push(...(best.mistakes ?? [unknownText(best, facts.wantedDigest)]));
  const found = digest === undefined ? undefined : { found: { hash: scheme.hash, digest } };
  return { isValid: findings.length === 0, findings, ...facts, ...found };
}

interface Opening {
  readonly opened: readonly OpenedSignature[];
  readonly problem?: SignatureFinding;
}

function openWithAnyKey(spki: Uint8Array, signature: Uint8Array, others: ReadonlyMap<string, string>): Opening {
  const opened = openSignature(spki, signature);
  if (opened.length > 0) return { opened };
  for (const [name, key] of others) {
    const otherSpki = parsePublicKey(key).spki();
    const byOther = openSignature(otherSpki, signature);
    if (byOther.length === 0) continue;
    const problem = `it was made with another key: ${name} (SHA-256 ${sha256Hex(otherSpki)})`;
    return { opened: byOther, problem: finding("key", problem, ", or register that one") };
  }
  const and =
    others.size === 0
      ? ""
      : ` nor with ${others.size === 1 ? "the other one that was" : `any of the ${others.size} others that were`} given`;
  return {
    opened,
    problem: finding(
      "key",
      `it was not made with the registered key${and}, or it was damaged: ${counted(signature.length, "byte")}`,
      ": compare the fingerprints of both",
    ),
  };
}

/** `SHA-256` of `sha256`. */
export function hashTitle(name: string): string {
  return name.toUpperCase().replace("SHA", "SHA-");
}

function isRight({ padding, hash }: SignatureScheme): boolean {
  return padding === "PKCS#1 v1.5" && hash === "sha256";
}

/** More mistakes at once than these are not looked for. */
const mostMistakes = 3;

interface Search {
  readonly opened: OpenedSignature;
  /** What was signed in place of the text: nothing where it was the text. Absent where none of those that were tried fits. */
  readonly mistakes?: readonly SignatureFinding[];
  readonly tried: number;
}

/** The first that fits some text, or else the likeliest. */
function findBest(opened: readonly OpenedSignature[], question: SignatureQuestion): Search | undefined {
  const variants = variantsOf(question);
  let likeliest: Search | undefined;
  for (const one of opened) {
    const search = findText(one, variants);
    if (search.mistakes !== undefined) return search;
    likeliest ??= search;
  }
  return likeliest;
}

/** With few mistakes before many: the simplest explanation counts. */
function findText(opened: OpenedSignature, variants: Variants): Search {
  let tried = 0;
  for (let count = 0; count <= mostMistakes; count += 1) {
    for (const { mistakes, text } of attemptsAt(variants, count)) {
      tried += 1;
      if (opened.fits(text())) return { opened, mistakes, tried };
    }
  }
  return { opened, tried };
}

function unknownText({ opened: { digest, scheme }, tried }: Search, wantedDigest: string): SignatureFinding {
  const holds = digest === undefined ? "" : `; it holds the ${hashTitle(scheme.hash)} ${digest}`;
  return finding(
    "text",
    `it is of another text than this path and body, and of none of the ${tried} that people sign by mistake${holds}`,
    `: the SHA-256 of the bytes that are signed has to be ${wantedDigest}, so let the signer show its own; if a proxy took a base path off, name it`,
  );
}

interface Variants {
  readonly paths: readonly Variant<Uint8Array>[];
  readonly bodies: readonly Variant<Uint8Array>[];
}

function variantsOf({ path, body, basePath, origin }: SignatureQuestion): Variants {
  return { paths: pathVariants({ path, basePath, origin }), bodies: bodyVariants(body) };
}

interface Attempt {
  readonly mistakes: readonly SignatureFinding[];
  text(): Uint8Array;
}

/** Those with exactly so many mistakes. */
function* attemptsAt({ paths, bodies }: Variants, count: number): Generator<Attempt> {
  for (const join of joinVariants) {
    for (const whole of wholeVariants) {
      for (const ofPath of paths) {
        for (const ofBody of bodies) {
          const parts = [ofPath, ofBody, join, whole];
          if (parts.filter(({ mistake }) => mistake !== undefined).length !== count) continue;
          yield {
            get mistakes() {
              const ofText = [join, whole].flatMap((part) => mistakeIn("text", part));
              return [...mistakeIn("path", ofPath), ...mistakeIn("body", ofBody), ...ofText];
            },
            text: () => whole.value(join.value(ofPath.value, ofBody.value)),
          };
        }
      }
    }
  }
}

function mistakeIn(aspect: SignatureAspect, { mistake }: Variant<unknown>): SignatureFinding[] {
  return mistake === undefined ? [] : [finding(aspect, `signed with ${mistake}`)];
}
