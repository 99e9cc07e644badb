import { setTimeout as pause } from "node:timers/promises";
import type { Backend, PostgresServer } from "./postgres-server.js";

export const databaseInterruptions = ["backendStops", "serverKills"] as const;
export type DatabaseInterruption = (typeof databaseInterruptions)[number];

/** What happens at random to a PostgreSQL server. Each resolves when it is over. */
export class DatabaseTroubles implements Readonly<Record<DatabaseInterruption, () => Promise<void>>> {
  readonly #server: PostgresServer;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  #restarted: Promise<void> = Promise.resolve();

  /** @param timeoutMs how long a worker waits for a statement. */
  constructor(server: PostgresServer, random: () => number, timeoutMs: number) {
    this.#server = server;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Stops a back end for longer than a worker waits for it: in the middle of a statement, with its locks; or before one that comes then,
   * and that it does when it goes on, after all that was done over other connections.
   */
  async backendStops(): Promise<void> {
    for (;;) {
      const backend = await this.#anyBackend();
      if (!(await this.#server.halt(backend))) continue;
      await pause(this.#timeoutMs * (1.2 + this.#random()));
      await this.#server.resume(backend);
      return;
    }
  }

  serverKills(): Promise<void> {
    const how = this.#random() < 0.5 ? "KILL" : "QUIT";
    this.#restarted = this.#restarted.then(() => this.#server.crash(how));
    return this.#restarted;
  }

  /** One that is busy, if one is wanted and there is one in a while. */
  async #anyBackend(): Promise<Backend> {
    const mostAttempts = this.#random() < 0.5 ? 20 : 0;
    for (let attempt = 0; ; attempt += 1) {
      const present = await this.#server.backends("worker").catch(() => []);
      const from = attempt < mostAttempts ? present.filter(({ isActive }) => isActive) : present;
      const backend = from[Math.floor(this.#random() * from.length)];
      if (backend !== undefined) return backend;
      await pause(5);
    }
  }
}
