import type { buildConnector, Client, Dispatcher, Pool } from "undici";
import { loaded } from "../core/libraries.js";
import type { TlsMaterial } from "./tls-material.js";

export type { Dispatcher } from "undici";

export interface AgentOptions {
  /** Maximum number of sockets to one origin, for reads and for writes each. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly tls?: TlsMaterial | undefined;
}

/** Node's 250 ms for each address of a host are too few for a slow link. This is enough for a SYN that is sent twice. */
export const addressTimeoutMs = 2500;

/** Few servers close a connection sooner. */
const writesIdleMs = 500;

/** A pool for each origin. */
interface Pools {
  readonly dispatch: Dispatcher["dispatch"];
  /** Lets what is in flight finish. */
  close(): Promise<unknown>;
}

/** The connections of a client. */
export interface UndiciAgent extends Pools {
  /** The connections that reads use. */
  readonly reads: Pools;
  /** Later reads use new connections. Those in flight continue. Does nothing if `reads` was replaced already. */
  replace(reads: Pools): void;
}

/** Apart from the other libraries, since bundlers for pages resolve every import of a file, used or not. */
export function loadUndici(): Promise<typeof import("undici")> {
  // Bun replaces the bare name with a module of its own, which has no pools.
  const loading = process.versions.bun === undefined ? import("undici") : import("undici/index.js");
  const whole = loading.then((undici) => {
    // In a bundle without a `require`, undici throws when it's loaded first, and is empty from then on.
    if (undici.Pool === undefined) throw new Error("there is no require");
    return undici;
  });
  return loaded("undici", whole);
}

/**
 * Opens the connections of a client, with a pool for reads and a pool for writes for each origin.
 *
 * Servers and proxies close idle connections, and a request that is written at that moment is lost. A read is repeated. A payment
 * can't be, so writes never use a connection that was idle for long.
 */
export async function openAgent(
  { connections, connectTimeoutMs, tls }: AgentOptions,
  load: () => Promise<Pick<typeof import("undici"), "Client" | "Pool" | "buildConnector">> = loadUndici,
): Promise<UndiciAgent> {
  const { Client, Pool, buildConnector } = await load();
  // HTTP/2 repeats a refused stream on its own, even if it is a payment.
  const http1 = { allowH2: false, pipelining: 1 };
  const timeouts = { timeout: connectTimeoutMs, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const connect = buildConnector({ ...(tls as buildConnector.BuildOptions | undefined), ...timeouts, allowH2: false });
  // undici's timeouts measure idleness only. The call's own deadline is the one that counts.
  const common = { ...http1, connections, connect: holdSessions(connect), headersTimeout: 0, bodyTimeout: 0 };
  const factory = readClients(Client);
  const idle = { keepAliveTimeout: writesIdleMs, keepAliveMaxTimeout: writesIdleMs };
  const openReads = () => openPools((origin) => new Pool(origin, { ...common, factory }));
  const openWrites = () => openPools((origin) => new Pool(origin, { ...common, ...idle }));
  let reads = openReads();
  let writes = openWrites();
  let wroteAtMs = 0;
  let closed: Promise<unknown> | undefined;
  return {
    get reads() {
      return reads;
    },
    dispatch(options, handler) {
      if (options.method === "GET") return reads.dispatch(options, handler);
      // undici's timer is late in a process that was stopped, as between two events of AWS Lambda.
      const nowMs = Date.now();
      if (Math.abs(nowMs - wroteAtMs) >= writesIdleMs) {
        void writes.close();
        writes = openWrites();
      }
      wroteAtMs = nowMs;
      return writes.dispatch(options, handler);
    },
    replace(seen) {
      if (reads !== seen) return;
      void reads.close();
      reads = openReads();
    },
    close() {
      closed ??= Promise.all([reads.close(), writes.close()]);
      return closed;
    },
  };
}

/** undici's `Agent` closes a pool while a request waits in it, and then opens a connection for each request. */
function openPools(open: (origin: string) => Pool): Pools {
  const pools = new Map<string, Pool>();
  return {
    dispatch(options, handler) {
      const origin = String(options.origin);
      const pool = pools.get(origin) ?? open(origin);
      pools.set(origin, pool);
      return pool.dispatch(options, handler);
    },
    close: () => Promise.all(Array.from(pools.values(), (pool) => pool.close())),
  };
}

/** `headersTimeout` of a read limits it on a used connection only, since a NAT may have dropped that one silently. */
function readClients(Base: typeof Client) {
  class ReadClient extends Base {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      return super.dispatch(this.stats.connected ? options : { ...options, headersTimeout: 0 }, handler);
    }
  }
  return (origin: URL, options: object) => new ReadClient(origin, options);
}

/** undici refers to TLS sessions weakly, so the first handshake after a garbage collection would be a full one. */
function holdSessions(connect: buildConnector.connector): buildConnector.connector {
  const sessions = new Map<string | undefined, Uint8Array>();
  return (options, callback) =>
    connect(options, (...result) => {
      result[1]?.on("session", (session: Uint8Array) => void sessions.set(options.host, session));
      callback(...result);
    });
}
