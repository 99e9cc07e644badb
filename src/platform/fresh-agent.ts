import type { buildConnector, Dispatcher } from "undici";
import { IdleSockets } from "./idle-sockets.js";

/** What the transport needs of an agent, and what the agent needs of undici's pools. */
export interface OpenedAgent {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  close(): Promise<void>;
}

export type OpenPool = (origin: string, connect: buildConnector.connector) => OpenedAgent;

/**
 * Pools of undici's, one for each origin, that send nothing but reads on a connection that was idle for long. Servers and proxies
 * close idle connections, and what is written at that moment is lost: a read is repeated, a payment can't be.
 *
 * undici's own `Agent` is of no help: it closes a pool whose last connection is gone, with its requests under way, and undici 7
 * then counts those for the pool that comes next. From the first connection that is closed here, each request would open another.
 */
export class FreshAgent implements OpenedAgent {
  readonly #pools = new Map<string, OpenedAgent>();
  readonly #idle = new IdleSockets();
  readonly #openPool: (origin: string) => OpenedAgent;
  #closed: Promise<void> | undefined;

  constructor(openPool: OpenPool, connect: buildConnector.connector) {
    const watched = this.#watched(connect);
    this.#openPool = (origin) => openPool(origin, watched);
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (options.method !== "GET") this.#idle.destroyIdleFor(mostIdleMs);
    return this.#poolOf(String(options.origin)).dispatch(options, handler);
  }

  /**
   * To be asked right before anything is written: between `dispatch` and that, the process may have been stopped, or its event loop blocked.
   *
   * @returns true when the request must not be written, since its connection has been idle for long by now. It was closed.
   */
  isTooLate(method: string): boolean {
    return method !== "GET" && this.#idle.destroyTakenAfter(mostIdleMs);
  }

  /** Once: a pool that is closed already refuses. */
  close(): Promise<void> {
    this.#closed ??= Promise.all([...this.#pools.values()].map((pool) => pool.close())).then(() => {});
    return this.#closed;
  }

  #poolOf(origin: string): OpenedAgent {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const pool = this.#openPool(origin);
    this.#pools.set(origin, pool);
    // It then refuses what is dispatched, as the others do.
    if (this.#closed !== undefined) void pool.close();
    return pool;
  }

  #watched(connect: buildConnector.connector): buildConnector.connector {
    // undici holds sessions weakly: without this, the next handshake after a garbage collection would be a full one.
    const sessions = new Map<string | undefined, Uint8Array>();
    return (options, callback) =>
      connect(options, (...result) => {
        const [, socket] = result;
        if (socket) {
          this.#idle.watch(socket);
          socket.on("session", (session: Uint8Array) => void sessions.set(options.host, session));
        }
        callback(...result);
      });
  }
}

/** Few servers close a connection sooner. A new one costs a handshake, which resumes the TLS session. */
const mostIdleMs = 500;
