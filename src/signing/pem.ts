import { encodeBase64 } from "#platform";
import { decodeBase64 } from "../platform/base64.js";

/** One block of a PEM text. */
export interface PemBlock {
  /** Such as `RSA PRIVATE KEY`. */
  readonly label: string;
  readonly isEncrypted: boolean;
  /** What it holds; undefined where that is not Base64. */
  readonly bytes: Uint8Array | undefined;
}

/** Whether a text looks like PEM, readable or not. */
export function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/** The complete blocks of a PEM text. What stands between them is skipped, as OpenSSL does. */
export function readPemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let open: OpenBlock | undefined;
  for (const line of text.split("\n").map((line) => line.trimEnd())) {
    const label = /^-----BEGIN ([A-Z\d. ]+)-----$/.exec(line)?.[1];
    if (label !== undefined) {
      open = { label, lines: [] };
    } else if (open !== undefined && line === `-----END ${open.label}-----`) {
      blocks.push(toBlock(open));
      open = undefined;
    } else {
      open?.lines.push(line);
    }
  }
  return blocks;
}

/** PEM text as OpenSSL writes it: lines of 64 characters. */
export function writePem(label: string, bytes: Uint8Array): string {
  const lines = Array.from(encodeBase64(bytes).matchAll(/.{1,64}/g), ([line]) => line);
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** A block whose end has not come yet. */
interface OpenBlock {
  readonly label: string;
  readonly lines: string[];
}

function toBlock({ label, lines }: OpenBlock): PemBlock {
  // An encrypted PKCS#1 key has headers, and an empty line after them.
  const data = lines.slice(lines.indexOf("") + 1);
  return {
    label,
    isEncrypted: label === "ENCRYPTED PRIVATE KEY" || lines.includes("Proc-Type: 4,ENCRYPTED"),
    bytes: data.some((line) => /\s/.test(line)) ? undefined : decodeBase64(data.join("")),
  };
}
