/** What a connection trusts and shows of itself, in PEM. */
export interface TlsMaterial {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly servername?: string;
}

/**
 * What is wrong with it, without a word of it. Connections would only fail one after another, and an authority that can't
 * be read would not even be mentioned.
 */
export function tlsProblem({ ca = [], cert, key, passphrase }: TlsMaterial): string | undefined {
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule("node:crypto");
  // One that lost a part of itself is not skipped over.
  const certificates = (pem: string) => {
    const whole = pem.match(certificate) ?? [];
    return whole.length > 0 && pem.match(certificateLine)?.length === 2 * whole.length ? whole : [""];
  };
  if (!ca.flatMap(certificates).every((pem) => attempt(() => new X509Certificate(pem)) !== undefined)) {
    return "tls.ca holds a certificate that can't be read";
  }
  if (cert === undefined || key === undefined) return undefined;
  const [own, ...between] = certificates(cert).map((pem) => attempt(() => new X509Certificate(pem)));
  if (own === undefined || between.includes(undefined)) return "tls.cert holds a certificate that can't be read";
  const privateKey = attempt(() => createPrivateKey(passphrase === undefined ? key : { key, passphrase }));
  if (privateKey === undefined) {
    return `tls.key can't be opened ${passphrase === undefined ? "without a tls.passphrase" : "with tls.passphrase"}`;
  }
  if (!own.checkPrivateKey(privateKey))
    return "tls.key is not the private key of tls.cert, whose own certificate has to come first";
  const { createSecureContext } = process.getBuiltinModule("node:tls");
  const context = attempt(() => createSecureContext({ cert, key, ...(passphrase !== undefined && { passphrase }) }));
  return context === undefined ? "tls.cert or tls.key is too weak for the TLS of this platform" : undefined;
}

const certificate = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;

const certificateLine = /-----(?:BEGIN|END) [^-\n]*CERTIFICATE/g;

/** OpenSSL's errors are not handed on: what went wrong is clear from what was tried. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
