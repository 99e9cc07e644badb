import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { type PracticeService, startPracticeService } from "../../examples/support/practice-service.js";
import { program } from "../support/program.js";
import { Operator, staffSettings } from "./operator.js";

type SandboxOptions = NonNullable<Parameters<typeof startPracticeService>[0]>;

/** Where processes can share a journal: PostgreSQL where there is a server, SQLite where Node has it, or not at all. */
export const journalKind = process.env.CBP_POSTGRES_URL
  ? "postgres"
  : process.getBuiltinModule?.("node:sqlite") === undefined
    ? "memory"
    : "sqlite";

/** A service, and the place where the back end's processes keep what they share. */
export class BackEnd {
  readonly practice: PracticeService;
  readonly ledgerFolder: string;
  readonly #settings: Readonly<Record<string, string>>;

  private constructor(practice: PracticeService, folder: string) {
    this.practice = practice;
    this.ledgerFolder = join(folder, "ledger");
    const { baseUrl, authUrl, sandbox } = practice.server;
    const { realm, clientId, username, password } = sandbox.credentials;
    this.#settings = {
      CROSS_BORDER_BASE_URL: baseUrl,
      CROSS_BORDER_AUTH_URL: authUrl,
      CROSS_BORDER_REALM: realm,
      CROSS_BORDER_CLIENT_ID: clientId,
      CROSS_BORDER_USERNAME: username,
      CROSS_BORDER_PASSWORD: password,
      CROSS_BORDER_SIGNING_KEY: join(folder, "key.pem"),
      GATEWAY_ID: "alpha-bank",
      LEDGER_FOLDER: this.ledgerFolder,
      JOURNAL: { postgres: process.env.CBP_POSTGRES_URL ?? "", sqlite: join(folder, "flows.db"), memory: "memory" }[
        journalKind
      ],
      JOURNAL_SCHEMA: `fastify_${crypto.randomUUID().slice(0, 8)}`,
      LEASE_MS: "2000",
      READ_BACK_DELAY_MS: "100",
      CLOSE_MS: "3000",
      ...staffSettings("olga", "petra"),
    };
  }

  /** Ends with the test. */
  static async start(sandbox: SandboxOptions): Promise<BackEnd> {
    const practice = await startPracticeService(sandbox);
    onTestFinished(() => practice.server.close());
    const folder = await mkdtemp(join(tmpdir(), "cbp-fastify-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "key.pem"), practice.keys.privateKey, { mode: 0o600 });
    return new BackEnd(practice, folder);
  }

  /** Starts a process of it. */
  async process(): Promise<BackEndProcess> {
    const child = spawn(process.execPath, program("examples/fastify/server.ts"), {
      env: { PATH: process.env.PATH, ...this.#settings },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let stderr = "";
    child.stderr.on("data", (text) => {
      stderr += text;
    });
    const lines: string[] = [];
    return new Promise((resolve, reject) => {
      createInterface(child.stdout).on("line", (line) => {
        lines.push(line);
        const [, url] = /Server listening at (http:[^"]*)"/.exec(line) ?? [];
        if (url !== undefined) resolve(new BackEndProcess(child, url, lines));
      });
      child.once("exit", (code) => reject(new Error(`the back end ended with ${code}: ${stderr}`)));
    });
  }
}

export class BackEndProcess {
  readonly #child: ChildProcess;
  readonly #url: string;
  /** What it has logged. */
  readonly lines: readonly string[];

  constructor(child: ChildProcess, url: string, lines: readonly string[]) {
    this.#child = child;
    this.#url = url;
    this.lines = lines;
  }

  async request(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(this.#url + path, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Somebody who has logged in. */
  async operator(name: string): Promise<Operator> {
    const operator = new Operator(this.#url);
    await operator.login(name);
    return operator;
  }

  /** Asks again until the order has another status than `pending`. */
  async settled(order: string) {
    for (;;) {
      const response = await this.request("GET", `/orders/${order}`);
      if (response.status !== 202) return response;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** @returns its exit code, or the signal that killed it. */
  async terminate(): Promise<unknown> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code, signal] = await exit;
    return code ?? signal;
  }
}
