/** Base64 of the bytes: padded, on one line. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += mostArguments) {
    binary += String.fromCharCode(...bytes.subarray(at, at + mostArguments));
  }
  return btoa(binary);
}

/** A byte at a time would leave a string behind for each; engines limit how many arguments a function takes. */
const mostArguments = 8192;

/**
 * The bytes of Base64, or undefined where the text is not Base64. White space is skipped, padding may be missing; the URL
 * alphabet is refused. Several texts can stand for the same bytes: compare with `encodeBase64` where only one will do.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
