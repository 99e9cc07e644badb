import type { Trouble } from "./worker-messages.js";

/** The points at which a worker can be killed, or its disk made to fail. */
export class CrashPoints {
  readonly #troubles = new Map<string, { readonly trouble: Trouble; hits: number }>();
  readonly #diskFails: () => boolean;

  constructor(troubles: readonly Trouble[], diskFails: () => boolean) {
    for (const trouble of troubles) this.#troubles.set(`${trouble.point} ${trouble.key}`, { trouble, hits: 0 });
    this.#diskFails = diskFails;
  }

  /** Whether something is to happen at this point. */
  isAt(point: string, key: string): boolean {
    return this.#troubles.has(`${point} ${key}`);
  }

  /** Returns only if nothing happens here. */
  pass(point: string, key: string): void {
    const known = this.#troubles.get(`${point} ${key}`);
    if (known === undefined) return;
    known.hits += 1;
    if (known.hits !== known.trouble.nth) return;
    if (known.trouble.act === "kill") die();
    throw diskError(known.trouble.act);
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

function diskError(code: "EIO" | "ENOSPC"): Error {
  const message = code === "EIO" ? "EIO: i/o error, write" : "ENOSPC: no space left on device, write";
  return Object.assign(new Error(message), { code });
}
