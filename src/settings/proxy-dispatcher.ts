import { rootCertificates } from "node:tls";
import type { Dispatcher, Pool } from "undici";
import type { TlsMaterial } from "../wire/tls-options.js";
import type { ProxyChoice } from "./proxy.js";

/** Sends each request by the proxy that leads to its address, or without one. */
export interface ProxyDispatcher {
  /** Of the proxy, without its user and password: for messages. */
  readonly proxyOrigin: string;
  dispatch(options: never, handler: never): boolean;
  close(): Promise<void>;
}

/** @param tls for the service and the identity provider; a proxy is trusted by the well-known authorities as well. */
export async function openProxyDispatcher(
  proxy: URL,
  chosen: ProxyChoice,
  tls: TlsMaterial,
  tunnelTimeoutMs: number = connectTimeoutMs,
): Promise<ProxyDispatcher> {
  const { Agent, Pool, ProxyAgent } = await import("undici");
  const target = { ...(tls as object), timeout: connectTimeoutMs };
  const proxyTls = { timeout: connectTimeoutMs, ...(tls.ca && { ca: [...rootCertificates, ...tls.ca] }) };
  const direct = new Agent({ ...agentOptions, connect: target });
  const clientFactory = (origin: URL, options: object) => withOneTry(new Pool(origin, options), tunnelTimeoutMs);
  const byProxy = new ProxyAgent({ ...agentOptions, uri: proxy.href, requestTls: target, proxyTls, clientFactory });
  return {
    proxyOrigin: proxy.origin,
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      const origin = new URL(String(options.origin));
      return (chosen(origin) === undefined ? direct : byProxy).dispatch(options, handler);
    },
    async close() {
      await Promise.all([direct.close(), byProxy.close()]);
    },
  };
}

/** undici waits for the answer to CONNECT for ever, and asks a proxy that closes in its place again and again, without a pause or an end. */
function withOneTry(pool: Pool, timeoutMs: number): Pool {
  const connect = pool.connect.bind(pool) as (options: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;
  const connectOnce = async (options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> => {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await connect({ ...options, signal });
    } catch (error) {
      const isClosed = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(Object(error).code);
      if (!isClosed && !signal.aborted) throw error;
      const code = isClosed ? "PROXY_CLOSED" : "UND_ERR_CONNECT_TIMEOUT";
      throw Object.assign(new Error("the proxy made no connection"), { code });
    }
  };
  return Object.assign(pool, { connect: connectOnce });
}

const connectTimeoutMs = 10_000;

/** As the client's own agent has them: see `platform/undici-agent.ts`. A connection that was idle may be closed at the other end. */
const agentOptions = {
  ...{ allowH2: false, pipelining: 1, connections: 64, headersTimeout: 0, bodyTimeout: 0 },
  ...{ keepAliveTimeout: 500, keepAliveMaxTimeout: 500 },
};
