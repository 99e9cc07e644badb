import type { buildConnector, Client, Dispatcher, Pool } from "undici";
import { loaded } from "../core/libraries.js";
import type { TlsMaterial } from "./tls-material.js";

export type { Dispatcher } from "undici";

export interface AgentOptions {
  /** The most sockets to one origin, for reads and for writes each. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly tls?: TlsMaterial | undefined;
}

type Undici = typeof import("undici");

export type UndiciParts = Pick<Undici, "Client" | "Pool" | "buildConnector">;

/** Node's 250 ms for each address of a host are too few for a slow link. This is enough for a SYN that is sent twice. */
export const addressTimeoutMs = 2500;

/** Few servers close a connection sooner. */
const writesIdleMs = 500;

type Pools = Map<string, Pool>;

/** The connections of a client. */
export interface UndiciAgent {
  /** The pools that reads go by. */
  readonly reads: Pools;
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  /** Later reads go out on new connections; those in flight go on. Does nothing if `reads` has been replaced already. */
  replace(reads: Pools): void;
  close(): Promise<void>;
}

/** Apart from the other libraries, since bundlers for pages resolve whatever a file imports, used or not. */
export function loadUndici(): Promise<Undici> {
  // Bun replaces the bare name with a module of its own, which has no pools.
  const loading = process.versions.bun === undefined ? import("undici") : import("undici/index.js");
  return loaded("undici", loading.then(assertWhole));
}

/** In a bundle without a `require`, undici throws when it's loaded first, and is empty from then on. */
function assertWhole(undici: Partial<Undici>): Undici {
  if (undici.Pool === undefined) throw new Error("there is no require");
  return undici as Undici;
}

/**
 * Opens the connections of a client: for each origin, a pool for reads and a pool for writes.
 *
 * Servers and proxies close idle connections, and what is written at that moment is lost. A read is repeated, a payment can't
 * be: writes never go out on a connection that was idle for long.
 */
export async function openAgent(
  { connections, connectTimeoutMs, tls }: AgentOptions,
  load: () => Promise<UndiciParts> = loadUndici,
): Promise<UndiciAgent> {
  const { Client, Pool, buildConnector } = await load();
  const common = {
    connect: heldSessions(
      buildConnector({
        ...(tls as buildConnector.BuildOptions | undefined),
        // HTTP/2 repeats a refused stream on its own, even if it is a payment.
        allowH2: false,
        timeout: connectTimeoutMs,
        autoSelectFamilyAttemptTimeout: addressTimeoutMs,
      }),
    ),
    allowH2: false,
    pipelining: 1,
    connections,
    // They measure idleness only; the call's own deadline is the one that counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const factory = readClients(Client);
  const openReads = (origin: string) => new Pool(origin, { ...common, factory });
  const openWrites = (origin: string) =>
    new Pool(origin, { ...common, keepAliveTimeout: writesIdleMs, keepAliveMaxTimeout: writesIdleMs });
  let writes: Pools = new Map();
  let wroteAtMs = 0;
  let reads: Pools = new Map();
  let closed: Promise<void> | undefined;
  const poolOf = (pools: Pools, origin: string, open: (origin: string) => Pool): Pool => {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    const pool = open(origin);
    pools.set(origin, pool);
    // It then refuses what is dispatched, as the others do.
    if (closed !== undefined) void pool.close();
    return pool;
  };
  return {
    get reads() {
      return reads;
    },
    dispatch(options, handler) {
      const origin = String(options.origin);
      if (options.method === "GET") return poolOf(reads, origin, openReads).dispatch(options, handler);
      // undici's timer is late in a process that was stopped, as between two events of AWS Lambda.
      const nowMs = Date.now();
      if (Math.abs(nowMs - wroteAtMs) >= writesIdleMs && closed === undefined) {
        closeAll(writes);
        writes = new Map();
      }
      wroteAtMs = nowMs;
      return poolOf(writes, origin, openWrites).dispatch(options, handler);
    },
    replace(seen) {
      if (reads !== seen || closed !== undefined) return;
      reads = new Map();
      closeAll(seen);
    },
    close() {
      closed ??= Promise.all([closeAll(reads), closeAll(writes)]).then(() => {});
      return closed;
    },
  };
}

/** Lets what is in flight finish. */
function closeAll(pools: Pools): Promise<unknown> {
  return Promise.all([...pools.values()].map((pool) => pool.close()));
}

/** `headersTimeout` of a read limits it on a used connection only: a NAT may have dropped that one without a word. */
function readClients(Base: typeof Client) {
  class ReadClient extends Base {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      return super.dispatch(this.stats.connected ? options : { ...options, headersTimeout: 0 }, handler);
    }
  }
  return (origin: URL, options: object) => new ReadClient(origin, options);
}

/** undici refers to TLS sessions weakly: the first handshake after a garbage collection would be a full one. */
function heldSessions(connect: buildConnector.connector): buildConnector.connector {
  const sessions = new Map<string | undefined, Uint8Array>();
  return (options, callback) =>
    connect(options, (...result) => {
      result[1]?.on("session", (session: Uint8Array) => void sessions.set(options.host, session));
      callback(...result);
    });
}
