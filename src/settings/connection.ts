import { readFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";
import { ConfigError } from "../core/errors.js";
import { addressTimeoutMs, loadUndici } from "../platform/undici-agent.js";
import { parseTlsOptions, type TlsMaterial } from "../wire/tls.js";
import type { DispatcherLike } from "../wire/undici.js";
import type { Environment, Settings } from "./settings.js";

/** A proxy, and the addresses that are reached without it. */
export interface ProxyRules {
  readonly url: URL;
  /** Whether it leads to `http:` addresses, too. */
  readonly isForHttp: boolean;
  /** As undici's `EnvHttpProxyAgent` reads it: `bank.example` (and all names below it), `bank.example:8443`, `10.1.2.3`, `[::1]`, `*`. */
  readonly noProxy: string;
}

/**
 * The proxy of the settings, or else that of `HTTPS_PROXY`, which is for https only.
 *
 * @throws {ConfigError} if the address isn't a proxy's. The message never holds the address, which may have a password.
 */
export function readProxy(
  { proxy, noProxy }: Pick<Settings, "proxy" | "noProxy">,
  env: Environment,
): ProxyRules | undefined {
  const address = proxy ?? (env.HTTPS_PROXY || env.https_proxy);
  if (!address) return undefined;
  const url = parseProxy(address);
  if (url === undefined) {
    throw new ConfigError(
      `${proxy === undefined ? "HTTPS_PROXY" : "proxy"} must be the address of a proxy, such as http://proxy.example:3128. Write a % of its user or password as %25`,
    );
  }
  return { url, isForHttp: proxy !== undefined, noProxy: noProxy ?? (env.NO_PROXY || env.no_proxy || "") };
}

function parseProxy(address: string): URL | undefined {
  try {
    // Without a scheme it is read as curl does.
    const url = new URL(address.includes("://") ? address : `http://${address}`);
    decodeURIComponent(url.username + url.password);
    return /^https?:\/\/[^/?#]+\/$/.test(url.href) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** The proxy that leads to an address, if any. It repeats undici's decision for those that must show it. */
export function proxyFor(rules: ProxyRules | undefined, { protocol, hostname, port }: URL): URL | undefined {
  if (rules === undefined || rules.noProxy === "*" || (protocol === "http:" && !rules.isForHttp)) return undefined;
  const isException = rules.noProxy.split(/[\s,]+/).some((entry) => {
    const [, host = entry, only] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const isPort = only === undefined || only === (port || (protocol === "http:" ? "80" : "443"));
    return host !== "" && isPort && `.${hostname}`.endsWith(`.${host.replace(/^\*?\./, "").toLowerCase()}`);
  });
  return isException ? undefined : rules.url;
}

/** Sends each request by the proxy that leads to its address, or without one. */
export interface ProxyDispatcher extends DispatcherLike {
  /** It calls `onRequestStart` before it writes, so a client can tell what was not sent. */
  readonly showsStart: true;
  close(): Promise<void>;
}

/** @param tls for the service and the identity provider. The proxy can also have a certificate of a well-known authority. */
export async function openProxyDispatcher(
  { url, isForHttp, noProxy }: ProxyRules,
  tls: TlsMaterial,
): Promise<ProxyDispatcher> {
  const { EnvHttpProxyAgent } = await loadUndici();
  const timeouts = { timeout: connectTimeoutMs, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const target = { ...(tls as object), ...timeouts };
  const agent = new EnvHttpProxyAgent({
    allowH2: false,
    pipelining: 1,
    connections: 64,
    headersTimeout: 0,
    bodyTimeout: 0,
    // The other end may have closed an idle connection.
    keepAliveTimeout: 500,
    keepAliveMaxTimeout: 500,
    connect: target,
    requestTls: target,
    proxyTls: { ...timeouts, ...(tls.ca && { ca: [...rootCertificates, ...tls.ca] }) },
    httpsProxy: url.href,
    httpProxy: isForHttp ? url.href : "",
    noProxy,
  });
  return {
    showsStart: true,
    dispatch: agent.dispatch.bind(agent),
    // undici reconnects without end to a proxy that closes its connections, even if no call waits.
    close: () => agent.destroy(),
  };
}

const connectTimeoutMs = 10_000;

/** How the service and the identity provider are reached. */
export type Connection = Awaited<ReturnType<typeof readConnection>>;

/** @throws {ConfigError} if the proxy or the certificates can't be used. */
export async function readConnection(settings: Partial<Settings>, env: Environment) {
  const rules = readProxy(settings, env);
  const tls = await readTls(settings);
  const { baseUrl = "", authUrl = "" } = settings;
  return {
    proxyFor: (address: URL) => proxyFor(rules, address),
    /** Absent if no file is set. */
    tls,
    /** `dispatcher` if there is a proxy, with the certificates, or else `tls` if there are certificates. */
    async clientOptions() {
      const isUsed = [baseUrl, authUrl].some((url) => URL.canParse(url) && proxyFor(rules, new URL(url)) !== undefined);
      if (rules !== undefined && isUsed) return { dispatcher: await openProxyDispatcher(rules, tls ?? {}) };
      return tls === undefined ? {} : { tls };
    },
  };
}

async function readTls({ ca, cert, key }: Partial<Settings>): Promise<TlsMaterial | undefined> {
  const read = (file: string | undefined) => file && readFile(file);
  const files = { ca: await read(ca), cert: await read(cert), key: await read(key) };
  return Object.values(files).some(Boolean) ? parseTlsOptions(files) : undefined;
}
