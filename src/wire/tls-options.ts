import { tlsProblem } from "#platform";
import { ConfigError } from "../errors/errors.js";
import { type CheckTable, isText, parseOptions } from "../options/option-table.js";
import type { TlsMaterial } from "../platform/tls-material.js";

export type { TlsMaterial } from "../platform/tls-material.js";

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

const isPemLike = (value: unknown) => typeof value === "string" || value instanceof Uint8Array;
const certificate = "a certificate in PEM (BEGIN CERTIFICATE)";
/** Not an address: TLS has none in place of a name. */
const hostName = /^(?![\d.]+$)[a-z\d](?:[a-z\d.-]{0,251}[a-z\d])?$/i;

const tlsOptions: CheckTable<TlsOptions> = {
  ca: {
    accepts: (value) => (Array.isArray(value) ? value.every(isPemLike) : isPemLike(value)),
    wanted: `${certificate}, or an array of them`,
  },
  cert: { accepts: isPemLike, wanted: certificate },
  key: { accepts: isPemLike, wanted: "a private key in PEM (BEGIN PRIVATE KEY)", isSecret: true },
  passphrase: { accepts: isText, wanted: "a string that is not empty", isSecret: true },
  servername: { accepts: (value) => typeof value === "string" && hostName.test(value), wanted: "a host name" },
};

/**
 * Reads the `tls` option into strings of its own.
 *
 * @throws {ConfigError} that names the field, what was found (never its text) and what is wanted.
 */
export function parseTlsOptions(given: unknown): TlsMaterial {
  const refuse = (message: string) => new ConfigError(`tls: ${message}`);
  // Of their types when the table has accepted them.
  const { ca, cert, key, passphrase, servername } = parseOptions(tlsOptions, given, "it", refuse) as TlsOptions;
  if (tlsProblem === undefined) {
    throw new ConfigError(
      "tls needs the sockets of Node; here requests go by fetch, which uses the platform's certificates",
    );
  }
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
  const problem = tlsProblem(material);
  if (problem !== undefined) throw new ConfigError(problem);
  return material;
}

const certificatePattern = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
const keyPattern = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/;
const patterns = { ca: certificatePattern, cert: certificatePattern, key: keyPattern };

function parsePem(name: keyof typeof patterns, value: string | Uint8Array): string {
  const text = typeof value === "string" ? value : new TextDecoder().decode(value);
  if (name === "ca" && keyPattern.test(text)) {
    throw new ConfigError("tls.ca holds a private key; wanted: only the certificates of the authorities to trust");
  }
  if (patterns[name].test(text)) return text;
  throw new ConfigError(
    `tls.${name} is not ${name === "key" ? tlsOptions.key.wanted : certificate}; a path has to be read first`,
  );
}
