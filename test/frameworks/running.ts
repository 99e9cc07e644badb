import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { expect, onTestFinished } from "vitest";
import { postgresTables } from "../../examples/ledger-sql/postgres-ledger.js";
import { startPracticeService } from "../../examples/support/practice-service.js";
import { databaseInTest } from "../support/database.js";
import { environmentOf } from "../support/environment.js";
import { until } from "../support/eventually.js";
import { freePort } from "../support/free-port.mjs";
import { project, tools } from "./install.js";
import { staffSettings } from "./operator.js";

type SandboxOptions = NonNullable<Parameters<typeof startPracticeService>[0]>;

const next = [join(tools, "node_modules/next/dist/bin/next")];
const built = join(project, "frameworks/dist/frameworks");

/** How a process of each is started, to listen on a port. */
export const frameworks: Readonly<Record<string, (port: number) => readonly string[]>> = {
  Express: () => [join(built, "express/server.js")],
  Hono: () => [join(built, "hono/server.js")],
  NestJS: () => [join(built, "nest/main.js")],
  Next: (port) => [...next, "start", "--port", String(port), join(project, "frameworks/next")],
};

/** As its users do: by the compiler, and by `next build`. */
export async function buildAll(): Promise<void> {
  const run = promisify(execFile);
  const env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };
  const options = { cwd: project, env };
  const failed = (error: { stdout?: string; stderr?: string }) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  };
  await Promise.all([
    run(process.execPath, [join(tools, "node_modules/typescript/bin/tsc"), "-p", "frameworks"], options).catch(failed),
    run(process.execPath, [...next, "build", "frameworks/next"], options).catch(failed),
  ]);
}

/** A service, and a database of its own for the back end's processes, until the test ends. Ada Sender has 1000 EUR. */
export async function startBackEnd(sandbox: SandboxOptions = {}) {
  const practice = await startPracticeService(sandbox);
  onTestFinished(() => practice.server.close());
  const folder = await mkdtemp(join(tmpdir(), "cbp-frameworks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const signingKey = join(folder, "key.pem");
  await writeFile(signingKey, practice.keys.privateKey, { mode: 0o600 });
  const url = await databaseInTest("frameworks");
  const database = new Client({ connectionString: url });
  await database.connect();
  onTestFinished(() => database.end());
  await database.query(postgresTables);
  await database.query("insert into accounts values ('DE-0001', 'EUR', 1000)");
  const settings = {
    ...environmentOf(practice.server.clientOptions),
    ...{ CROSS_BORDER_SIGNING_KEY: signingKey, DATABASE_URL: url, GATEWAY_ID: "alpha-bank" },
    ...{ LEASE_MS: "1000", READ_BACK_DELAY_MS: "50", CLOSE_MS: "2000" },
    ...staffSettings("olga", "petra"),
  };
  return {
    practice,
    /** Starts a process of it, which is ready when it says that it can pay. */
    async process(framework: string): Promise<Running> {
      const port = await freePort();
      const next = { NEXT_TELEMETRY_DISABLED: "1", NEXT_MANUAL_SIG_HANDLE: "true" };
      const child = spawn(process.execPath, frameworks[framework]?.(port) ?? [], {
        cwd: project,
        env: { PATH: process.env.PATH, NODE_ENV: "production", ...next, PORT: String(port), ...settings },
        stdio: ["ignore", "pipe", "pipe"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const running = new Running(child, `http://127.0.0.1:${port}`);
      await until(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return true;
        const response = await fetch(`${running.url}/health`).catch(() => undefined);
        running.health = await response?.text();
        return response?.status === 200;
      }).catch((error: unknown) => {
        throw new Error(`${framework} is not ready: ${running.health}\n${running.output}`, { cause: error });
      });
      expect(child.exitCode ?? child.signalCode, running.output).toBeNull();
      return running;
    },
    async balance(): Promise<string> {
      const { rows } = await database.query<{ balance: string }>("select balance::text from accounts");
      return rows[0]?.balance ?? "none";
    },
  };
}

/** A process of a back end. */
export class Running {
  readonly url: string;
  readonly #child: ChildProcess;
  /** What it has written. */
  output = "";
  /** What its probe has said last. */
  health: string | undefined;

  constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (text) => {
        this.output += text;
      });
    }
  }

  /** @param body is sent as it is where it is a text. */
  async request(method: string, path: string, body?: object | string, signal?: AbortSignal) {
    const response = await fetch(this.url + path, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
      ...(signal && { signal }),
    });
    const type = response.headers.get("content-type") ?? "";
    return { status: response.status, type, body: (await response.json()) as Record<string, unknown> };
  }

  /** @returns its exit code, or the signal that killed it. */
  async terminate(): Promise<unknown> {
    // With all of its output.
    const exit = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    const [code, signal] = await exit;
    return code ?? signal;
  }
}
