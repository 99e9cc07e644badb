/** Which part of a signature is wrong; `text`: how path and body were put together and handed to the signing function. */
export type SignatureAspect = "base64" | "key" | "algorithm" | "path" | "body" | "text";

/** One thing that is wrong, and what to do about it. */
export interface SignatureFinding {
  readonly aspect: SignatureAspect;
  readonly problem: string;
  readonly remedy: string;
}

export function finding(aspect: SignatureAspect, problem: string, more = ""): SignatureFinding {
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
