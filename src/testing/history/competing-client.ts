import { randomUUID } from "node:crypto";
import type {
  FlowScope,
  Journal,
  JournalEntry,
  JournalState,
  LeaseRequest,
  PruneOptions,
} from "../../flows/journal.js";

export interface CompetingClientOptions {
  readonly journal: Journal;
  /** Different for each client. */
  readonly name: string;
  readonly scopeOf: (key: string) => FlowScope;
  /** The flow to work on next, of the few that all clients work on. */
  readonly nextKey: () => string;
  /** How long leases and quotes last that end meanwhile. */
  readonly shortMs: number;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** Does something, and returns what is known of the flow then. */
type Work = () => Promise<JournalEntry | undefined>;

const longMs = 600_000;

/** Asks a journal for what owners ask for, late owners, and networks in which requests are repeated and overtake one another. */
export class CompetingClient {
  readonly #options: CompetingClientOptions;
  /** What it knows of each flow, the newest first. */
  readonly #known = new Map<string, readonly JournalEntry[]>();
  /** What it asked for last. */
  #asked: readonly (readonly [key: string, work: Work])[] = [];
  #count = 0;

  constructor(options: CompetingClientOptions) {
    this.#options = options;
  }

  /** One operation, at random. Rejects when the journal does. */
  async act(): Promise<void> {
    const { nextKey, random } = this.#options;
    const asked = random() < 0.12 ? this.#pick(this.#asked) : undefined;
    const [key, work] = asked ?? this.#next(nextKey());
    this.#asked = [[key, work] as const, ...this.#asked].slice(0, 6);
    const entry = await work();
    // Whoever was refused looks again before it does anything else, and not always.
    const known = this.#known.get(key) ?? [];
    if (entry !== undefined) this.#known.set(key, [entry, ...known].slice(0, 4));
    else if (random() < 0.7) this.#known.delete(key);
  }

  #next(key: string): readonly [key: string, work: Work] {
    const { journal, random } = this.#options;
    const [newest, ...older] = this.#known.get(key) ?? [];
    const seen = random() < 0.15 ? this.#pick(older) : newest;
    // Epochs repeat in a journal that was restored, with another nonce.
    const nonce = random() < 0.04 ? randomUUID() : seen?.nonce;
    if (seen !== undefined && nonce !== undefined) return [key, this.#workOn({ ...seen, nonce })];
    const [scope, state, lease] = [this.#options.scopeOf(key), this.#state(), this.#lease()];
    const begin: Work = async () => (await journal.begin(key, scope, state, lease)).entry;
    return [key, random() < 0.6 ? begin : () => journal.read(key)];
  }

  #workOn(seen: JournalEntry): Work {
    const { journal, random } = this.#options;
    const { key, scope, leaseUntilMs } = seen;
    const [state, lease] = [this.#state(), this.#lease()];
    const written = { ...seen, phase: state.phase, data: state.data, revision: seen.revision + 1 };
    const marked = random() < 0.3 ? { ...state, incarnationMark: lease.nonce } : state;
    const write = (leaseMs?: number): Work => {
      return async () => ((await journal.write(key, seen, marked, leaseMs)) ? written : undefined);
    };
    const observed = leaseUntilMs === undefined ? undefined : { ...seen, leaseUntilMs };
    const isExpired = this.#pick([undefined, true, false]);
    const works: readonly (readonly [share: number, work: Work])[] = [
      [12, () => journal.read(key)],
      // Its neighbour has the same beginning.
      [3, async () => void (await journal.list({ scope, after: key.slice(0, -1), limit: 2 }))],
      [18, write()],
      [14, write(lease.leaseMs)],
      [12, () => journal.acquire(key, lease)],
      [4, () => journal.acquire(key, lease, observed)],
      [4, () => journal.acquireAbandoned(scope, lease, undefined)],
      [8, async () => ((await journal.renew(key, seen, lease.leaseMs)) ? seen : undefined)],
      [8, async () => void (await journal.release(key, seen))],
      [seen.phase === "quoted" ? 40 : 2, () => journal.replaceQuote(key, seen, state, lease, isExpired)],
      [seen.phase === "quoted" ? 15 : 1, () => journal.fenceQuote(key, seen, lease.nonce)],
      [1, async () => void (await journal.prune(pruning(seen)))],
    ];
    return this.#pick(works.flatMap(([share, work]) => Array<Work>(share).fill(work))) ?? write();
  }

  #state(): JournalState {
    const { name, random, shortMs } = this.#options;
    this.#count += 1;
    const texts = { data: `${name} ${this.#count}`, evidence: `evidence of ${name} ${this.#count}` };
    const at = random();
    if (at < 0.6) return { phase: "open", settled: false, ...texts };
    if (at < 0.85) {
      return { phase: "quoted", settled: true, quoteTtlMs: this.#pick([shortMs, longMs]) ?? longMs, ...texts };
    }
    return { phase: this.#pick(["paid", "held"]) ?? "paid", settled: true, ...texts };
  }

  #lease(): LeaseRequest {
    const { name, shortMs } = this.#options;
    return { owner: name, leaseMs: this.#pick([shortMs, shortMs, longMs]) ?? longMs, nonce: randomUUID() };
  }

  #pick<T>(choices: readonly T[]): T | undefined {
    return choices[Math.floor(this.#options.random() * choices.length)];
  }
}

function pruning({ phase, updatedAtMs, expiresAtMs = updatedAtMs }: JournalEntry): PruneOptions {
  return phase === "quoted" ? { quotedBeforeMs: expiresAtMs + 1 } : { settledBeforeMs: updatedAtMs + 1 };
}
