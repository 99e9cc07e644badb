import { writeSync } from "node:fs";
import type { Trouble } from "./worker-messages.js";

/** The points at which a worker can be killed or stopped, or its disk made to fail. */
export class CrashPoints {
  readonly #troubles = new Map<string, Trouble["act"]>();
  readonly #diskFails: () => boolean;

  constructor(diskFails: () => boolean) {
    this.#diskFails = diskFails;
  }

  expect({ point, key, act }: Trouble): void {
    this.#troubles.set(`${point} ${key}`, act);
  }

  /** Whether something is to happen at this point. */
  isAt(point: string, key: string): boolean {
    return this.#troubles.has(`${point} ${key}`);
  }

  /** Returns only if nothing happens here, or the process was stopped and was continued. */
  pass(point: string, key: string): void {
    const act = this.#troubles.get(`${point} ${key}`);
    if (act === undefined) return;
    this.#troubles.delete(`${point} ${key}`);
    // A message would be lost with the process.
    writeSync(2, `at ${point}\n`);
    if (act === "kill") {
      process.kill(process.pid, "SIGKILL");
      throw new Error("killed");
    }
    process.kill(process.pid, "SIGSTOP");
    // The signal may take effect a moment later. Until then nothing else may happen.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }

  /** As `pass`, at a point where the disk may fail. */
  passDisk(point: string, key: string): void {
    this.pass(point, key);
    if (this.#diskFails()) throw Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" });
  }
}
