import { describeValue } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";

/** An address in two parts, to join paths by hand. A URL parser would drop the base path. */
export interface BaseUrl {
  /** Scheme, host and port: `https://host:8443`. */
  readonly origin: string;
  /** The base path without a slash at its end, or an empty text. */
  readonly path: string;
}

/**
 * Reads the address of a service. It must be https, or http on loopback, with or without a base path. http of other hosts must be
 * allowed.
 *
 * The path must be written as it goes over the wire, since it is part of the signed text. If a URL parser would rewrite it
 * (dot segments, letters that need encoding), it's refused.
 *
 * @param option the option's name, for the message.
 * @throws {ConfigError} that names the option and what is wrong. It never repeats the address, which may hold a password.
 */
export function parseBaseUrl(value: unknown, option: string, allowInsecureHttp = false): BaseUrl {
  const refuse = (found: string, advice = "Pass an address such as https://host or https://host/base/path.") =>
    new ConfigError(`${option} is ${found}. ${advice}`);
  if (value === undefined || value === "") throw refuse(describeValue(value), "Is the environment variable set?");
  if (typeof value !== "string") throw refuse(describeValue(value));
  const [, authority = "", path = "", rest = ""] = /^[a-z]+:\/\/([^/?#]*)([^?#]*)(.?)/i.exec(value) ?? [];
  if (authority === "" || !URL.canParse(value)) throw refuse("text that is not an absolute address");
  if (authority.includes("@")) throw refuse("an address with a user name or a password");
  if (rest !== "") throw refuse(`an address with a ${rest === "?" ? "query" : "fragment"}`);
  const { protocol, hostname, pathname, origin } = new URL(value);
  if (protocol !== "https:" && protocol !== "http:") throw refuse("an address that is neither https nor http");
  if (protocol === "http:" && !allowInsecureHttp && !isLoopback(hostname)) {
    throw refuse(
      "an http address of a host other than this machine, which would send secrets in the clear",
      "allowInsecureHttp: true permits it.",
    );
  }
  if (pathname !== (path || "/")) throw refuse("an address whose path is not written as it goes over the wire");
  return { origin, path: path.replace(/\/+$/, "") };
}

/** The URL parser writes every IPv4 address in this form. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}
