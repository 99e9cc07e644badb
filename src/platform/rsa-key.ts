import { decodeBase64, encodeHex } from "./encodings.js";
import type { KeyObjectLike } from "./platform.js";

/** `rsaEncryption` (1.2.840.113549.1.1.1) with its parameters, NULL, in DER. */
const rsaAlgorithm = "300d06092a864886f70d0101010500";

/** The algorithms of other keys, in DER, named as `node:crypto` names them. */
const otherAlgorithms: readonly (readonly [oid: string, keyType: string])[] = [
  ["06072a8648ce3d0201", "ec"],
  ["06092a864886f70d01010a", "rsa-pss"],
  ["06032b6570", "ed25519"],
];

/**
 * Reads a key for WebCrypto, which imports keys asynchronously and knows PKCS#8 and SubjectPublicKeyInfo only. Both have a PKCS#1 key
 * behind the name of its algorithm.
 *
 * @param pem one block, whose label doesn't matter.
 * @throws if it isn't a key of that type.
 */
export function parseKeyPem(type: "private" | "public", pem: string): KeyObjectLike {
  const [, label = "", content = ""] =
    /-----BEGIN ((?:RSA |EC )?(?:PRIVATE|PUBLIC) KEY)-----([^-]*)-----END/.exec(pem) ?? [];
  const hex = encodeHex(decodeBase64(content) ?? new Uint8Array());
  const [body, after] = read("30", hex);
  // A private key begins with its version.
  if (after !== "" || body.startsWith("0201") !== (type === "private")) throw new Error("no such key");
  const other = label.startsWith("EC ") ? "ec" : otherAlgorithms.find(([oid]) => body.slice(0, 64).includes(oid))?.[1];
  if (other !== undefined) return { type, asymmetricKeyType: other, export: () => toBytes(hex) };
  const start = body.slice(0, 36).indexOf(rsaAlgorithm);
  const pkcs1 = start < 0 ? hex : read(type === "private" ? "04" : "03", body.slice(start + 30))[0].replace(/^00/, "");
  const [modulus, afterModulus] = read("02", read("30", pkcs1)[0].replace(/^020100/, ""));
  const publicKey = element("30", element("02", modulus) + element("02", read("02", afterModulus)[0]));
  const forms = {
    spki: element("30", rsaAlgorithm + element("03", `00${publicKey}`)),
    pkcs8: start < 0 ? element("30", `020100${rsaAlgorithm}${element("04", pkcs1)}`) : hex,
  };
  return {
    type,
    asymmetricKeyType: "rsa",
    asymmetricKeyDetails: { modulusLength: BigInt(`0x${modulus}`).toString(2).length },
    export: (options) => toBytes(forms[options.type]),
  };
}

/** Takes an element of DER, in hex, from the beginning of others. */
function read(tag: string, hex: string): [content: string, rest: string] {
  const [header = "", length = ""] = new RegExp(`^${tag}(82.{4}|81..|[0-7].)`).exec(hex) ?? [];
  const end = header.length + 2 * Number.parseInt(length.slice(length.length > 2 ? 2 : 0), 16);
  if (!(end <= hex.length)) throw new Error("no such element");
  return [hex.slice(header.length, end), hex.slice(end)];
}

/** Writes an element of DER, in hex. */
function element(tag: string, content: string): string {
  const length = (content.length / 2).toString(16);
  const bytes = length.padStart(length.length + (length.length % 2), "0");
  return tag + (content.length < 256 ? bytes : (0x80 + bytes.length / 2).toString(16) + bytes) + content;
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
