import { ConfigError } from "../core/errors.js";
import { certificateInPem, privateKeyInPem, readPemBlocks, tidyPem } from "./encodings.js";

/**
 * What the client's own agent trusts, and shows of itself: for the service and for the token endpoint alike. Certificates and
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

/** What a connection trusts and shows of itself, in PEM. */
export interface TlsMaterial {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly servername?: string;
}

/**
 * Reads what has the right types.
 *
 * @throws {ConfigError} that names the field, and what is wrong with it, without a word of it.
 */
export function readTlsMaterial({ ca, cert, key, passphrase, servername }: TlsOptions): TlsMaterial {
  if ((cert === undefined) !== (key === undefined)) {
    const [found, missing] = key === undefined ? ["cert", "key"] : ["key", "cert"];
    throw new ConfigError(`tls.${found} goes with tls.${missing}, which is missing`);
  }
  if (passphrase !== undefined && key === undefined)
    throw new ConfigError("tls.passphrase goes with tls.key, which is missing");
  const material: TlsMaterial = {
    ...(ca !== undefined && { ca: [ca].flat().map((pem) => parsePem("ca", pem)) }),
    ...(cert !== undefined && { cert: parsePem("cert", cert) }),
    ...(key !== undefined && { key: parsePem("key", key) }),
    ...(passphrase !== undefined && { passphrase }),
    ...(servername !== undefined && { servername }),
  };
  const problem = problemOf(material);
  if (problem !== undefined) throw new ConfigError(problem);
  return material;
}

function parsePem(name: "ca" | "cert" | "key", value: string | Uint8Array): string {
  const text = tidyPem(typeof value === "string" ? value : new TextDecoder().decode(value));
  const has = (kind: string) => new RegExp(`-----BEGIN (?:[A-Z\\d]+ )?${kind}-----`).test(text);
  if (name === "ca" && has("PRIVATE KEY"))
    throw new ConfigError("tls.ca holds a private key; it must hold only the certificates of the authorities to trust");
  if (has(name === "key" ? "PRIVATE KEY" : "CERTIFICATE")) return text;
  const expected = name === "key" ? privateKeyInPem : certificateInPem;
  throw new ConfigError(`tls.${name} is not ${expected}; a path has to be read first`);
}

/** Connections would only fail one after another, and an authority that can't be read would not even be mentioned. */
function problemOf({ ca = [], cert, key, passphrase }: TlsMaterial): string | undefined {
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule("node:crypto");
  const { createSecureContext } = process.getBuiltinModule("node:tls");
  const areReadable = (pem: string) => certificates(pem).every((one) => succeeds(() => new X509Certificate(one)));
  if (!ca.every(areReadable)) return "tls.ca holds a certificate that can't be read";
  if (cert === undefined || key === undefined) return undefined;
  if (!areReadable(cert)) return "tls.cert holds a certificate that can't be read";
  const withPassphrase = passphrase === undefined ? {} : { passphrase };
  if (!succeeds(() => createPrivateKey({ key, ...withPassphrase })))
    return `tls.key can't be opened ${passphrase === undefined ? "without a tls.passphrase" : "with tls.passphrase"}`;
  if (succeeds(() => createSecureContext({ cert, key, ...withPassphrase }))) return undefined;
  return "tls.key is not the private key of tls.cert, whose own certificate has to come first, or one of them is too weak for TLS";
}

/** The certificates of a text; one that can't be read if a block of the text was cut off. */
function certificates(pem: string): readonly string[] {
  const blocks = readPemBlocks(pem);
  const found = blocks.filter(({ label }) => label.endsWith("CERTIFICATE")).map((block) => block.pem);
  const isWhole = ["-----BEGIN ", "-----END "].every((edge) => pem.split(edge).length === blocks.length + 1);
  return isWhole && found.length > 0 ? found : [""];
}

/** OpenSSL's errors are not handed on: what went wrong is clear from what was tried. */
function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
