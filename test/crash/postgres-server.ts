import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";

/** A process of the server that serves one connection. */
export interface Backend {
  readonly pid: number;
  readonly isActive: boolean;
}

/** A PostgreSQL server that belongs to the test: its processes may be stopped, and the whole of it killed. */
export class PostgresServer implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #halted = new Set<number>();

  private constructor(folder: string, url: string) {
    this.#folder = folder;
    this.url = url;
  }

  static async start(): Promise<PostgresServer> {
    // Directly under /tmp: the server's socket needs a short path.
    const folder = `/tmp/cbp-crash-${randomUUID().slice(0, 8)}`;
    return new PostgresServer(folder, (await script("start", folder)).trim());
  }

  /** The back ends of a worker's connections, the one that was busy last first: it is the one that `pg` uses next. */
  async backends(application: string): Promise<readonly Backend[]> {
    const rows = await this.#ask(
      `SELECT pid, state <> 'idle' AS "isActive" FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name LIKE $1 || '%'
       ORDER BY state_change DESC NULLS LAST`,
      [application],
    );
    return rows as Backend[];
  }

  /** Stops a back end, wherever it is. False where it is gone. */
  async halt({ pid }: Pick<Backend, "pid">): Promise<boolean> {
    if (!(await isPostgres(pid)) || !signal(pid, "SIGSTOP")) return false;
    this.#halted.add(pid);
    return true;
  }

  /** Lets a back end go on: what it was sent meanwhile, it does now. */
  async resume({ pid }: Pick<Backend, "pid">): Promise<void> {
    if (this.#halted.delete(pid) && (await isPostgres(pid))) signal(pid, "SIGCONT");
  }

  /** The server is gone at once, as when its machine's power fails (`KILL`) or in an immediate shutdown (`QUIT`), and comes back. */
  async crash(how: "KILL" | "QUIT"): Promise<void> {
    const lock = await readFile(`${this.#folder}/data/postmaster.pid`, "utf8");
    const postmaster = Number(lock.split("\n")[0]);
    await script("signal", this.#folder, how);
    for (const pid of this.#halted) await this.resume({ pid });
    while (await isPostgres(postmaster)) await pause(20);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await script("restart", this.#folder);
        return;
      } catch (error) {
        // The last of its back ends may not have noticed yet, and hold its shared memory.
        if (attempt === 50) throw error;
        await pause(100);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.#halted) await this.resume({ pid });
    await script("stop", this.#folder);
  }

  async #ask(text: string, values: unknown[]): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: this.url, application_name: "the test" });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }
}

const run = promisify(execFile);

/** The service and the bank run in this process, and must not stand still while a server starts. */
async function script(...given: readonly string[]): Promise<string> {
  const path = fileURLToPath(new URL("../support/postgres.sh", import.meta.url));
  return (await run("bash", [path, ...given])).stdout;
}

/** False where the process has ended since it was found. */
function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (Reflect.get(Object(error), "code") !== "ESRCH") throw error;
    return false;
  }
}

/** A pid may belong to somebody else by now, who must not be stopped. */
async function isPostgres(pid: number): Promise<boolean> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).includes("postgres");
  } catch {
    return false;
  }
}
