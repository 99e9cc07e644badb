import { readTlsMaterial } from "#platform";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isText, parseOptions } from "../core/parse.js";
import type { TlsMaterial, TlsOptions } from "../platform/tls-material.js";

export type { TlsMaterial, TlsOptions } from "../platform/tls-material.js";

const isPem = (value: unknown) => typeof value === "string" || value instanceof Uint8Array;
const certificate = "a certificate in PEM (BEGIN CERTIFICATE)";

const tlsOptions: CheckTable<TlsOptions> = {
  ca: { accepts: (value) => [value].flat().every(isPem), expected: `${certificate}, or an array of them` },
  cert: { accepts: isPem, expected: certificate },
  key: { accepts: isPem, expected: "a private key in PEM (BEGIN PRIVATE KEY)", isSecret: true },
  passphrase: { accepts: isText, expected: "a string that is not empty", isSecret: true },
  servername: { accepts: isText, expected: "a host name" },
};

/**
 * Reads the `tls` option into strings of its own.
 *
 * @throws {ConfigError} that names the field, what was found (never its text), and the expected value.
 */
export function parseTlsOptions(given: unknown): TlsMaterial {
  const refuse = (message: string) => new ConfigError(`tls: ${message}`);
  const options = parseOptions<TlsOptions>(tlsOptions, given, "it", refuse);
  if (readTlsMaterial === undefined) {
    throw new ConfigError(
      "tls needs the sockets of Node; here requests go by fetch, which uses the platform's certificates",
    );
  }
  return readTlsMaterial(options);
}
