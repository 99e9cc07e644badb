import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { rootCertificates } from "node:tls";
import type { Dispatcher } from "undici";
import { ConfigError } from "../core/errors.js";
import { addressTimeoutMs, loadUndici } from "../platform/undici-agent.js";
import { parseTlsOptions, type TlsMaterial } from "../wire/tls.js";
import type { Environment, Settings } from "./settings.js";

/** A proxy, and the addresses that are reached without it. */
export interface ProxyRules {
  readonly url: URL;
  /** Whether it leads to `http:` addresses too. */
  readonly isForHttp: boolean;
  /** `undefined` means all. */
  readonly exceptions: readonly Exception[] | undefined;
}

/** A host, with all names below it. */
interface Exception {
  /** As a URL has it: IPv6 in brackets. */
  readonly host: string;
  /** Empty means all. */
  readonly port: string;
}

/**
 * The proxy of the settings, or else that of `HTTPS_PROXY`, which is for https only. `NO_PROXY` names hosts that are reached
 * without either: `bank.example` (and all names below it), `.bank.example`, `bank.example:8443`, `10.1.2.3`, `::1`, `*`. Other
 * entries, such as ranges of addresses, are left out.
 *
 * @throws {ConfigError} if the address isn't a proxy's. The message never holds the address, which may have a password.
 */
export function readProxy(
  { proxy, noProxy }: Pick<Settings, "proxy" | "noProxy">,
  env: Environment,
): ProxyRules | undefined {
  const address = proxy ?? (env.HTTPS_PROXY || env.https_proxy);
  if (address === undefined || address === "") return undefined;
  const url = parseProxy(address, proxy === undefined ? "HTTPS_PROXY" : "proxy");
  const entries = (noProxy ?? (env.NO_PROXY || env.no_proxy || "")).split(/[\s,]+/).filter((entry) => entry !== "");
  const exceptions = entries.includes("*") ? undefined : entries.flatMap((entry) => readException(entry) ?? []);
  return { url, isForHttp: proxy !== undefined, exceptions };
}

/** The proxy that leads to an address, if any: as undici's `EnvHttpProxyAgent` decides it. */
export function proxyFor(rules: ProxyRules | undefined, target: URL): URL | undefined {
  if (rules?.exceptions === undefined || (target.protocol === "http:" && !rules.isForHttp)) return undefined;
  const port = target.port || (target.protocol === "http:" ? "80" : "443");
  const isException = rules.exceptions.some(
    (one) => (one.port === "" || one.port === port) && `.${target.hostname}`.endsWith(`.${one.host}`),
  );
  return isException ? undefined : rules.url;
}

/** Sends each request by the proxy that leads to its address, or without one. */
export interface ProxyDispatcher {
  /** It calls `onRequestStart` before it writes, so that a client can tell what was not sent. */
  readonly showsStart: true;
  dispatch(options: never, handler: never): boolean;
  close(): Promise<void>;
}

/** @param tls for the service and the identity provider. For the proxy, the well-known authorities count, too. */
export async function openProxyDispatcher(
  { url, isForHttp, exceptions }: ProxyRules,
  tls: TlsMaterial,
): Promise<ProxyDispatcher> {
  const { EnvHttpProxyAgent } = await loadUndici();
  const timeouts = { timeout: connectTimeoutMs, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const target = { ...(tls as object), ...timeouts };
  const agent = new EnvHttpProxyAgent({
    ...agentOptions,
    connect: target,
    requestTls: target,
    proxyTls: { ...timeouts, ...(tls.ca && { ca: [...rootCertificates, ...tls.ca] }) },
    httpsProxy: url.href,
    httpProxy: isForHttp ? url.href : "",
    noProxy: exceptions?.map(({ host, port }) => (port === "" ? host : `${host}:${port}`)).join(",") ?? "*",
  });
  return {
    showsStart: true,
    dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) =>
      agent.dispatch(options, handler),
    // undici reconnects without end to a proxy that closes its connections, even if no call waits.
    close: () => agent.destroy(),
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

function readException(entry: string): Exception | undefined {
  const text = isIPv6(entry) ? `[${entry}]` : entry.replace(/^\*?\./, "");
  const [, host = "", port = ""] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d+))?$/i.exec(text) ?? [];
  return URL.canParse(`http://${host}`) ? { host: new URL(`http://${host}`).hostname, port } : undefined;
}

const connectTimeoutMs = 10_000;

/** A connection that was idle may be closed at the other end. */
const agentOptions = {
  ...{ allowH2: false, pipelining: 1, connections: 64, headersTimeout: 0, bodyTimeout: 0 },
  ...{ keepAliveTimeout: 500, keepAliveMaxTimeout: 500 },
};

/** How the service and the identity provider are reached. */
export interface Connection {
  /** The proxy that leads to an address, if any. */
  proxyFor(address: URL): URL | undefined;
  /** Absent if there is nothing to set. */
  readonly tls: TlsMaterial | undefined;
  /** Options of a client: `dispatcher` if there is a proxy, with the certificates, or else `tls` if there are certificates. */
  clientOptions(): Promise<{ readonly dispatcher?: ProxyDispatcher; readonly tls?: TlsMaterial }>;
}

/** @throws {ConfigError} if proxy or certificates can't be used. */
export async function readConnection(settings: Partial<Settings>, env: Environment): Promise<Connection> {
  const rules = readProxy(settings, env);
  const tls = await readTls(settings);
  const { baseUrl = "", authUrl = "" } = settings;
  return {
    proxyFor: (address) => proxyFor(rules, address),
    tls,
    async clientOptions() {
      const isUsed = [baseUrl, authUrl].some((url) => URL.canParse(url) && proxyFor(rules, new URL(url)) !== undefined);
      if (rules !== undefined && isUsed) return { dispatcher: await openProxyDispatcher(rules, tls ?? {}) };
      return tls === undefined ? {} : { tls };
    },
  };
}

async function readTls({ ca, cert, key }: Partial<Settings>): Promise<TlsMaterial | undefined> {
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  return parseTlsOptions({
    ...(ca !== undefined && { ca: await readFile(ca) }),
    ...(cert !== undefined && { cert: await readFile(cert) }),
    ...(key !== undefined && { key: await readFile(key) }),
  });
}
