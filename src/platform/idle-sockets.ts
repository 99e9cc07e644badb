/** What is needed of a socket. */
export interface IdleSocket {
  ref(): unknown;
  unref(): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** A moment by the clock that nobody sets, which may stand still while the machine is suspended, and by the one that goes on. */
interface Moment {
  readonly steadyMs: number;
  readonly wallMs: number;
}

/**
 * The connections of an agent that are idle. undici lets go of a socket by `unref` when it has no request left for it, and takes
 * hold of it by `ref` with the next one. With an undici that did neither, no connection would count as idle.
 */
export class IdleSockets {
  /** Since when, in the order in which they became idle. */
  readonly #since = new Map<IdleSocket, Moment>();

  watch(socket: IdleSocket): void {
    const { ref, unref } = socket;
    socket.unref = () => {
      this.#since.set(socket, now());
      return unref.call(socket);
    };
    socket.ref = () => {
      this.#since.delete(socket);
      return ref.call(socket);
    };
    socket.once("close", () => this.#since.delete(socket));
  }

  /** Measured here and now: a timer is late where the event loop was blocked, or the process stopped. */
  destroyIdleFor(leastMs: number): void {
    const end = now();
    for (const [socket, since] of this.#since) {
      if (elapsedMs(since, end) < leastMs) return;
      this.#since.delete(socket);
      socket.destroy();
    }
  }
}

function now(): Moment {
  return { steadyMs: performance.now(), wallMs: Date.now() };
}

/** The longer one counts: a wall clock that was set costs a handshake, no more. */
function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.steadyMs - from.steadyMs, Math.abs(to.wallMs - from.wallMs));
}
