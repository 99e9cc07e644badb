import { decodeBase64, encodeBase64 } from "./base64.js";

/** What messages call a text that is wanted. */
export const certificateInPem = "a certificate in PEM (BEGIN CERTIFICATE)";
export const privateKeyInPem = "a private key in PEM (BEGIN PRIVATE KEY)";

/** One block of a PEM text. */
export interface PemBlock {
  /** Such as `RSA PRIVATE KEY`. */
  readonly label: string;
  /** Algorithm and initialization vector of an encrypted PKCS#1 key. */
  readonly dekInfo?: string;
  /** What it holds; undefined if that is not Base64. */
  readonly bytes: Uint8Array | undefined;
}

/** Whether a text looks like PEM, readable or not. */
export function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/**
 * The complete blocks of a PEM text, and nothing around them. Line breaks don't matter: a text that went through an environment
 * variable may have lost them, or have the two characters `\n` in their place.
 */
export function readPemBlocks(text: string): readonly PemBlock[] {
  const [, ...parts] = text.replace(/\\[rn]/g, "\n").split("-----BEGIN ");
  return parts.flatMap((part) => {
    const [label = "", content = "", end, after] = part.split("-----", 4);
    const isComplete = end === `END ${label}` && after !== undefined && /^[A-Z\d. ]+$/.test(label);
    return isComplete ? [{ label, ...readContent(content) }] : [];
  });
}

/** PEM text as OpenSSL writes it: lines of 64 characters. */
export function writePem(label: string, bytes: Uint8Array, dekInfo?: string): string {
  const headers = dekInfo === undefined ? [] : ["Proc-Type: 4,ENCRYPTED", `DEK-Info: ${dekInfo}`, ""];
  const lines = Array.from(encodeBase64(bytes).matchAll(/.{1,64}/g), ([line]) => line);
  return [`-----BEGIN ${label}-----`, ...headers, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** A text that every reader of PEM can read: as it is, or its blocks written again if their lines are not in order. */
export function tidyPem(text: string): string {
  const blocks = readPemBlocks(text);
  const edges = text.match(/^-----(?:BEGIN|END) [A-Z\d. ]+-----\r?$/gm) ?? [];
  const isTidy = edges.length === 2 * blocks.length && !/^[ \t]|^.{78}|\\/m.test(text);
  const isWhole = ["-----BEGIN ", "-----END "].every((edge) => text.split(edge).length === blocks.length + 1);
  if (isTidy || blocks.length === 0 || !isWhole) return text;
  const written = blocks.map(({ label, bytes, dekInfo }) => bytes && writePem(label, bytes, dekInfo));
  return written.includes(undefined) ? text : written.join("");
}

function readContent(content: string): Pick<PemBlock, "bytes" | "dekInfo"> {
  const headers = /^\s*Proc-Type:\s*4,ENCRYPTED\s+DEK-Info:\s*([\w-]+,[\dA-F]+)\s/i.exec(content);
  if (headers === null) return { bytes: decodeBase64(content) };
  const [all, dekInfo = ""] = headers;
  return { dekInfo, bytes: decodeBase64(content.slice(all.length)) };
}
