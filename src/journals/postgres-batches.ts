import { setImmediate } from "node:timers";
import type { Row } from "./entry-of-row.js";
import { assertPrimary, isOfOneStatement, isRolledBack, maxAttempts, postgresFailure } from "./postgres-failure.js";
import type { OpenedPool } from "./postgres-pool.js";
import {
  type KeyedInput,
  type KeyedName,
  type PostgresStatements,
  postgresWork,
  type TextColumn,
  textSeparator,
} from "./postgres-statements.js";

/** Statements of many keys at a time. What arrives meanwhile gathers, and goes together: each costs the server a plan and a commit. */
const mostBatches = 2;
/** Statements of one key, which may wait for a row that somebody else has locked, without keeping batches from running. */
const mostAlone = 4;
const mostTogether = 100;
const mostTextTogether = 1_000_000;

interface Pending {
  readonly name: KeyedName;
  readonly input: Readonly<Record<string, string | number | boolean | null | undefined>>;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Runs statements about single keys, many keys of one statement at a time. Never give it a key that is still under way. */
export class PostgresBatches {
  readonly #query: OpenedPool["queryOften"];
  readonly #statements: PostgresStatements["keyed"];
  #queue: Pending[] = [];
  /** What a batch left out or failed with, or can't take. */
  readonly #alone: Pending[] = [];
  readonly #inFlight = { batches: 0, alone: 0 };
  #isScheduled = false;

  constructor(query: OpenedPool["queryOften"], statements: PostgresStatements["keyed"]) {
    this.#query = query;
    this.#statements = statements;
  }

  /** The row that the statement returns for this key, after its commit. */
  run<Name extends KeyedName>(name: Name, input: KeyedInput<Name>): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      const pending: Pending = { name, input, resolve, reject };
      (canGoTogether(pending) ? this.#queue : this.#alone).push(pending);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      // At the end of this turn of the event loop: what else it asks for goes in the same statement.
      setImmediate(() => {
        this.#isScheduled = false;
        this.#dispatch();
      });
    });
  }

  #dispatch(): void {
    for (const pending of this.#alone.splice(0, mostAlone - this.#inFlight.alone)) this.#start("alone", [pending]);
    while (this.#queue.length > 0 && this.#inFlight.batches < mostBatches) {
      const batch = this.#take();
      const isIdle = this.#inFlight.batches + this.#inFlight.alone === 0;
      this.#start(batch.length === 1 && isIdle ? "alone" : "batches", batch);
    }
  }

  #start(kind: "alone" | "batches", batch: readonly Pending[]): void {
    this.#inFlight[kind] += 1;
    const work = kind === "alone" ? batch.map((pending) => this.#sendAlone(pending)) : [this.#sendTogether(batch)];
    void Promise.all(work).then(() => {
      this.#inFlight[kind] -= 1;
      this.#dispatch();
    });
  }

  /** Takes the first that waits, and all that can go with it. */
  #take(): readonly Pending[] {
    const taken: Pending[] = [];
    let text = 0;
    const isTaken = (pending: Pending): boolean => {
      const isAlike = pending.name === (taken[0] ?? pending).name;
      if (!isAlike || taken.length >= mostTogether || text >= mostTextTogether) return false;
      text += String(pending.input.data ?? "").length;
      taken.push(pending);
      return true;
    };
    this.#queue = this.#queue.filter((pending) => !isTaken(pending));
    return taken;
  }

  async #sendAlone({ name, input, resolve, reject }: Pending): Promise<void> {
    const { alone, columns } = this.#statements[name];
    const values = columns.map((column) => input[column] ?? null);
    for (let attempt = 1; ; attempt++) {
      try {
        const [row] = (await this.#query(alone, values)).rows as Row[];
        assertPrimary(row, postgresWork[name]);
        return resolve(found(row));
      } catch (error) {
        if (!isRolledBack(error) || attempt === maxAttempts) return reject(postgresFailure(error, postgresWork[name]));
      }
    }
  }

  async #sendTogether(batch: readonly Pending[]): Promise<void> {
    const name = batch[0]?.name ?? "read";
    const { together, texts, skipsLocked } = this.#statements[name];
    try {
      const rows = (await this.#query(together, inputTogether(batch, texts))).rows as Row[];
      assertPrimary(rows[0], postgresWork[name]);
      const byKey = new Map(rows.map((row) => [row.free_key ?? row.key, row]));
      for (const pending of batch) {
        const row = byKey.get(pending.input.key);
        if (row === undefined && skipsLocked) this.#alone.push(pending);
        else pending.resolve(found(row));
      }
    } catch (error) {
      if (isOfOneStatement(error)) return void this.#alone.push(...batch);
      const failure = postgresFailure(error, postgresWork[name]);
      for (const { reject } of batch) reject(failure);
    }
  }
}

function canGoTogether({ input: { data } }: Pending): boolean {
  return !String(data).includes(textSeparator);
}

function inputTogether(batch: readonly Pending[], texts: readonly TextColumn[]): string[] {
  const short = batch.map(({ input: { data: _, ...rest } }) => rest);
  const lists = texts.map((column) => batch.map(({ input }) => textSeparator + input[column]).join(""));
  return [JSON.stringify(short), ...lists];
}

/** A row without a key says that its statement did not apply, or that there is no such flow. */
function found(row: Row | undefined): Row | undefined {
  return row?.key === null ? undefined : row;
}
