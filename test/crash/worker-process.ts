import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Command, JournalPlace, Outcome, Report, WorkerSettings } from "./worker-messages.js";

export interface WorkerStart {
  /** The Node to run it on. */
  readonly node: string;
  readonly script: string;
  readonly settings: WorkerSettings;
  readonly onReport?: (report: Report) => void;
}

/** A worker, as the test sees it. */
export class WorkerProcess implements AsyncDisposable {
  /** Resolves when the process has ended, with its error output if nobody killed it. */
  readonly ended: Promise<string | undefined>;
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  #errors = "";
  #isOver = false;

  constructor({ node, script, settings, onReport }: WorkerStart) {
    this.#child = fork(script, { execPath: node, execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    // Not "exit", which may come before what the process said last.
    this.ended = once(this.#child, "close").then(([code, signal]) => {
      this.#isOver = true;
      return signal === "SIGKILL" || code === 0 ? undefined : `a worker ended with ${signal ?? code}: ${this.#errors}`;
    });
    this.#ready = new Promise((resolve) => {
      this.#child.on("message", (report: Report) => {
        if (report.type === "ready") resolve();
        onReport?.(report);
      });
    });
    this.#child.send(settings, () => {});
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** @throws when the worker ends before it is ready. */
  async ready(): Promise<this> {
    const early = this.ended.then((error) => Promise.reject(new Error(error ?? "a worker ended before it was ready")));
    await Promise.race([this.#ready, early]);
    return this;
  }

  send(command: Command): void {
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(name);
  }

  /** The points at which it was killed or stopped. */
  points(): string[] {
    return [...this.#errors.matchAll(/^at (\S+)$/gm)].map(([, point = ""]) => point);
  }

  /** Rejects when the worker ends before it has read the journal. */
  async audit(journal: JournalPlace, keys: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
    const audited = new Promise<readonly (Outcome | undefined)[]>((resolve, reject) => {
      this.#child.on("message", (report: Report) => {
        if (report.type === "audited") resolve(report.outcomes);
      });
      void this.ended.then((error) => reject(new Error(error ?? "a worker ended before it had read the journal")));
    });
    this.send({ type: "audit", journal, keys });
    // On its way from another process, `undefined` becomes `null`.
    return (await audited).map((outcome) => outcome ?? undefined);
  }

  /** Whether a signal has stopped the process. */
  isHalted(): boolean {
    try {
      return / T /.test(readFileSync(`/proc/${this.#child.pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }
}
