import type { Trouble } from "./worker-messages.js";

/** What the test is told of. */
export interface CrashPointListeners {
  /** Called when the process goes on after a stop. */
  readonly onContinued: (trouble: Trouble) => void;
  /** Called when something waits at a point until `goOn`. */
  readonly onWaiting: (trouble: Trouble) => void;
  /** Called when the disk fails. */
  readonly onDiskFault: (point: string, key: string) => void;
}

/** The points at which a worker can be killed, stopped or made to wait, or its disk made to fail. */
export class CrashPoints {
  readonly #troubles = new Map<string, { readonly trouble: Trouble; hits: number }>();
  readonly #waiting = new Map<string, () => void>();
  readonly #diskFails: () => boolean;
  readonly #listeners: CrashPointListeners;

  constructor(diskFails: () => boolean, listeners: CrashPointListeners) {
    this.#diskFails = diskFails;
    this.#listeners = listeners;
  }

  expect(trouble: Trouble): void {
    this.#troubles.set(`${trouble.point} ${trouble.key}`, { trouble, hits: 0 });
  }

  /** Whether something is to happen at this point. */
  isAt(point: string, key: string): boolean {
    return this.#troubles.has(`${point} ${key}`);
  }

  /** Returns only if nothing happens here, or the process was stopped and goes on. */
  pass(point: string, key: string): void {
    const trouble = this.#hit(point, key, (act) => act !== "wait");
    if (trouble === undefined) return;
    if (trouble.act === "kill") die();
    if (trouble.act === "EIO" || trouble.act === "ENOSPC") throw diskError(trouble.act);
    stop();
    this.#listeners.onContinued(trouble);
  }

  /** As `pass`, at a point where the disk may fail. */
  passDisk(point: string, key: string): void {
    this.pass(point, key);
    if (!this.#diskFails()) return;
    this.#listeners.onDiskFault(point, key);
    throw diskError("EIO");
  }

  /** Resolves at once, unless the test wants to do something first. The process goes on meanwhile. */
  async wait(point: string, key: string): Promise<void> {
    const trouble = this.#hit(point, key, (act) => act === "wait");
    if (trouble === undefined) return;
    await new Promise<void>((resolve) => {
      this.#waiting.set(`${point} ${key}`, resolve);
      this.#listeners.onWaiting(trouble);
    });
  }

  /** Ends a wait. */
  goOn({ point, key }: Pick<Trouble, "point" | "key">): void {
    this.#waiting.get(`${point} ${key}`)?.();
    this.#waiting.delete(`${point} ${key}`);
  }

  #hit(point: string, key: string, isMeant: (act: Trouble["act"]) => boolean): Trouble | undefined {
    const known = this.#troubles.get(`${point} ${key}`);
    if (known === undefined || !isMeant(known.trouble.act)) return undefined;
    const { trouble } = known;
    known.hits += 1;
    return known.hits < trouble.nth || known.hits >= trouble.nth + (trouble.times ?? 1) ? undefined : trouble;
  }
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("killed");
}

/** The signal may take effect a moment later: until then nothing else may happen. */
function stop(): void {
  process.kill(process.pid, "SIGSTOP");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

function diskError(code: "EIO" | "ENOSPC"): Error {
  const message = code === "EIO" ? "EIO: i/o error, write" : "ENOSPC: no space left on device, write";
  return Object.assign(new Error(message), { code });
}
