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
  let label: string | undefined;
  let lines: string[] = [];
  for (const line of text.split("\n").map((line) => line.trimEnd())) {
    const begun = /^-----BEGIN ([A-Z\d. ]+)-----$/.exec(line)?.[1];
    if (begun !== undefined) {
      label = begun;
      lines = [];
    } else if (label !== undefined && line === `-----END ${label}-----`) {
      blocks.push(toBlock(label, lines));
      label = undefined;
    } else {
      lines.push(line);
    }
  }
  return blocks;
}

/** PEM text as OpenSSL writes it: lines of 64 characters. */
export function writePem(label: string, bytes: Uint8Array): string {
  const lines = encodeBase64(bytes).match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

function toBlock(label: string, lines: readonly string[]): PemBlock {
  // An encrypted PKCS#1 key has headers, and an empty line behind them.
  const data = lines.slice(lines.indexOf("") + 1);
  return {
    label,
    isEncrypted: label === "ENCRYPTED PRIVATE KEY" || lines.includes("Proc-Type: 4,ENCRYPTED"),
    bytes: data.some((line) => /\s/.test(line)) ? undefined : decodeBase64(data.join("")),
  };
}
