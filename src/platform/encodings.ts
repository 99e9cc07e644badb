export function encodeUtf8(text: string): Uint8Array {
  return utf8.encode(text);
}

const utf8 = new TextEncoder();

/** Base64 of the bytes, padded, on one line. */
export function encodeBase64(bytes: Uint8Array): string {
  return (
    // On Node, `btoa` takes thirty times as long.
    globalThis.Buffer?.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64") ??
    btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
  );
}

/**
 * The bytes of Base64, or undefined if the text isn't Base64. White space is skipped, padding may be missing, and the URL alphabet is
 * refused. Several texts can stand for the same bytes.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Two digits for each byte, in lower case. */
export function encodeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One block of a PEM text. */
export interface PemBlock {
  /** Such as `RSA PRIVATE KEY`. */
  readonly label: string;
  /** The block as OpenSSL writes it. */
  readonly pem: string;
}

/** Whether a text looks like PEM, readable or not. */
export function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/**
 * The complete blocks of a PEM text, and nothing around them. Line breaks don't matter. A text from an environment variable
 * may have lost them, or have the two characters `\n` in their place.
 */
export function readPemBlocks(text: string): readonly PemBlock[] {
  const blocks = text
    .replace(/\\[rn]/g, "\n")
    .matchAll(/-----BEGIN ([A-Z\d. ]+)-----((?:(?!-----)[\s\S])*)-----END \1-----/g);
  return Array.from(blocks, ([, label = "", content = ""]) => ({ label, pem: pemOf(label, content) }));
}

/** Writes each block as OpenSSL does, so that every reader of PEM can read it. A text that was cut off stays as it is. */
export function tidyPem(text: string): string {
  const blocks = readPemBlocks(text);
  const isWhole = blocks.length > 0 && text.split("-----BEGIN ").length === blocks.length + 1;
  return isWhole ? blocks.map(({ pem }) => pem).join("") : text;
}

/** PEM text as OpenSSL writes it, in lines of 64 characters. */
export function writePem(label: string, bytes: Uint8Array): string {
  return pemOf(label, encodeBase64(bytes));
}

function pemOf(label: string, content: string): string {
  // The headers of an encrypted PKCS#1 key need their line breaks.
  const lines = content.includes(":") ? [content.trim()] : (content.replace(/\s/g, "").match(/.{1,64}/g) ?? []);
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
