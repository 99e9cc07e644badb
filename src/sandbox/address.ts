import { ConfigError } from "../core/errors.js";

/**
 * An address without the sandbox's own path, which may stand at its end or not.
 *
 * @param option the address's name, such as `baseUrl`.
 * @param pathOption the path's name, such as `basePath`.
 * @throws {ConfigError} when it has another path: what is signed there would not be the path that the sandbox serves.
 */
export function withoutPath(option: string, address: string, pathOption: string, path: string): string {
  if (!URL.canParse(address)) throw new ConfigError(`${option} must be a full URL, such as https://host`);
  const [, host = "", written = "", rest = ""] = /^([^:]+:\/*[^/?#]*)([^?#]*)(.*)$/.exec(address) ?? [];
  const found = written.replace(/\/+$/, "");
  // A query does not belong there; the reader of the address refuses it.
  if (found === "" || found === path) return host + rest;
  throw new ConfigError(
    path === ""
      ? `${option} must be without a path, since the sandbox was made without a ${pathOption}`
      : `${option} must be without a path, or end in the sandbox's ${pathOption}, ${JSON.stringify(path)}`,
  );
}
