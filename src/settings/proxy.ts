import { ConfigError } from "../errors/errors.js";
import type { Settings } from "./setting-table.js";
import type { Environment } from "./settings-file.js";

/** The proxy that leads to an address; undefined where none does. */
export type ProxyChoice = (address: URL) => URL | undefined;

/**
 * The proxy of the settings, or else that of `HTTPS_PROXY`, which is for https only. `NO_PROXY` names hosts that are reached
 * without either: `bank.example` (and all names below it), `.bank.example`, `bank.example:8443`, `*`.
 *
 * @throws {ConfigError} for an address that is no proxy's. It never holds the address: there may be a password in it.
 */
export function chooseProxy({ proxy, noProxy }: Pick<Settings, "proxy" | "noProxy">, env: Environment): ProxyChoice {
  const ofEnvironment = env.HTTPS_PROXY || env.https_proxy || undefined;
  const address = proxy ?? ofEnvironment;
  if (address === undefined || address === "") return () => undefined;
  const url = parseProxy(address, proxy === undefined ? "HTTPS_PROXY" : "proxy");
  const exceptions = (noProxy ?? (env.NO_PROXY || env.no_proxy || "")).split(/[\s,]+/).filter(Boolean);
  return (target) => {
    if (proxy === undefined && target.protocol !== "https:") return undefined;
    return exceptions.some((one) => isException(one, target)) ? undefined : url;
  };
}

function parseProxy(address: string, source: string): URL {
  // As curl reads it.
  const url = address.includes("://") ? address : `http://${address}`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && !isDecodable(parsed.username + parsed.password)) {
    throw new ConfigError(`${source} has a user or a password with a % that is not written as %25`);
  }
  if (parsed !== undefined && /^https?:\/\/[^/?#]+\/$/.test(parsed.href)) return parsed;
  throw new ConfigError(`${source} must be the address of a proxy, such as http://proxy.example:3128`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function isException(exception: string, { hostname, port, protocol }: URL): boolean {
  if (exception === "*") return true;
  const [, host = "", wantedPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(exception.toLowerCase()) ?? [];
  const actualPort = port || (protocol === "http:" ? "80" : "443");
  if (wantedPort !== undefined && wantedPort !== actualPort) return false;
  return hostname === host || hostname.endsWith(`.${host}`);
}
