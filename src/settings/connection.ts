import { readFile } from "node:fs/promises";
import { parseTlsOptions, type TlsMaterial } from "../wire/tls-options.js";
import { openProxyDispatcher, type ProxyDispatcher, proxyFor, readProxy } from "./proxy.js";
import type { Settings } from "./setting-table.js";
import type { Environment } from "./settings-file.js";

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
