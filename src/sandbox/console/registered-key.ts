import { createHash } from "node:crypto";
import { CrossBorderError } from "../../errors/errors.js";
import type { PaymentGateway } from "../../resources/payment-gateways.js";
import { parsePublicKey } from "../../signing/keys.js";

/** SHA-256 of a key's DER form (SubjectPublicKeyInfo), in hex. */
export function fingerprintOf(spki: Uint8Array): string {
  return createHash("sha256").update(spki).digest("hex");
}

/** The fingerprint of what a gateway has registered; empty where that is no public RSA key. */
export function registeredFingerprint({ rsaPublicKeyBase64 }: PaymentGateway): string {
  try {
    return fingerprintOf(parsePublicKey(rsaPublicKeyBase64).spki());
  } catch (error) {
    // What a gateway registers is not checked, and need not be a key.
    if (error instanceof CrossBorderError) return "";
    throw error;
  }
}
