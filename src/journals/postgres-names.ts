import { ConfigError } from "../core/errors.js";

const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

/**
 * Names that can stand in SQL between double quotes as they are, with room for what is appended to them.
 *
 * @throws {ConfigError} which begins with `what`.
 */
export function assertPostgresNames(what: string, names: Readonly<Record<string, unknown>>): void {
  for (const [option, name] of Object.entries(names)) {
    if (typeof name === "string" && identifier.test(name)) continue;
    throw new ConfigError(
      `${what}: ${option} must be 1 to 40 letters, digits and underscores, and must not begin with a digit`,
    );
  }
}
