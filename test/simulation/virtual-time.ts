import { AsyncLocalStorage } from "node:async_hooks";
import { setClock, type Timer } from "../../src/core/clock.js";

/** A process of the simulation. What it starts, and what follows from that, sees its clocks, and ends with it. */
export interface Host {
  readonly name: string;
  isDead: boolean;
  /** Nothing happens in it before then. */
  stalledUntilMs: number;
  /** How far its wall clock is ahead of the true time. */
  wallAheadMs: number;
}

interface Due {
  readonly atMs: number;
  readonly host: Host | undefined;
  readonly work: () => void;
}

/** 2026, as every clock of the simulation begins. */
export const epochMs = 1_780_000_000_000;

/** Events in the order of their times. Between two of them, everything runs that needs no time. */
export class VirtualTime {
  /** The true time since the simulation began. */
  nowMs = 0;
  readonly #dues: Due[] = [];
  readonly #held: Promise<unknown>[] = [];
  readonly #current = new AsyncLocalStorage<Host | undefined>();

  /** Makes this the clock of all flows and clients until `work` has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    setClock({
      wallMs: () => epochMs + this.nowMs + (this.#current.getStore()?.wallAheadMs ?? 0),
      monotonicMs: () => this.nowMs,
      setTimer: (go, ms) => this.at(this.nowMs + ms, this.#current.getStore(), go),
      clearTimer: (timer) => this.#cancel(timer),
      unrefTimer: () => {},
    });
    try {
      return await work();
    } finally {
      setClock(undefined);
    }
  }

  /** Does something then, unless the process is dead by then. */
  at(atMs: number, host: Host | undefined, work: () => void): Timer {
    const due: Due = { atMs: Math.max(atMs, this.nowMs), host, work };
    const later = this.#dues.findIndex((one) => one.atMs > due.atMs);
    this.#dues.splice(later < 0 ? this.#dues.length : later, 0, due);
    return due;
  }

  /** Starts something in a process. */
  within<T>(host: Host | undefined, work: () => T): T {
    return this.#current.run(host, work);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(this.nowMs + ms, undefined, resolve));
  }

  /** Runs until `isOver`, or until then. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    await this.#settle();
    while (!isOver()) {
      const [due] = this.#dues;
      if (due === undefined || due.atMs > untilMs) {
        this.nowMs = untilMs;
        return;
      }
      this.#dues.shift();
      const { host, work } = due;
      if (host?.isDead) continue;
      if (host !== undefined && host.stalledUntilMs > due.atMs) {
        this.at(host.stalledUntilMs, host, work);
        continue;
      }
      this.nowMs = due.atMs;
      this.within(host, work);
      await this.#settle();
    }
  }

  /** Waits for something that takes real time, such as the loading of a file, before time goes on. */
  hold(work: Promise<unknown>): void {
    this.#held.push(work);
  }

  /** Everything is done that waits for nothing but other code. */
  async #settle(): Promise<void> {
    if (this.#held.length > 0) await Promise.all(this.#held.splice(0));
    await turn();
  }

  #cancel(timer: Timer): void {
    const index = this.#dues.indexOf(timer as Due);
    if (index >= 0) this.#dues.splice(index, 1);
  }
}

/** A turn of the event loop: whatever waits for nothing but other code is done then. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
