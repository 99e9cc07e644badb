import type { Trouble } from "./worker-messages.js";

/** The points at which a worker can be killed or stopped, or its disk made to fail. */
export class CrashPoints {
  readonly #troubles = new Map<string, { readonly trouble: Trouble; hits: number }>();
  readonly #diskFails: () => boolean;
  readonly #onContinued: (trouble: Trouble) => void;

  /** @param onContinued called when the process goes on after a stop. */
  constructor(diskFails: () => boolean, onContinued: (trouble: Trouble) => void) {
    this.#diskFails = diskFails;
    this.#onContinued = onContinued;
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
    const known = this.#troubles.get(`${point} ${key}`);
    if (known === undefined) return;
    const { trouble } = known;
    known.hits += 1;
    if (known.hits < trouble.nth || known.hits >= trouble.nth + (trouble.times ?? 1)) return;
    if (trouble.act === "kill") die();
    if (trouble.act !== "stop") throw diskError(trouble.act);
    stop();
    this.#onContinued(trouble);
  }

  /** As `pass`, at a point where the disk may fail. */
  passDisk(point: string, key: string): void {
    this.pass(point, key);
    if (this.#diskFails()) throw diskError("EIO");
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
