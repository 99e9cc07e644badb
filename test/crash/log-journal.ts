import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Journal, MemoryJournal } from "cross-border-payments/flow";

interface Request {
  readonly method: string;
  readonly given: readonly unknown[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A journal that somebody could have written for themselves: a file to which each operation is appended, and whose lines every process does
 * again in its own memory. One process at a time: whoever listens on the port has the file, and the system gives it back when that process dies.
 */
export class LogJournal {
  readonly #file: number;
  readonly #port: number;
  readonly #memory: MemoryJournal;
  readonly #requests: Request[] = [];
  #nowMs = 0;
  #readTo = 0;
  #isAtWork = false;

  private constructor(path: string, port: number) {
    this.#file = openSync(path, "a+");
    this.#port = port;
    // Of a file that was removed, another one may get the number.
    const { ino, birthtimeMs } = fstatSync(this.#file);
    const incarnation = `${ino} ${birthtimeMs}`;
    this.#memory = new MemoryJournal({ nowMs: () => this.#nowMs, incarnation });
  }

  static open(path: string, port: number): Journal {
    const log = new LogJournal(path, port);
    return new Proxy<Journal>(log.#memory, {
      get: (memory, method) =>
        method === "close"
          ? async () => closeSync(log.#file)
          : typeof Reflect.get(memory, method) === "function"
            ? (...given: unknown[]) => log.#ask(String(method), given)
            : undefined,
    });
  }

  #ask(method: string, given: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ method, given, resolve, reject });
      if (!this.#isAtWork) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    while (this.#requests.length > 0) {
      const lock = await takePort(this.#port);
      const done: (() => void)[] = [];
      try {
        await this.#catchUp();
        for (const { method, given, resolve, reject } of this.#requests.splice(0)) {
          const line = Buffer.from(`${JSON.stringify([Date.now(), method, ...given])}\n`);
          writeSync(this.#file, line);
          const result = this.#apply(line.toString());
          this.#readTo += line.length;
          await result.then(
            (value) => done.push(() => resolve(value)),
            (error: unknown) => done.push(() => reject(error)),
          );
        }
        fsyncSync(this.#file);
      } finally {
        await new Promise((resolve) => lock.close(resolve));
      }
      for (const tell of done) tell();
    }
    this.#isAtWork = false;
  }

  /** Does what others have appended. A line that its process could not complete was told to nobody. */
  async #catchUp(): Promise<void> {
    const bytes = Buffer.alloc(fstatSync(this.#file).size - this.#readTo);
    readSync(this.#file, bytes, 0, bytes.length, this.#readTo);
    const length = bytes.lastIndexOf("\n") + 1;
    if (length < bytes.length) ftruncateSync(this.#file, this.#readTo + length);
    this.#readTo += length;
    for (const line of bytes.subarray(0, length).toString().split("\n").slice(0, -1)) {
      await this.#apply(line).catch(() => {});
    }
  }

  #apply(line: string): Promise<unknown> {
    const [nowMs, method, ...given]: [number, string, ...unknown[]] = JSON.parse(line);
    this.#nowMs = nowMs;
    const work: unknown = Reflect.get(this.#memory, method);
    if (typeof work !== "function") throw new Error(`the log has an operation ${method}`);
    // JSON has no `undefined`.
    return Reflect.apply(
      work,
      this.#memory,
      given.map((value) => value ?? undefined),
    );
  }
}

async function takePort(port: number): Promise<Server> {
  for (;;) {
    const server = createServer();
    const isTaken = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (isTaken) return server;
    await pause(1 + Math.random() * 2);
  }
}
