import type { Row } from "./entry-of-row.js";
import { isOfOneStatement, isRolledBack, maxAttempts, postgresFailure } from "./postgres-failure.js";
import type { PostgresPool } from "./postgres-pool.js";
import { type KeyedInput, type KeyedName, type PostgresStatements, postgresWork } from "./postgres-statements.js";

/** What waits while these are under way gathers, and goes together. */
const mostInFlight = 3;
const mostTogether = 100;
const mostTextTogether = 1_000_000;

interface Pending {
  readonly name: KeyedName;
  readonly input: Readonly<Record<string, string | number | boolean | null>>;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly isAlone: boolean;
}

/** Runs statements about single keys, many keys of one statement at a time. Never give it a key that is still under way. */
export class PostgresBatches {
  readonly #pool: PostgresPool;
  readonly #statements: PostgresStatements["keyed"];
  #queue: Pending[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(pool: PostgresPool, statements: PostgresStatements["keyed"]) {
    this.#pool = pool;
    this.#statements = statements;
  }

  /** The row that the statement returns for this key, after its commit. */
  run<Name extends KeyedName>(name: Name, input: KeyedInput<Name>): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ name, input, resolve, reject, isAlone: false });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      // After all promises that are settled by now: what they ask for goes in the same statement.
      process.nextTick(() => {
        this.#isScheduled = false;
        this.#dispatch();
      });
    });
  }

  #dispatch(): void {
    while (this.#inFlight < mostInFlight && this.#queue.length > 0) {
      this.#inFlight += 1;
      void this.#send(this.#take()).then(() => {
        this.#inFlight -= 1;
        this.#dispatch();
      });
    }
  }

  /** The first that waits, and all that can go with it. */
  #take(): readonly Pending[] {
    const taken: Pending[] = [];
    let text = 0;
    const isTaken = (pending: Pending): boolean => {
      const [first = pending] = taken;
      const isAlike = pending.name === first.name && !pending.isAlone && !first.isAlone;
      if (taken.length > 0 && (!isAlike || taken.length >= mostTogether || text >= mostTextTogether)) return false;
      text += String(pending.input.data ?? "").length;
      taken.push(pending);
      return true;
    };
    this.#queue = this.#queue.filter((pending) => !isTaken(pending));
    return taken;
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      if (batch.length === 1) first.resolve(await this.#alone(first));
      else await this.#together(first.name, batch);
    } catch (error) {
      if (batch.length > 1 && isOfOneStatement(error)) return this.#sendAlone(batch);
      const failure = postgresFailure(error, postgresWork[first.name]);
      for (const { reject } of batch) reject(failure);
    }
  }

  async #alone({ name, input }: Pending): Promise<Row | undefined> {
    const { alone, columns } = this.#statements[name];
    const values = columns.map((column) => input[column] ?? null);
    for (let attempt = 1; ; attempt++) {
      try {
        const { rows } = await this.#pool.query(alone, values);
        return rows[0] as Row | undefined;
      } catch (error) {
        if (!isRolledBack(error) || attempt === maxAttempts) throw error;
      }
    }
  }

  async #together(name: KeyedName, batch: readonly Pending[]): Promise<void> {
    const { together, skipsLocked } = this.#statements[name];
    const { rows } = await this.#pool.query(together, [JSON.stringify(batch.map(({ input }) => input))]);
    const byKey = new Map((rows as Row[]).map((row) => [row.free_key ?? row.key, row]));
    const skipped: Pending[] = [];
    for (const pending of batch) {
      const row = byKey.get(pending.input.key);
      if (row === undefined && skipsLocked) skipped.push(pending);
      else pending.resolve(row?.found === true ? row : undefined);
    }
    this.#sendAlone(skipped);
  }

  /** Before what waits: they were there first. */
  #sendAlone(batch: readonly Pending[]): void {
    this.#queue.unshift(...batch.map((pending) => ({ ...pending, isAlone: true })));
  }
}
