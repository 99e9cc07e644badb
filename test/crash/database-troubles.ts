import { setTimeout as pause } from "node:timers/promises";
import { weighted } from "../faults/seeded-random.js";
import type { OwnDatabase } from "./journal-place.js";
import type { ClientStatement, StatementFate } from "./postgres-proxy.js";
import type { Backend } from "./postgres-server.js";

export const databaseInterruptions = ["backendStops", "delays", "serverKills"] as const;
export type DatabaseInterruption = (typeof databaseInterruptions)[number];

/** What happens at random to a PostgreSQL server, and to what workers send it. Each resolves when it is over. */
export class DatabaseTroubles implements Readonly<Record<DatabaseInterruption, () => Promise<void>>> {
  readonly #database: OwnDatabase;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  /** Statements that change something and are yet to come. */
  readonly #awaited: ((statement: ClientStatement) => StatementFate)[] = [];
  #restarted: Promise<void> = Promise.resolve();

  /** @param timeoutMs how long a worker waits for a statement. */
  constructor(database: OwnDatabase, random: () => number, timeoutMs: number) {
    this.#database = database;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
    database.proxy.fateOf = (statement) => (isChange(statement) ? this.#awaited.shift()?.(statement) : undefined);
  }

  /**
   * Stops a back end for longer than a worker waits for it: in the middle of a statement, with its locks; or before one that comes then,
   * and that it does when it goes on, after all that was done over other connections.
   */
  async backendStops(): Promise<void> {
    const { server } = this.#database;
    for (;;) {
      const backend = await this.#anyBackend();
      if (!(await server.halt(backend))) continue;
      await pause(this.#timeoutMs * (1.2 + this.#random()));
      await server.resume(backend);
      return;
    }
  }

  /** Something happens to the next statement that changes something. */
  async delays(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#awaited.push(() => {
        const kind = weighted(this.#random, kinds);
        if (kind !== "late") {
          resolve();
          return kind === "lost" ? { losesResponse: true } : { isCut: true };
        }
        const until = pause(this.#timeoutMs * (0.5 + 2 * this.#random()));
        void until.then(resolve);
        return { until };
      });
    });
  }

  serverKills(): Promise<void> {
    const how = this.#random() < 0.5 ? "KILL" : "QUIT";
    this.#restarted = this.#restarted.then(() => this.#database.server.crash(how));
    return this.#restarted;
  }

  /** One that is busy, if one is wanted and there is one in a while. */
  async #anyBackend(): Promise<Backend> {
    const mostAttempts = this.#random() < 0.5 ? 20 : 0;
    for (let attempt = 0; ; attempt += 1) {
      const present = await this.#database.server.backends("worker").catch(() => []);
      const from = attempt < mostAttempts ? present.filter(({ isActive }) => isActive) : present;
      const backend = from[Math.floor(this.#random() * from.length)];
      if (backend !== undefined) return backend;
      await pause(5);
    }
  }
}

const kinds: readonly (readonly [number, "late" | "lost" | "cut"])[] = [
  [60, "late"],
  [25, "lost"],
  [15, "cut"],
];

function isChange({ text }: ClientStatement): boolean {
  return /\b(?:UPDATE|INSERT)\b/.test(text);
}
