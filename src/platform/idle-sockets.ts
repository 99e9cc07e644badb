export interface IdleSocket {
  readonly bytesWritten: number;
  ref(): unknown;
  unref(): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** A moment by the clock that nobody sets, which may stand still while the machine is suspended, and by the one that goes on. */
interface Moment {
  steadyMs: number;
  wallMs: number;
}

interface Watched {
  readonly socket: IdleSocket;
  /** Since when it is idle, or was when it was taken for a request, until that is known to have been written. */
  since: Moment | undefined;
  /** What had been written when it was taken; `undefined` while it is idle. */
  writtenBefore: number | undefined;
}

/**
 * The connections of an agent that are idle. undici lets go of a socket by `unref` when it has no request left for it, and takes
 * hold of it by `ref` with the next one. With an undici that did neither, no connection would count as idle.
 */
export class IdleSockets {
  readonly #watched = new Set<Watched>();
  /** None has been idle since before this, by either clock. As long as it is fresh, none has to be looked at. */
  #earliest = now();

  watch(socket: IdleSocket): void {
    const { ref, unref } = socket;
    const watched: Watched = { socket, since: undefined, writtenBefore: undefined };
    this.#watched.add(watched);
    socket.unref = () => {
      watched.since = now();
      watched.writtenBefore = undefined;
      // By a clock that was set back meanwhile.
      this.#earliest.wallMs = Math.min(this.#earliest.wallMs, watched.since.wallMs);
      return unref.call(socket);
    };
    socket.ref = () => {
      watched.writtenBefore ??= socket.bytesWritten;
      return ref.call(socket);
    };
    socket.once("close", () => this.#watched.delete(watched));
  }

  /** Measured here and now: a timer is late where the event loop was blocked, or the process stopped. */
  destroyIdleFor(leastMs: number): void {
    this.#destroy(false, leastMs);
  }

  /**
   * The same for those that were taken while they were fresh, and that nothing has been written to: undici writes in a later turn of the
   * event loop, which may come late.
   *
   * @returns whether there was one.
   */
  destroyTakenAfter(leastMs: number): boolean {
    return this.#destroy(true, leastMs);
  }

  #destroy(taken: boolean, leastMs: number): boolean {
    const end = now();
    if (elapsedMs(this.#earliest, end) < leastMs) return false;
    const earliest = { ...end };
    let isAny = false;
    for (const watched of this.#watched) {
      const { socket, since, writtenBefore } = watched;
      if (since === undefined) continue;
      const isTaken = writtenBefore !== undefined;
      if (isTaken && socket.bytesWritten !== writtenBefore) {
        watched.since = undefined;
      } else if (isTaken === taken && elapsedMs(since, end) >= leastMs) {
        watched.since = undefined;
        socket.destroy();
        isAny = true;
      } else {
        earliest.steadyMs = Math.min(earliest.steadyMs, since.steadyMs);
        earliest.wallMs = Math.min(earliest.wallMs, since.wallMs);
      }
    }
    this.#earliest = earliest;
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
