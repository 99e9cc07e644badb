import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { compilePrograms } from "../support/build-programs.js";
import { databaseInTest, postgresUrl, sql } from "../support/database.js";
import { freePort } from "../support/free-port.mjs";
import { command } from "../support/program.js";

const skipped = postgresUrl === "" ? " (skipped: CBP_POSTGRES_URL is not set)" : "";

/** Saves the listings that name their file, and the ledger of the examples, as a reader does, and compiles what is started. */
async function saveListings(): Promise<string> {
  // Below the project, so that the package's own name leads to its sources.
  const folder = mkdtempSync(join("test", "back-end-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const blocks = readFileSync("docs/back-end.md", "utf8").matchAll(/^```ts\n\/\/ ([\w-]+\.ts)\n([\s\S]*?)^```/gm);
  for (const [, name = "", code = ""] of blocks) writeFileSync(join(folder, name), code);
  copyFileSync("examples/ledger-sql/postgres-ledger.ts", join(folder, "postgres-ledger.ts"));
  await compilePrograms([join(folder, "tables.ts"), join(folder, "start.ts")], folder);
  return folder;
}

describe.skipIf(postgresUrl === "")(`the back end of the guide${skipped}`, () => {
  it("pays, outlives its database's connections, and ends in order", async () => {
    const folder = await saveListings();
    const databaseUrl = await databaseInTest("back_end");
    const settings = join(folder, "service");
    const port = await freePort();
    const start = (...args: readonly string[]): ChildProcess => {
      const env = {
        ...process.env,
        DATABASE_URL: databaseUrl,
        CROSS_BORDER_CONFIG: join(settings, "alpha-bank.json"),
        PORT: String(port),
      };
      const child = spawn(process.execPath, args, { env, stdio: "ignore" });
      onTestFinished(() => void child.kill("SIGKILL"));
      return child;
    };
    async function request<T>(method: string, path: string, body?: object): Promise<T> {
      const response = await fetch(`http://127.0.0.1:${port}/orders/${path}`, {
        method,
        headers: body === undefined ? {} : { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      return (await response.json()) as T;
    }
    const pay = async (order: string) => {
      const { intentId } = await request<{ intentId: string }>("POST", `${order}/quote`);
      return request("POST", `${order}/confirm`, { intentId });
    };

    start(command, "sandbox", "--folder", settings);
    while (!existsSync(join(settings, "trusted-keys.json"))) await sleep(20);
    const main = (name: string) => join(folder, folder, name);
    expect(await once(start(main("tables.js")), "exit")).toEqual([0, null]);
    const backEnd = start(main("start.js"));
    await expect.poll(() => request("GET", "order-1").catch(String)).toEqual({ phase: "none" });
    expect(await pay("order-1")).toEqual({ status: "paid" });

    await sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      databaseUrl,
    );
    await expect.poll(() => pay("order-2").catch(String)).toEqual({ status: "paid" });
    expect(await request("GET", "order-2")).toEqual({ phase: "paid" });
    expect(await sql("select key, status from takings order by key", databaseUrl)).toEqual([
      { key: "order-1", status: "taken" },
      { key: "order-2", status: "taken" },
    ]);

    const ended = once(backEnd, "exit");
    backEnd.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
