import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { migrate } from "../../../examples/bank/migrations.js";
import { type User, Users } from "../../../examples/bank/users.js";
import { startPracticeService } from "../../../examples/support/practice-service.js";
import { databaseInTest, postgresUrl } from "../../support/database.js";
import { environmentOf } from "../../support/environment.js";
import { type Address, Browser, hiddenFields, type Page } from "../../support/form-browser.js";
import { program } from "../../support/program.js";

type SandboxOptions = NonNullable<Parameters<typeof startPracticeService>[0]>;

export const skipped = postgresUrl === "" ? " (skipped: CBP_POSTGRES_URL is not set)" : "";
export const origin = "https://bank.example";

/** Where the compiled programs of the example are, as in the working directory of its image. */
export const programFolder = (): string => dirname(program("examples/bank/server.ts")[0] ?? "");

const users: readonly User[] = [
  { name: "ada", role: "customer", account: "DE-0001" },
  { name: "berta", role: "customer", account: "DE-0002" },
  { name: "olga", role: "operator", account: null },
  { name: "petra", role: "operator", account: null },
];

const order = {
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "school fees of <b>Zuri</b>",
};

const passwords = randomBytes(24).toString("hex");
const passwordOf = (name: string): string => `password of ${name}, ${passwords}`;

/** A database and a service, until the test ends: what the processes of a bank share. */
export async function startBank(sandbox: SandboxOptions = {}) {
  const databaseUrl = await databaseInTest("bank");
  const practice = await startPracticeService(sandbox);
  const folder = await mkdtemp(join(tmpdir(), "cbp-bank-"));
  const pool = new pg.Pool({ connectionString: databaseUrl });
  pool.on("error", () => {});
  onTestFinished(async () => {
    await pool.end();
    await practice.server.close();
    await rm(folder, { recursive: true });
  });
  practice.server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0002", name: "Berta Sender" });
  const keyFile = join(folder, "key.pem");
  await writeFile(keyFile, practice.keys.privateKey, { mode: 0o600 });
  const sessionSecret = randomBytes(24).toString("hex");
  const ownEnv = {
    PATH: process.env.PATH ?? "",
    ...environmentOf(practice.server.clientOptions),
    ...{ CROSS_BORDER_SIGNING_KEY: keyFile, CROSS_BORDER_GATEWAY_ID: "alpha-bank" },
    ...{ DATABASE_URL: databaseUrl, ORIGIN: origin, SESSION_SECRET: sessionSecret },
    ...{ HOST: "127.0.0.1", PORT: "0", LOG_LEVEL: "debug", LEASE_MS: "2000", READ_BACK_DELAY_MS: "100" },
    ...{ ROUND_MS: "200", DRAIN_MS: "200", CLOSE_MS: "5000" },
  };
  /** Everything that processes have written, and what none of it may have. */
  const output: string[] = [];
  const secrets = [
    ...[practice.server.clientOptions.auth.password, sessionSecret, new URL(databaseUrl).password, passwords],
    ...["DE-0001", "DE-0002", "KE-7002", "Ada Sender", "Baraka Receiver", "school fees", "BEGIN PRIVATE", "eyJ"],
  ];

  /** Starts a process by a command of the image, in the folder of its programs. */
  function spawnProgram(command: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const [file = "", ...args] = command;
    const child = spawn(file === "node" ? process.execPath : file, args, {
      cwd: programFolder(),
      env: { ...ownEnv, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stderr?.on("data", (text) => output.push(String(text)));
    return child;
  }

  /** Starts a process of the bank, which listens when this resolves. */
  function startProcess(
    env: Readonly<Record<string, string>> = {},
    command: readonly string[] = ["node", "server.js"],
  ) {
    const child = spawnProgram(command, env);
    return new Promise<BankProcess>((resolve, reject) => {
      createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => {
        output.push(line);
        const [, port] = /Server listening at http:\/\/[\d.]+:(\d+)"/.exec(line) ?? [];
        if (port !== undefined) resolve(processOf(child, Number(port)));
      });
      child.once("exit", (code) => reject(new Error(`the bank ended with ${code}: ${output.join("\n")}`)));
    });
  }

  async function logIn(address: Address, name: string): Promise<Browser> {
    const browser = new Browser(origin);
    const { status } = await browser.post(address, "/login", { name, password: passwordOf(name) });
    if (status !== 303) throw new Error(`the login of ${name} ended with ${status}`);
    secrets.push(browser.cookie.split("=")[1] ?? "");
    return browser;
  }

  /** A new payment, up to the page of its price. */
  async function quote(address: Address, browser: Browser) {
    const home = await browser.get(address, "/");
    const { status, location = "", body } = await browser.submit(address, home, "/orders", order);
    if (status !== 303) throw new Error(`no price: ${status} ${body}`);
    const page = await browser.get(address, location);
    const [id = "", confirm] = [/[\w-]+$/.exec(location)?.[0], `${location}/confirm`];
    return { id, path: location, confirm, page, fields: () => hiddenFields(page, confirm) };
  }

  return {
    ...{ sandbox: practice.server.sandbox, databaseUrl, pool, output, spawn: spawnProgram, process: startProcess },
    ...{ passwordOf, logIn, quote },
    /** Makes tables, two customers with 5,000 and 50 EUR, and two operators. */
    async fill(): Promise<void> {
      await migrate(pool);
      await pool.query("insert into accounts values ('DE-0001', 'EUR', 5000), ('DE-0002', 'EUR', 50)");
      const all = new Users(pool, "");
      await Promise.all(users.map((user) => all.add(user, passwordOf(user.name))));
    },
    /** A process, Ada, and the page of her first price. */
    async order(env: Readonly<Record<string, string>> = {}) {
      const only = await startProcess(env);
      const ada = await logIn(only, "ada");
      return { only, ada, ...(await quote(only, ada)) };
    },
    /** Payments that were made, takings that were not given back, and what Ada has. */
    async books(): Promise<readonly [payments: number, taken: number, balance: string]> {
      const { rows } = await pool.query(
        "select balance, (select count(*)::int from takings where status = 'taken') from accounts where id = 'DE-0001'",
      );
      return [practice.server.sandbox.payments.length, rows[0].count, rows[0].balance];
    },
    /** Lines with something that no log may have. */
    leaks: () => output.filter((line) => secrets.some((secret) => line.includes(secret))),
  };
}

interface BankProcess extends Address {
  /** @returns its exit code, or the signal that killed it. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<unknown>;
}

function processOf(child: ChildProcess, port: number): BankProcess {
  return {
    port,
    async end(signal) {
      const exit = once(child, "exit");
      child.kill(signal);
      const [code, killedBy] = await exit;
      return code ?? killedBy;
    },
  };
}

type Bank = Awaited<ReturnType<typeof startBank>>;
const banks: Bank[] = [];

/** A bank with tables and users, whose logs `assertNoLeaks` looks at when the test has ended. */
export async function bank(sandbox?: SandboxOptions): Promise<Bank> {
  const started = await startBank(sandbox);
  banks.push(started);
  await started.fill();
  return started;
}

export function assertNoLeaks(): void {
  for (const one of banks.splice(0)) {
    expect(one.output.length).toBeGreaterThan(0);
    expect(one.leaks(), "secrets and personal data in the logs").toEqual([]);
  }
}

export const says =
  (text: string) =>
  ({ body }: Page): boolean =>
    body.includes(text);
