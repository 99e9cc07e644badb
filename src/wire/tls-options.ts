import { tlsProblem } from "#platform";
import { describeValue, looksLikeName } from "../errors/describe-value.js";
import { ConfigError } from "../errors/errors.js";
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

/**
 * Reads the `tls` option into strings of its own.
 *
 * @throws {ConfigError} that names the field, what was found (never its text) and what is wanted.
 */
export function parseTlsOptions(given: unknown): TlsMaterial {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw refuse("tls", given, "an object");
  if (tlsProblem === undefined) {
    throw new ConfigError(
      "tls needs the sockets of Node; here requests go by fetch, which uses the platform's certificates",
    );
  }
  const { ca, cert, key, passphrase, servername, ...others } = given as Record<keyof TlsOptions, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const name = looksLikeName(unknown) ? unknown : "(unprintable)";
    throw new ConfigError(`there is no option tls.${name}; there are ca, cert, key, passphrase, servername`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    const [found, missing] = key === undefined ? ["cert", "key"] : ["key", "cert"];
    throw new ConfigError(`tls.${found} goes with tls.${missing}, which is missing`);
  }
  if (passphrase !== undefined && key === undefined)
    throw new ConfigError("tls.passphrase goes with tls.key, which is missing");
  const material: TlsMaterial = {
    ...(ca !== undefined && { ca: (Array.isArray(ca) ? ca : [ca]).map((pem) => parsePem("ca", pem)) }),
    ...(cert !== undefined && { cert: parsePem("cert", cert) }),
    ...(key !== undefined && { key: parsePem("key", key) }),
    ...(passphrase !== undefined && {
      passphrase: parseText("passphrase", passphrase, /./s, "a string that is not empty"),
    }),
    ...(servername !== undefined && { servername: parseText("servername", servername, hostName, "a host name") }),
  };
  const problem = tlsProblem(material);
  if (problem !== undefined) throw new ConfigError(problem);
  return material;
}

/** Not an address: TLS has none in place of a name. */
const hostName = /^(?![\d.]+$)[a-z\d](?:[a-z\d.-]{0,251}[a-z\d])?$/i;

const pems = {
  ca: {
    wanted: "a certificate in PEM (BEGIN CERTIFICATE)",
    pattern: /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/,
  },
  cert: {
    wanted: "a certificate in PEM (BEGIN CERTIFICATE)",
    pattern: /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/,
  },
  key: {
    wanted: "a private key in PEM (BEGIN PRIVATE KEY)",
    pattern: /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/,
  },
} as const;

function parsePem(name: keyof typeof pems, value: unknown): string {
  const { wanted, pattern } = pems[name];
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  if (typeof text !== "string") throw refuse(`tls.${name}`, value, wanted);
  if (name === "ca" && pems.key.pattern.test(text)) {
    throw new ConfigError("tls.ca holds a private key; wanted: only the certificates of the authorities to trust");
  }
  if (!pattern.test(text)) throw new ConfigError(`tls.${name} is not ${wanted}; a path has to be read first`);
  return text;
}

function parseText(name: keyof TlsOptions, value: unknown, pattern: RegExp, wanted: string): string {
  if (typeof value === "string" && pattern.test(value)) return value;
  throw refuse(`tls.${name}`, value, wanted);
}

function refuse(option: string, value: unknown, wanted: string): ConfigError {
  return new ConfigError(`${option} is ${describeValue(value)}; wanted: ${wanted}`);
}
