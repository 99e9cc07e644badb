export interface IdleSocket {
  readonly bytesWritten: number;
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

/** A connection that was taken for a request. */
interface Taken {
  /** Since when it had been idle. */
  readonly since: Moment;
  readonly bytesWritten: number;
}

/**
 * The connections of an agent that are idle. undici lets go of a socket by `unref` when it has no request left for it, and takes
 * hold of it by `ref` with the next one. With an undici that did neither, no connection would count as idle.
 */
export class IdleSockets {
  /** Since when, in the order in which they became idle. */
  readonly #since = new Map<IdleSocket, Moment>();
  readonly #taken = new Map<IdleSocket, Taken>();

  watch(socket: IdleSocket): void {
    const { ref, unref } = socket;
    socket.unref = () => {
      this.#since.set(socket, now());
      this.#taken.delete(socket);
      return unref.call(socket);
    };
    socket.ref = () => {
      const since = this.#since.get(socket);
      if (since !== undefined) this.#taken.set(socket, { since, bytesWritten: socket.bytesWritten });
      this.#since.delete(socket);
      return ref.call(socket);
    };
    socket.once("close", () => {
      this.#since.delete(socket);
      this.#taken.delete(socket);
    });
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

  /**
   * The same for those that were taken while they were fresh, and that nothing has been written to: undici writes in a later turn of the
   * event loop, which may come late.
   *
   * @returns whether there was one.
   */
  destroyTakenAfter(leastMs: number): boolean {
    const end = now();
    let isAny = false;
    for (const [socket, { since, bytesWritten }] of this.#taken) {
      if (elapsedMs(since, end) < leastMs) continue;
      this.#taken.delete(socket);
      // Asked last, and rarely: Node adds up what it has still to write.
      if (socket.bytesWritten !== bytesWritten) continue;
      socket.destroy();
      isAny = true;
    }
    return isAny;
  }
}

function now(): Moment {
  return { steadyMs: performance.now(), wallMs: Date.now() };
}

/** The longer one counts: a wall clock that was set costs a handshake, no more. */
function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.steadyMs - from.steadyMs, Math.abs(to.wallMs - from.wallMs));
}
