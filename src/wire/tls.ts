import { readTlsMaterial } from "#platform";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isText, parseOptions } from "../core/parse.js";
import { certificateInPem, privateKeyInPem } from "../platform/encodings.js";
import type { TlsMaterial, TlsOptions } from "../platform/tls-material.js";

export type { TlsMaterial, TlsOptions } from "../platform/tls-material.js";

const isPemLike = (value: unknown) => typeof value === "string" || value instanceof Uint8Array;
/** Not an address, which TLS doesn't accept as a server name. */
const hostName = /^(?![\d.]+$)[a-z\d](?:[a-z\d.-]{0,251}[a-z\d])?$/i;

const tlsOptions: CheckTable<TlsOptions> = {
  ca: {
    accepts: (value) => (Array.isArray(value) ? value.every(isPemLike) : isPemLike(value)),
    wanted: `${certificateInPem}, or an array of them`,
  },
  cert: { accepts: isPemLike, wanted: certificateInPem },
  key: { accepts: isPemLike, wanted: privateKeyInPem, isSecret: true },
  passphrase: { accepts: isText, wanted: "a string that is not empty", isSecret: true },
  servername: { accepts: (value) => typeof value === "string" && hostName.test(value), wanted: "a host name" },
};

/**
 * Reads the `tls` option into strings of its own.
 *
 * @throws {ConfigError} that names the field, what was found (never its text), and what is wanted.
 */
export function parseTlsOptions(given: unknown): TlsMaterial {
  const refuse = (message: string) => new ConfigError(`tls: ${message}`);
  // The table has checked the types.
  const options = parseOptions(tlsOptions, given, "it", refuse) as TlsOptions;
  if (readTlsMaterial === undefined) {
    throw new ConfigError(
      "tls needs the sockets of Node; here requests go by fetch, which uses the platform's certificates",
    );
  }
  return readTlsMaterial(options);
}
