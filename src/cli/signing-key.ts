import { InvalidArgumentError } from "../core/errors.js";
import { fromEnvironment } from "../settings/settings.js";
import type { SigningKey } from "../signing/keys.js";
import type { Terminal } from "./terminal.js";

/**
 * A private key with the passphrase that opens it, where it has one: from the environment, or from the person at the terminal.
 *
 * @param name of its file.
 * @throws {InvalidArgumentError} where there is none.
 */
export async function withPassphrase(pem: string, name: string, { env, ask }: Terminal): Promise<SigningKey> {
  if (!/ENCRYPTED/.test(pem)) return pem;
  const passphrase = fromEnvironment(env, "CROSS_BORDER_KEY_PASSPHRASE") ?? (await ask?.(`Passphrase of ${name}: `));
  if (passphrase !== undefined) return { key: pem, passphrase };
  throw new InvalidArgumentError(
    `${name} has an encrypted key, and there is no passphrase. Give it by CROSS_BORDER_KEY_PASSPHRASE, or type it at a terminal`,
  );
}
