import { JournalError } from "../errors/errors.js";
import type { Journal, JournalEntry } from "../flows/journal.js";
import { MemoryJournal } from "../flows/memory-journal.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { Truth } from "./truth.js";
import type { RemoteFault, World } from "./world.js";

/** What a change does to whose flow it is. */
export type Turn = "begins" | "takes over";

/** A call that may change something, and when it was made. */
interface Change {
  readonly atMs: number;
  readonly apply: (journal: Journal) => Promise<unknown>;
  turn?: Turn;
}

/** One journal that all processes share, behind a network that fails. It can be restored to any earlier moment. */
export class SimulatedJournal {
  readonly #world: World;
  readonly #truth: Truth;
  #atMs: number | undefined;
  #journal: MemoryJournal;
  #changes: Change[] = [];
  /** Called with each change, once it is stored. */
  onChanged: (turn: Turn | undefined) => void = () => {};
  /** Its own clock is not that of the processes. */
  readonly #aheadMs = 12_345;

  constructor(world: World, truth: Truth) {
    this.#world = world;
    this.#truth = truth;
    this.#journal = this.#empty();
  }

  /** How many changes were stored. */
  get age(): number {
    return this.#changes.length;
  }

  /** How old the journal was just before each change that gave a flow to an owner. */
  agesBefore(turn: Turn): readonly number[] {
    return this.#changes.flatMap((change, age) => (change.turn === turn ? [age] : []));
  }

  /** What is stored, without a fault. */
  read(key: string): Promise<JournalEntry | undefined> {
    return this.#journal.read(key);
  }

  /** Somebody tidies up. Quotes are left alone until a while after they have expired. */
  async prune(keep: "nothing" | "evidence"): Promise<void> {
    const nowMs = this.#world.nowMs + this.#aheadMs;
    const options = { settledBeforeMs: nowMs, quotedBeforeMs: nowMs - this.#world.profile.leaseMs, keep };
    const apply = (journal: Journal) => journal.prune(options);
    this.#changes.push({ atMs: this.#world.nowMs, apply });
    const { settled, quoted } = await apply(this.#journal);
    this.#world.note(`${settled} settled flows and ${quoted} quotes are pruned`);
  }

  /** Somebody repairs a table by hand, and copies one flow's row over another's. False when there is not one of both. */
  async copyOver(fromKey: string, toKey: string): Promise<boolean> {
    const [from, to] = [await this.read(fromKey), await this.read(toKey)];
    if (!isWhole(from) || !isWhole(to)) return false;
    const { phase, settled, data, evidence } = from;
    const apply = (journal: Journal) => journal.write(toKey, to, { phase, settled, data, evidence });
    this.#changes.push({ atMs: this.#world.nowMs, apply });
    await apply(this.#journal);
    this.#world.note(`what is stored of ${fromKey} is copied over ${toKey}`);
    return true;
  }

  async restore(age: number): Promise<void> {
    this.#changes = this.#changes.slice(0, age);
    this.#journal = this.#empty();
    for (const { atMs, apply } of this.#changes) {
      this.#atMs = atMs;
      await apply(this.#journal).catch(() => {});
    }
    this.#atMs = undefined;
  }

  /** The journal as one process sees it. */
  of(process: SimulatedProcess): Journal {
    const read = <T>(label: string, apply: (journal: Journal) => Promise<T>) => this.#call(process, label, apply);
    const change = <T>(label: string, apply: (journal: Journal) => Promise<T>, turn?: Turn) =>
      this.#call(process, label, async (journal) => {
        const stored: Change = { atMs: this.#world.nowMs, apply };
        this.#changes.push(stored);
        const result = await apply(journal);
        if (turn !== undefined && result !== undefined) stored.turn = turn;
        this.onChanged(stored.turn);
        return result;
      });
    return {
      begin: (key, scope, state, lease) =>
        change(`begin ${key} as ${state.phase}`, (journal) => journal.begin(key, scope, state, lease), "begins"),
      read: (key) => read(`read ${key}`, (journal) => journal.read(key)),
      acquire: (key, lease) => change(`acquire ${key}`, (journal) => journal.acquire(key, lease), "takes over"),
      acquireAbandoned: (scope, lease, after) =>
        change("acquire an abandoned flow", (journal) => journal.acquireAbandoned(scope, lease, after), "takes over"),
      renew: (key, id, leaseMs) => change(`renew ${key}`, (journal) => journal.renew(key, id, leaseMs)),
      write: (key, id, state, leaseMs) =>
        change(`write ${key} as ${state.phase}`, (journal) => journal.write(key, id, state, leaseMs)),
      replaceQuote: (key, seen, state, lease, expired) =>
        change(`replace the quote of ${key} by ${state.phase}`, async (journal) => {
          const before = journal.read(key);
          const replaced = await journal.replaceQuote(key, seen, state, lease, expired);
          const quote = await before;
          if (replaced !== undefined && quote !== undefined && state.phase === "funds-requested")
            this.#truth.confirmed(quote);
          return replaced;
        }),
      release: (key, id) => change(`release ${key}`, (journal) => journal.release(key, id)),
      list: (query) => read("list", (journal) => journal.list(query)),
      counts: (scope) => read("count", (journal) => journal.counts(scope)),
      prune: (options) => change("prune", (journal) => journal.prune(options)),
      close: async () => {},
    };
  }

  #call<T>(process: SimulatedProcess, label: string, apply: (journal: Journal) => Promise<T>): Promise<T> {
    const { choices, profile } = this.#world;
    const fault = this.#fault();
    return this.#world.remote(process, {
      label,
      fault,
      isSlow: choices.chance(profile.journalIsSlow),
      execute: () => apply(this.#journal),
      toError: () =>
        new JournalError("the journal is away", fault === "after" ? { stored: "unknown" } : { stored: "nothing" }),
    });
  }

  #fault(): RemoteFault {
    const { choices, profile } = this.#world;
    if (choices.chance(profile.journalFailsBefore)) return "before";
    return choices.chance(profile.journalFailsAfter) ? "after" : undefined;
  }

  #empty(): MemoryJournal {
    return new MemoryJournal({ nowMs: () => (this.#atMs ?? this.#world.nowMs) + this.#aheadMs });
  }
}

function isWhole(entry: JournalEntry | undefined): entry is JournalEntry {
  return entry !== undefined && entry.prunedAtMs === undefined && entry.phase !== "quoted";
}
