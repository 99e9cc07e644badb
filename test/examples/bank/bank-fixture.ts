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
import { type PracticeService, startPracticeService } from "../../../examples/support/practice-service.js";
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

/** A database, a service, and who has a password: what the processes of a bank share. */
export class BankFixture {
  readonly practice: PracticeService;
  readonly pool: pg.Pool;
  readonly env: Readonly<Record<string, string>>;
  /** Everything that processes have written. */
  readonly output: string[] = [];
  /** What none of it may have. */
  readonly #secrets: string[];

  private constructor(practice: PracticeService, pool: pg.Pool, databaseUrl: string, keyFile: string) {
    this.practice = practice;
    this.pool = pool;
    this.env = {
      PATH: process.env.PATH ?? "",
      ...environmentOf(practice.server.clientOptions),
      CROSS_BORDER_SIGNING_KEY: keyFile,
      CROSS_BORDER_GATEWAY_ID: "alpha-bank",
      DATABASE_URL: databaseUrl,
      ORIGIN: origin,
      SESSION_SECRET: randomBytes(24).toString("hex"),
      HOST: "127.0.0.1",
      PORT: "0",
      LOG_LEVEL: "debug",
      LEASE_MS: "2000",
      READ_BACK_DELAY_MS: "100",
      ROUND_MS: "200",
      DRAIN_MS: "200",
      CLOSE_MS: "5000",
    };
    this.#secrets = [
      ...[
        practice.server.clientOptions.auth.password,
        this.env.SESSION_SECRET ?? "",
        new URL(databaseUrl).password,
        ...users.map(({ name }) => this.passwordOf(name)),
      ],
      ...["DE-0001", "DE-0002", "KE-7002", "Ada Sender", "Baraka Receiver", "school fees", "BEGIN PRIVATE", "eyJ"],
    ];
  }

  /** Ends with the test. */
  static async start(sandbox: SandboxOptions = {}): Promise<BankFixture> {
    const url = await databaseInTest("bank");
    const practice = await startPracticeService(sandbox);
    const folder = await mkdtemp(join(tmpdir(), "cbp-bank-"));
    const pool = new pg.Pool({ connectionString: url });
    pool.on("error", () => {});
    onTestFinished(async () => {
      await pool.end();
      await practice.server.close();
      await rm(folder, { recursive: true });
    });
    practice.server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0002", name: "Berta Sender" });
    await writeFile(join(folder, "key.pem"), practice.keys.privateKey, { mode: 0o600 });
    return new BankFixture(practice, pool, url, join(folder, "key.pem"));
  }

  /** Tables, two customers with 5,000 and 50 EUR, and two operators. */
  async fill(): Promise<this> {
    await migrate(this.pool);
    await this.pool.query("insert into accounts values ('DE-0001', 'EUR', 5000), ('DE-0002', 'EUR', 50)");
    const all = new Users(this.pool, "");
    await Promise.all(users.map((user) => all.add(user, this.passwordOf(user.name))));
    return this;
  }

  /** Starts a process by a command of the image, in the folder of its programs. */
  spawn(command: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const [file = "", ...args] = command;
    const child = spawn(file === "node" ? process.execPath : file, args, {
      cwd: programFolder(),
      env: { ...this.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stderr?.on("data", (text) => this.output.push(String(text)));
    return child;
  }

  /** Starts a process of the bank, which listens when this resolves. */
  process(env: Readonly<Record<string, string>> = {}, command: readonly string[] = ["node", "server.js"]) {
    const child = this.spawn(command, env);
    return new Promise<BankProcess>((resolve, reject) => {
      createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => {
        this.output.push(line);
        const [, port] = /Server listening at http:\/\/[\d.]+:(\d+)"/.exec(line) ?? [];
        if (port !== undefined) resolve(new BankProcess(child, Number(port)));
      });
      child.once("exit", (code) => reject(new Error(`the bank ended with ${code}: ${this.output.join("\n")}`)));
    });
  }

  passwordOf(name: string): string {
    return `password of ${name}, ${this.env.SESSION_SECRET}`;
  }

  async logIn(address: Address, name: string): Promise<Browser> {
    const browser = new Browser(origin);
    const { status } = await browser.post(address, "/login", { name, password: this.passwordOf(name) });
    if (status !== 303) throw new Error(`the login of ${name} ended with ${status}`);
    this.#secrets.push(browser.cookie.split("=")[1] ?? "");
    return browser;
  }

  /** A new payment, up to the page of its price. */
  async quote(address: Address, browser: Browser) {
    const home = await browser.get(address, "/");
    const { status, location = "", body } = await browser.submit(address, home, "/orders", order);
    if (status !== 303) throw new Error(`no price: ${status} ${body}`);
    const page = await browser.get(address, location);
    const [id = "", confirm] = [/[\w-]+$/.exec(location)?.[0], `${location}/confirm`];
    return { id, path: location, confirm, page, fields: () => hiddenFields(page, confirm) };
  }

  /** A process, Ada, and the page of her first price. */
  async order(env: Readonly<Record<string, string>> = {}) {
    const only = await this.process(env);
    const ada = await this.logIn(only, "ada");
    return { only, ada, ...(await this.quote(only, ada)) };
  }

  get payments(): number {
    return this.practice.server.sandbox.payments.length;
  }

  async balance(): Promise<string> {
    const { rows } = await this.pool.query("select balance from accounts where id = 'DE-0001'");
    return rows[0].balance;
  }

  /** Takings that were not given back. */
  async taken(): Promise<number> {
    const { rows } = await this.pool.query("select count(*)::int from takings where status = 'taken'");
    return rows[0].count;
  }

  /** Lines with something that no log may have. */
  leaks(): string[] {
    return this.output.filter((line) => this.#secrets.some((secret) => line.includes(secret)));
  }
}

export class BankProcess implements Address {
  readonly #child: ChildProcess;
  readonly port: number;

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** @returns its exit code, or the signal that killed it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<unknown> {
    const exit = once(this.#child, "exit");
    this.#child.kill(signal);
    const [code, killedBy] = await exit;
    return code ?? killedBy;
  }
}

const banks: BankFixture[] = [];

/** A bank with tables and users, whose logs `assertNoLeaks` looks at when the test has ended. */
export async function bank(...sandbox: Parameters<typeof BankFixture.start>): Promise<BankFixture> {
  const started = await BankFixture.start(...sandbox);
  banks.push(started);
  return started.fill();
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
