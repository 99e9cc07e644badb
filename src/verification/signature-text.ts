import { counted } from "../core/describe.js";
import { decodeSignature } from "../signing/verify-signature.js";
import { finding, type SignatureFinding } from "./signature-finding.js";

/** The bytes of a signature as somebody wrote it, and what is wrong with how they did. */
export interface SignatureBytes {
  readonly bytes: Uint8Array;
  readonly mistake?: SignatureFinding;
}

/** Reads Base64 with the mistakes that people make; only a finding where nothing can be made of it. */
export function readSignatureText(text: string): SignatureBytes | { readonly problem: SignatureFinding } {
  for (const [mistake, repaired] of readings(text)) {
    const bytes = decodeSignature(repaired);
    if (bytes === undefined || bytes.length < leastBytes) continue;
    return mistake === undefined ? { bytes } : { bytes, mistake: finding("base64", mistake) };
  }
  const short = decodeSignature(text.trim())?.length ?? 0;
  const found =
    short > 0
      ? `Base64 of only ${counted(short, "byte")}`
      : `${counted(text.length, "character")} that ${text.length === 1 ? "is" : "are"} not Base64`;
  return { problem: finding("base64", `the signature is ${text.trim() === "" ? "nothing" : found}`) };
}

/** Of RSA with 1,024 bits. */
const leastBytes = 128;

/** Texts that stand for the signature, the one that is right among them, each with what is wrong with it. */
function readings(text: string): [mistake: string | undefined, repaired: string][] {
  const bare = text.replace(/["']/g, "").trim();
  const joined = bare.replace(/\s/g, "");
  return [
    // Hexadecimal digits are Base64 too, of other bytes.
    ["the signature is in hexadecimal", Buffer.from(joined, "hex").toString("base64")],
    ["the signature was encoded in Base64 twice", decodedOnce(text)],
    [undefined, text],
    ["the signature has a line break or another white space at its beginning or end", text.trim()],
    ["the signature stands in quotation marks", bare],
    ["the signature's plus signs have become spaces, as they do in forms", bare.replaceAll(" ", "+")],
    ["the signature is wrapped into lines", joined],
    ["the signature lacks its padding (=), or has too much of it", padded(joined)],
    ["the signature is percent-encoded", percentDecoded(joined)],
    ["the signature is in the alphabet for URLs (- and _ in place of + and /)", padded(fromUrlAlphabet(joined))],
    ["the signature is followed by a comma and more, as where a header is sent twice", joined.replace(/,.*/, "")],
    ["the signature has its name or its algorithm in front", padded(joined.replace(/^[\w-]+[:=](?=.)/, ""))],
  ];
}

/** The text that was encoded; a signature's bytes are none. */
function decodedOnce(text: string): string {
  return new TextDecoder().decode(decodeSignature(text));
}

function padded(text: string): string {
  const bare = text.replace(/=+$/, "");
  return bare.padEnd(4 * Math.ceil(bare.length / 4), "=");
}

function fromUrlAlphabet(text: string): string {
  return text.replaceAll("-", "+").replaceAll("_", "/");
}

function percentDecoded(text: string): string {
  return text.replace(/%(..)/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}
