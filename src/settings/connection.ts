import { readFile } from "node:fs/promises";
import { parseTlsOptions, type TlsMaterial } from "../wire/tls-options.js";
import { chooseProxy, type ProxyChoice } from "./proxy.js";
import { openProxyDispatcher, type ProxyDispatcher } from "./proxy-dispatcher.js";
import type { Settings } from "./setting-table.js";
import type { Environment } from "./settings-file.js";

/** How the service and the identity provider are reached. */
export interface Connection {
  readonly proxyFor: ProxyChoice;
  /** Absent where there is nothing to set. */
  readonly tls: TlsMaterial | undefined;
  /** Options of a client: `dispatcher` where there is a proxy, which then has the certificates; else `tls`, if there are any. */
  clientOptions(): Promise<{ readonly dispatcher?: ProxyDispatcher; readonly tls?: TlsMaterial }>;
}

/** @throws {ConfigError} where proxy or certificates can't be used. */
export async function readConnection(settings: Partial<Settings>, env: Environment): Promise<Connection> {
  const proxyFor = chooseProxy(settings, env);
  const tls = await readTls(settings);
  const { baseUrl = "", authUrl = "" } = settings;
  return {
    proxyFor,
    tls,
    async clientOptions() {
      const proxy = [baseUrl, authUrl].flatMap((url) => (URL.canParse(url) ? (proxyFor(new URL(url)) ?? []) : []))[0];
      if (proxy !== undefined) return { dispatcher: await openProxyDispatcher(proxy, proxyFor, tls ?? {}) };
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
