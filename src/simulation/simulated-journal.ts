import { JournalError } from "../errors/errors.js";
import type { Journal, JournalEntry, ScopeCounts } from "../flows/journal.js";
import { MemoryJournal } from "../flows/memory-journal.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { Truth } from "./truth.js";
import { mostLeasesLate, type RemoteFault, type World } from "./world.js";

/** What a change does to whose flow it is, or may lead to. */
export type Turn = "begins" | "takes over" | "claims" | "doubts" | "refuses";

/** Turns of an owner that has the flow already. */
const ownTurns: ReadonlySet<Turn | undefined> = new Set(["claims", "doubts", "refuses"]);

/** A call that may change something, and when it was made. */
interface Change {
  /** By the journal's own clock. */
  readonly atMs: number;
  readonly apply: (journal: Journal) => Promise<unknown>;
  turn?: Turn;
  /** Which flow it changes, where that is known. */
  key: string | undefined;
}

/** One journal that all processes share, behind a network that fails. It can be restored to any earlier moment. */
export class SimulatedJournal {
  readonly #world: World;
  readonly #truth: Truth;
  #atMs: number | undefined;
  #journal: Journal;
  #changes: Change[] = [];
  /** Called with each change, once it is stored. */
  onChanged: (turn: Turn | undefined) => void = () => {};
  /** Its own clock is not that of the processes. */
  #aheadMs = 12_345;
  /** How often a server without its newest changes took its place. */
  #incarnation = 1;

  constructor(world: World, truth: Truth) {
    this.#world = world;
    this.#truth = truth;
    this.#journal = this.#empty();
  }

  /** How many changes were stored. */
  get age(): number {
    return this.#changes.length;
  }

  /** How old the journal was just before each such change. */
  agesBefore(turn: Turn): readonly number[] {
    return this.#changes.flatMap((change, age) => (change.turn === turn ? [age] : []));
  }

  /** How old the journal was before the owner that made the newest claim got its flow. */
  get ageBeforeClaimant(): number {
    const claimed = this.#changes.findLast(({ turn }) => turn === "claims")?.key;
    const got = this.#changes.findLastIndex(
      ({ turn, key }) => (turn === "begins" || turn === "takes over") && key === claimed,
    );
    return got < 0 ? this.age : got;
  }

  /** How old the journal was once a request had been sent for the first claim of the flow that was claimed last. */
  get ageAfterFirstClaim(): number {
    const claimed = this.#changes.findLast(({ turn }) => turn === "claims")?.key;
    return this.#changes.findIndex(({ turn, key }) => turn === "doubts" && key === claimed) + 1;
  }

  /** Whether the flow of the newest claim had been claimed before, and a request sent for it. */
  get isClaimedAgain(): boolean {
    return this.ageAfterFirstClaim > 0;
  }

  /** How old the journal was so long ago. */
  ageAgo(ms: number): number {
    return this.#changes.filter(({ atMs }) => atMs < this.nowMs - ms).length;
  }

  /** What is stored, without a fault. */
  read(key: string): Promise<JournalEntry | undefined> {
    return this.#journal.read(key);
  }

  /** What is stored under which address, without a fault. */
  scopes(): Promise<readonly ScopeCounts[]> {
    return this.#journal.scopes();
  }

  /** Somebody tidies up. Quotes are left alone until no write of theirs can be on its way any more. */
  async prune(keep: "nothing" | "evidence"): Promise<void> {
    const { nowMs } = this;
    const options = {
      settledBeforeMs: nowMs,
      quotedBeforeMs: nowMs - mostLeasesLate * this.#world.profile.leaseMs,
      keep,
    };
    const apply = (journal: Journal) => journal.prune(options);
    this.#changes.push({ atMs: nowMs, apply, key: undefined });
    const { settled, quoted } = await apply(this.#journal);
    this.#world.note(`${settled} settled flows and ${quoted} quotes are pruned`);
  }

  /** Somebody repairs a table by hand, and copies one flow's row over another's. False when there is not one of both. */
  async copyOver(fromKey: string, toKey: string): Promise<boolean> {
    const [from, to] = [await this.read(fromKey), await this.read(toKey)];
    if (!isWhole(from) || !isWhole(to)) return false;
    const { phase, settled, data, evidence } = from;
    const apply = (journal: Journal) => journal.write(toKey, to, { phase, settled, data, evidence });
    this.#changes.push({ atMs: this.nowMs, apply, key: undefined });
    await apply(this.#journal);
    this.#world.note(`what is stored of ${fromKey} is copied over ${toKey}`);
    this.#world.recorder?.note({ type: "misplaced" });
    return true;
  }

  /** By its own clock, in whole milliseconds since 1970. */
  get nowMs(): number {
    return Math.floor(this.#world.nowMs) + this.#aheadMs;
  }

  setClock(byMs: number): void {
    this.#aheadMs += byMs;
    this.#world.marks.happenedToAll("the journal's clock is set back");
    this.#world.note(`the journal's clock is set by ${byMs} ms`);
  }

  /** Returns what brings its whole history back, and forgets what was stored since. */
  async restore(age: number): Promise<() => Promise<void>> {
    const whole = this.#changes;
    await this.#become(whole.slice(0, age));
    return () => this.#become(whole);
  }

  async #become(changes: Change[]): Promise<void> {
    this.#changes = changes;
    this.#incarnation += 1;
    this.#journal = this.#empty();
    for (const { atMs, apply } of this.#changes) {
      this.#atMs = atMs;
      await apply(this.#journal).catch(() => {});
    }
    this.#atMs = undefined;
    this.#world.recorder?.note({ type: "restored" });
  }

  /** The journal as one process sees it. */
  of(process: SimulatedProcess): Journal {
    const read = <T>(label: string, apply: (journal: Journal) => Promise<T>) => this.#call(process, label, apply);
    const change = <T>(label: string, apply: (journal: Journal) => Promise<T>, turn?: Turn, key?: string) =>
      this.#call(
        process,
        label,
        async (journal) => {
          const stored: Change = { atMs: this.nowMs, apply, key };
          this.#changes.push(stored);
          const result = await apply(journal);
          if (turn !== undefined && result !== undefined && result !== false) {
            stored.turn = turn;
            stored.key ??= keyIn(result);
            if (stored.key !== undefined && !ownTurns.has(turn)) this.#world.marks.owns(process.name, stored.key);
          }
          this.onChanged(stored.turn);
          return result;
        },
        true,
        key,
      );
    const journal: Journal = {
      begin: (key, scope, state, lease) =>
        change(`begin ${key} as ${state.phase}`, (journal) => journal.begin(key, scope, state, lease), "begins", key),
      read: (key) => read(`read ${key}`, (journal) => journal.read(key)),
      acquire: (key, lease, observed) =>
        change(`acquire ${key}`, (journal) => journal.acquire(key, lease, observed), "takes over", key),
      acquireAbandoned: (scope, lease, after) =>
        change("acquire an abandoned flow", (journal) => journal.acquireAbandoned(scope, lease, after), "takes over"),
      overlong: (query) => read("list overlong leases", (journal) => journal.overlong(query)),
      renew: (key, id, leaseMs) => change(`renew ${key}`, (journal) => journal.renew(key, id, leaseMs), undefined, key),
      write: (key, id, state, leaseMs) =>
        change(
          `write ${key} as ${state.phase}`,
          (journal) => journal.write(key, id, state, leaseMs),
          turnsOfPhases[state.phase],
          key,
        ),
      replaceQuote: (key, seen, state, lease, expired) =>
        change(
          `replace the quote of ${key} by ${state.phase}`,
          async (journal) => {
            const before = journal.read(key);
            const replaced = await journal.replaceQuote(key, seen, state, lease, expired);
            const quote = await before;
            if (replaced !== undefined && quote !== undefined && state.phase === "funds-requested")
              this.#truth.confirmed(quote);
            if (replaced !== undefined && state.phase === "funds-requested") this.#world.marks.owns(process.name, key);
            return replaced;
          },
          undefined,
          key,
        ),
      fenceQuote: (key, seen, nonce) =>
        change(`fence the quote of ${key}`, (journal) => journal.fenceQuote(key, seen, nonce), undefined, key),
      release: (key, id) => change(`release ${key}`, (journal) => journal.release(key, id)),
      list: (query) => read("list", (journal) => journal.list(query)),
      counts: (scope) => read("count", (journal) => journal.counts(scope)),
      scopes: () => read("count scopes", (journal) => journal.scopes()),
      backlog: () => read("count the backlog", (journal) => journal.backlog()),
      prune: (options) => change("prune", (journal) => journal.prune(options)),
      close: async () => {},
    };
    return this.#world.recorder?.watchCalls(journal, process) ?? journal;
  }

  #call<T>(
    process: SimulatedProcess,
    label: string,
    apply: (journal: Journal) => Promise<T>,
    isChange = false,
    key?: string,
  ): Promise<T> {
    const { choices, profile } = this.#world;
    const fault = this.#fault(isChange);
    const isSlow = choices.chance(profile.journalIsSlow);
    const isRepeated = isChange && choices.chance(profile.journalRepeats);
    if (key !== undefined) this.#noteWrite(key, fault, isSlow, isRepeated);
    return this.#world.remote(process, {
      label,
      fault,
      isSlow,
      isRepeated,
      execute: () => apply(this.#journal),
      toError: () => new JournalError("the journal is away", { stored: fault === "before" ? "nothing" : "unknown" }),
    });
  }

  #noteWrite(key: string, fault: RemoteFault, isSlow: boolean, isRepeated: boolean): void {
    const { marks } = this.#world;
    if (fault !== undefined) marks.happened(key, writeFaults[fault]);
    if (isSlow) marks.happened(key, "a write is slow");
    if (isRepeated) marks.happened(key, "a write comes twice");
  }

  #fault(isChange: boolean): RemoteFault {
    const { choices, profile } = this.#world;
    if (isChange && choices.chance(profile.journalIsLate)) return "late";
    if (choices.chance(profile.journalFailsBefore)) return "before";
    return choices.chance(profile.journalFailsAfter) ? "after" : undefined;
  }

  #empty(): Journal {
    const journal = new MemoryJournal({
      nowMs: () => this.#atMs ?? this.nowMs,
      incarnation: `incarnation ${this.#incarnation}`,
    });
    return this.#world.recorder?.watchStore(journal) ?? journal;
  }
}

const turnsOfPhases: Readonly<Record<string, Turn>> = { claimed: "claims", unknown: "doubts", refused: "refuses" };

const writeFaults = {
  before: "a write fails",
  after: "a write is stored, and its response is lost",
  late: "a write comes late",
} as const;

/** Of an entry that was acquired. */
function keyIn(result: unknown): string | undefined {
  const key: unknown = Reflect.get(Object(result), "key");
  return typeof key === "string" ? key : undefined;
}

function isWhole(entry: JournalEntry | undefined): entry is JournalEntry {
  return entry !== undefined && entry.prunedAtMs === undefined && entry.phase !== "quoted";
}
