import type { buildConnector, Dispatcher, Pool } from "undici";
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
  /** It calls `onRequestStart` before it writes. */
  readonly showsStart: true;
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
  load: () => Promise<Pick<typeof import("undici"), "Pool" | "buildConnector">> = loadUndici,
): Promise<UndiciAgent> {
  const { Pool, buildConnector } = await load();
  const connect = buildConnector({
    ...(tls as buildConnector.BuildOptions | undefined),
    timeout: connectTimeoutMs,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    allowH2: false,
  });
  const options = {
    // HTTP/2 repeats a refused stream on its own, even if it is a payment.
    allowH2: false,
    pipelining: 1,
    connections,
    connect: holdSessions(connect),
    // They measure idleness only. The call's own deadline is the one that counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const short = { ...options, keepAliveTimeout: writesIdleMs, keepAliveMaxTimeout: writesIdleMs };
  let reads = openPools(Pool, options);
  let writes = openPools(Pool, short);
  let wroteAtMs = 0;
  return {
    showsStart: true,
    get reads() {
      return reads;
    },
    dispatch(request, handler) {
      if (request.method === "GET") return reads.dispatch(request, handler);
      // undici's timer is late in a process that was stopped, as between two events of AWS Lambda.
      const nowMs = Date.now();
      if (Math.abs(nowMs - wroteAtMs) >= writesIdleMs) {
        void writes.close();
        writes = openPools(Pool, short);
      }
      wroteAtMs = nowMs;
      return writes.dispatch(request, handler);
    },
    replace(seen) {
      if (reads !== seen) return;
      void reads.close();
      reads = openPools(Pool, options);
    },
    close: () => Promise.all([reads.close(), writes.close()]),
  };
}

/** undici's `Agent` closes a pool while a request waits in it, and then opens a connection for each request. */
function openPools(Opened: typeof Pool, options: Pool.Options): Pools {
  const pools = new Map<string, Pool>();
  return {
    dispatch(request, handler) {
      const origin = String(request.origin);
      const pool = pools.get(origin) ?? new Opened(origin, options);
      pools.set(origin, pool);
      return pool.dispatch(request, handler);
    },
    close: () => Promise.all(Array.from(pools.values(), (pool) => pool.close())),
  };
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
