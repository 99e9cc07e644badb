import { ConfigError } from "../core/errors.js";
import { tidyPem } from "./encodings.js";

/**
 * The certificates and the key of the client's own connections, to the service and to the token endpoint. Certificates and
 * keys are PEM, as text or as the bytes of a file. They are copied when the client is built.
 */
export interface TlsOptions {
  /** The authorities to trust, instead of the well-known ones. Add Node's `tls.rootCertificates` to keep those. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /** The client's certificate for mutual TLS, followed by those between it and its authority. Goes with `key`. */
  readonly cert?: string | Uint8Array | undefined;
  /** The private key of `cert`. Only connections use it, never `signingKey`'s signatures. */
  readonly key?: string | Uint8Array | undefined;
  /** Opens an encrypted `key`. */
  readonly passphrase?: string | undefined;
  /** The name to ask for and to find in the server's certificate, instead of the host of the address. */
  readonly servername?: string | undefined;
}

/** The same in PEM, as the client keeps it. */
export interface TlsMaterial extends TlsOptions {
  readonly ca?: readonly string[] | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Reads what has the right types.
 *
 * @throws {ConfigError} that names the field, and what is wrong with it, without a word of it.
 */
export function readTlsMaterial(given: TlsOptions): TlsMaterial {
  const [cert, key] = [given.cert, given.key].map((pem) => (pem === undefined ? undefined : pemOf(pem)));
  const ca = given.ca === undefined ? undefined : [given.ca].flat().map(pemOf);
  if (ca?.every((pem) => pem.includes("-----BEGIN CERTIFICATE-----")) === false) {
    throw new ConfigError("tls.ca must be certificates in PEM (BEGIN CERTIFICATE). A path must be read first.");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("tls.cert and tls.key go together. Pass both.");
  }
  try {
    process.getBuiltinModule("node:tls").createSecureContext({ cert, key, passphrase: given.passphrase });
  } catch (error) {
    // OpenSSL's own words are not passed on.
    throw new ConfigError(
      `tls.cert and tls.key can't be used (${Object(error).code}). Check that both are PEM and not paths, that tls.key belongs to the first certificate of tls.cert, and that tls.passphrase opens tls.key.`,
    );
  }
  return { ...given, ca, cert, key };
}

/** The text of a certificate or a key, in a form that OpenSSL reads. */
function pemOf(value: string | Uint8Array): string {
  return tidyPem(typeof value === "string" ? value : new TextDecoder().decode(value));
}
