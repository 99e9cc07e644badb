import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The wall clock of a machine, which can be set. Time since the machine was started goes on as it does. By libfaketime. */
export class MachineClock implements AsyncDisposable {
  /** For the processes of this machine. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #folder: string;

  private constructor(folder: string, library: string) {
    this.#folder = folder;
    this.environment = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: join(folder, "offset"),
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  static async open(): Promise<MachineClock> {
    const folder = await mkdtemp(join(tmpdir(), "cbp-clock-"));
    // A database server has a user of its own.
    await chmod(folder, 0o755);
    const clock = new MachineClock(folder, faketimeLibrary());
    await clock.setBy(0);
    return clock;
  }

  /** From now on, it is ahead of the real time by so many milliseconds, or behind it. */
  async setBy(offsetMs: number): Promise<void> {
    const fresh = join(this.#folder, randomUUID());
    await writeFile(fresh, `${offsetMs < 0 ? "" : "+"}${offsetMs / 1000}\n`, { mode: 0o644 });
    await rename(fresh, join(this.#folder, "offset"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await removeLeftovers();
  }
}

/** The library leaves shared memory behind where a process was killed. */
async function removeLeftovers(): Promise<void> {
  const folder = "/dev/shm";
  for (const name of readdirSync(folder)) {
    const [, pid] = /faketime_(?:shm|sem)_(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rm(join(folder, name), { force: true });
  }
}

/** Installs Debian's package where there is none, if it may. */
function faketimeLibrary(): string {
  const found = findLibrary();
  if (found !== undefined) return found;
  const install = "{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y libfaketime; } >&2";
  execFileSync("bash", ["-c", install]);
  const installed = findLibrary();
  if (installed === undefined) throw new Error("no libfaketime here: install it");
  return installed;
}

function findLibrary(): string | undefined {
  const folders = readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"));
  return ["/usr/lib64", "/usr/local/lib", ...folders.map((name) => join("/usr/lib", name))]
    .map((folder) => join(folder, "faketime/libfaketimeMT.so.1"))
    .find(existsSync);
}
