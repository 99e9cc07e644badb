import { CrossBorderError } from "../../core/errors.js";
import type { PaymentGateway } from "../../resources/payment-gateways.js";
import { fingerprintOf } from "../../verification/explain-signature.js";

/** The keys that gateways have registered. Each is read once: the page asks for those of all its gateways with every look. */
export class RegisteredKeys {
  /** By stored record, which is replaced when the gateway is updated, and never changes. */
  readonly #fingerprints = new WeakMap<PaymentGateway, string>();

  /** SHA-256 of the DER form of a stored gateway's key, in hex; empty where what it has registered is no public RSA key. */
  fingerprintOf(gateway: PaymentGateway): string {
    const known = this.#fingerprints.get(gateway);
    if (known !== undefined) return known;
    const fingerprint = readFingerprint(gateway);
    this.#fingerprints.set(gateway, fingerprint);
    return fingerprint;
  }
}

function readFingerprint({ rsaPublicKeyBase64 }: PaymentGateway): string {
  try {
    return fingerprintOf(rsaPublicKeyBase64);
  } catch (error) {
    // What a gateway registers is not checked, and need not be a key.
    if (error instanceof CrossBorderError) return "";
    throw error;
  }
}
