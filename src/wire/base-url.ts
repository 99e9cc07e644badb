import { describeValue } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";

/** An address in two parts, to join paths by hand. A URL parser would drop the base path. */
export interface BaseUrl {
  /** Scheme, host and port: `https://host:8443`. */
  readonly origin: string;
  /** The base path without a slash at its end; empty if there is none. */
  readonly path: string;
}

/**
 * Reads the address of a service: https, or http on loopback, with or without a base path. http of other hosts must be
 * allowed.
 *
 * The path must be written as it goes over the wire, since it is part of the signed text. If a URL parser would rewrite it
 * (dot segments, letters that need encoding), it's refused.
 *
 * @param option the option's name, for the message.
 * @throws {ConfigError} that names the option, what is wrong and what is wanted. It never repeats the address, which may
 *   hold a password.
 */
export function parseBaseUrl(value: unknown, option: string, allowInsecureHttp = false): BaseUrl {
  const address =
    typeof value === "string" && value !== "" ? readAddress(value, allowInsecureHttp) : describeValue(value);
  if (typeof address !== "string") return address;
  if (value === undefined || value === "") {
    throw new ConfigError(`${option} is ${address}. Is the environment variable set?`);
  }
  throw new ConfigError(`${option} is ${address}; wanted: an address such as https://host or https://host/base/path`);
}

/** The address, or what was found in its place. */
function readAddress(text: string, allowInsecureHttp: boolean): BaseUrl | string {
  if (/[\s\p{Cc}]/u.test(text)) return "an address with white space or control characters in it";
  if (text.includes("\\")) return "an address with a backslash in it";
  const written = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)([^?#]*)(.?)/i.exec(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (written === null || url === undefined) return "text that is not an absolute address";
  const [, authority = "", path = "", rest = ""] = written;
  if (authority.includes("@")) return "an address with a user name or password in it";
  if (rest !== "") return rest === "?" ? "an address with a query" : "an address with a fragment";
  const untrusted = schemeProblem(url, allowInsecureHttp);
  if (untrusted !== undefined) return untrusted;
  if (url.pathname !== (path || "/")) return "an address whose path is not written as it goes over the wire";
  return { origin: url.origin, path: path.replace(/\/+$/, "") };
}

function schemeProblem({ protocol, hostname }: URL, allowInsecureHttp: boolean): string | undefined {
  if (protocol === "https:") return undefined;
  if (protocol !== "http:") return "an address that is neither https nor http";
  if (allowInsecureHttp) return undefined;
  // The URL parser writes every IPv4 address in this form.
  if (hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname)) return undefined;
  return "an http address of a host other than this machine, which would send secrets in the clear (allowInsecureHttp: true permits it)";
}
