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
  /** `application_name` of the connection. */
  readonly application: string;
  readonly isActive: boolean;
}

/** A PostgreSQL server that belongs to the test: its processes may be stopped, and the whole of it killed. */
export class PostgresServer implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #halted = new Set<number>();

  private constructor(folder: string, url: string, environment: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.url = url;
    this.#environment = environment;
  }

  /** @param environment of the server's own processes, for a clock that can be set. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const folder = newFolder();
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const all = { ...process.env, CBP_POSTGRES_ENV: variables.join(" ") };
    return new PostgresServer(folder, (await script(all, "start", folder)).trim(), all);
  }

  /** Another server, which follows this one. */
  async standby(): Promise<PostgresServer> {
    const folder = newFolder();
    const url = (await script(this.#environment, "standby", folder, this.#folder)).trim();
    return new PostgresServer(folder, url, this.#environment);
  }

  /** From now on this standby lags behind by so much. */
  async lagBehind(ms: number): Promise<void> {
    await this.#configure(`recovery_min_apply_delay = ${ms}`);
  }

  /** From now on this standby lags behind, by everything that its server does. */
  async detach(): Promise<void> {
    await this.#configure("primary_conninfo = ''");
    while ((await this.#ask("SELECT 1 FROM pg_stat_wal_receiver", [])).length > 0) await pause(5);
  }

  async #configure(setting: string): Promise<void> {
    await this.#ask(`ALTER SYSTEM SET ${setting}`, []);
    await this.#ask("SELECT pg_reload_conf()", []);
  }

  /** A standby accepts writes from now on. */
  async promote(): Promise<void> {
    await script(this.#environment, "promote", this.#folder);
  }

  /** The server is gone at once, and does not come back. */
  async kill(): Promise<void> {
    const pid = await this.#postmaster();
    await script(this.#environment, "signal", this.#folder, "KILL");
    for (const halted of this.#halted) await this.resume({ pid: halted });
    while (await isPostgres(pid)) await pause(5);
  }

  /** The back ends of a worker's connections, the one that was busy last first: it is the one that `pg` uses next. */
  async backends(application = ""): Promise<readonly Backend[]> {
    const rows = await this.#ask(
      `SELECT pid, application_name AS application, state <> 'idle' AS "isActive" FROM pg_stat_activity
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

  /** Resolves when these back ends have done what they were sent and ended, as they do when their clients are gone. */
  async untilGone(backends: readonly Backend[]): Promise<void> {
    const pids = backends.map(({ pid }) => pid);
    for (;;) {
      const present = await this.#ask("SELECT 1 FROM pg_stat_activity WHERE pid = ANY ($1)", [pids]);
      if (present.length === 0) return;
      await pause(20);
    }
  }

  /** The server is gone at once, as when its machine's power fails (`KILL`) or in an immediate shutdown (`QUIT`), and comes back. */
  async crash(how: "KILL" | "QUIT"): Promise<void> {
    const postmaster = await this.#postmaster();
    await script(this.#environment, "signal", this.#folder, how);
    for (const pid of this.#halted) await this.resume({ pid });
    while (await isPostgres(postmaster)) await pause(20);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await script(this.#environment, "restart", this.#folder);
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
    await script(this.#environment, "stop", this.#folder);
  }

  async #postmaster(): Promise<number> {
    return Number((await readFile(`${this.#folder}/data/postmaster.pid`, "utf8")).split("\n")[0]);
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

/** Directly under /tmp: the server's socket needs a short path. */
function newFolder(): string {
  return `/tmp/cbp-crash-${randomUUID().slice(0, 8)}`;
}

const run = promisify(execFile);

/** The service and the bank run in this process, and must not stand still while a server starts. */
async function script(env: NodeJS.ProcessEnv, ...given: readonly string[]): Promise<string> {
  const path = fileURLToPath(new URL("../support/postgres.sh", import.meta.url));
  return (await run("bash", [path, ...given], { env })).stdout;
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
