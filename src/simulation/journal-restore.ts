import type { Callers } from "./callers.js";
import type { Cluster } from "./cluster.js";
import type { SimulatedJournal, Turn } from "./simulated-journal.js";
import type { SimulatedService } from "./simulated-service.js";
import type { Truth } from "./truth.js";
import type { World } from "./world.js";

/** What a restored journal has to do with. */
interface Surroundings {
  readonly world: World;
  readonly cluster: Cluster;
  readonly callers: Callers;
  readonly journal: SimulatedJournal;
  readonly service: SimulatedService;
  readonly truth: Truth;
}

/** How often a restore is put off because a payment or a release is on its way. */
const mostDelays = 20;

/**
 * The journal loses its newest changes, once, at a moment at which every payment that was sent is listed, and every release has arrived
 * at the bank. Processes that were about to send one, or waited for its response, are stopped first: that is how a journal has to be restored.
 * Others go on, and don't know of it.
 */
export class JournalRestore {
  readonly #surroundings: Surroundings;
  #delays = 0;
  #isSudden = false;
  /** Which moment it is restored to, where that is settled. */
  #age: number | undefined;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /**
   * As `plan`, but nobody is stopped, and nothing is waited for: a server that lacks what was stored last takes the place of another one,
   * and a process that was about to send a payment sends it.
   */
  planSudden(): void {
    this.#isSudden = true;
    this.plan();
  }

  plan(): void {
    const { world, journal } = this.#surroundings;
    const { choices, profile } = world;
    if (profile.failsOver === "after a refusal, and back") {
      this.#onTurn("refuses", () => this.#soon(choices.below(2)));
      return;
    }
    if (profile.failsOver === "after another claim") {
      this.#afterClaim(true, 0);
      return;
    }
    if (profile.restoreMeets === "a new owner") {
      this.#onTurn("takes over", () => {
        this.#age = journal.age - 1;
        this.#soon(choices.below(profile.latencyMs));
      });
      return;
    }
    if (profile.restoreMeets === "a stopped owner") {
      this.#onTurn("claims", () => this.#beforeOneWakes());
      return;
    }
    const when = this.#isSudden
      ? choices.of(["after a claim", "after a claim", "after a change", "after a takeover", "some time"])
      : choices.of(["some time", "after a change", "after a takeover", "after a claim"]);
    if (when === "some time") {
      this.#soon(choices.below(10 * profile.leaseMs));
      return;
    }
    // Where a process has just stored something, and goes on.
    if (when === "after a claim") {
      const isAgain = this.#isSudden && choices.chance(700);
      this.#afterClaim(isAgain, choices.below(isAgain ? 2 : 6));
      return;
    }
    const age = choices.below(when === "after a change" ? 34 : 12);
    journal.onChanged = (turn) => {
      if (journal.age < age || (when === "after a takeover" && turn !== "takes over")) return;
      journal.onChanged = () => {};
      this.#soon(choices.below(profile.latencyMs * choices.of([1, 4])));
    };
  }

  /** @param earlier how many such claims come before. */
  #afterClaim(isAgain: boolean, earlier: number): void {
    const { world, journal } = this.#surroundings;
    const { choices, profile } = world;
    let left = earlier;
    journal.onChanged = (turn) => {
      if (turn !== "claims" || (isAgain && !journal.isClaimedAgain) || left-- > 0) return;
      journal.onChanged = () => {};
      this.#soon(choices.below(profile.latencyMs * choices.of([1, 4])));
    };
  }

  /** Once another one has claimed, just before a process goes on that stands still now. */
  #beforeOneWakes(): void {
    const { world, cluster, journal } = this.#surroundings;
    const { latencyMs } = world.profile;
    const asleep = cluster.processes.find(({ pausedUntilMs }) => pausedUntilMs > world.nowMs + 2 * latencyMs);
    this.#age = journal.ageBeforeClaimant;
    if (asleep === undefined || !journal.agesBefore("takes over").includes(this.#age)) {
      this.plan();
      return;
    }
    this.#soon(asleep.pausedUntilMs - world.nowMs - 1 - world.choices.below(latencyMs));
  }

  #soon(delayMs: number): void {
    this.#surroundings.world.plan(delayMs, "restoring the journal", undefined, () => void this.#restore());
  }

  async #restore(): Promise<void> {
    const { world, service, truth, journal, cluster } = this.#surroundings;
    const isOpen = service.hasUnlisted || [...truth.keys.values()].some(({ open }) => open > 0);
    if (isOpen && !this.#isSudden) {
      this.#delays += 1;
      if (this.#delays > mostDelays) return;
      if (world.profile.restoreMeets === "anyone") this.#soon(world.profile.leaseMs / 2);
      else this.plan();
      return;
    }
    for (const [key, { sendings }] of truth.keys) {
      const entry = await journal.read(key);
      if (entry === undefined) continue;
      const owner = cluster.processes.find(({ name, isDead }) => name === entry.owner && !isDead);
      const isSending = entry.phase === "claimed" || entry.phase === "unknown" || sendings > 0;
      if (owner !== undefined && isSending && !this.#isSudden) cluster.replace(owner);
    }
    const age = this.#age ?? this.#chooseAge();
    const lost = journal.age - age;
    const failBack = await this.#lose(() => journal.restore(age));
    world.note(`the journal is restored: its last ${lost} changes are lost`);
    await this.#goOn();
    if (world.profile.failsOver === "after a refusal, and back") this.#planFailBack(failBack);
  }

  /** When somebody has claimed a payment since, or some time later. */
  #planFailBack(failBack: () => Promise<void>): void {
    const { world } = this.#surroundings;
    const { choices, profile } = world;
    const goBack = async () => {
      await this.#lose(failBack);
      world.note("the journal fails back: all changes since are lost");
      await this.#goOn();
    };
    const soon = () => world.plan(choices.below(2 * profile.leaseMs), "failing back", undefined, () => void goBack());
    if (choices.chance(200)) soon();
    else this.#onTurn("claims", soon);
  }

  /** Once. */
  #onTurn(wanted: Turn, work: () => void): void {
    const { journal } = this.#surroundings;
    journal.onChanged = (turn) => {
      if (turn !== wanted) return;
      journal.onChanged = () => {};
      work();
    };
  }

  /** What a flow's caller was told may be forgotten. */
  async #lose<T>(work: () => Promise<T>): Promise<T> {
    const { journal, truth } = this.#surroundings;
    const before = new Map<string, string>();
    for (const key of truth.keys.keys()) {
      const entry = await journal.read(key);
      if (entry !== undefined) before.set(key, `${entry.phase} ${entry.nonce}`);
    }
    const lost = await work();
    for (const [key, known] of before) await this.#afterLoss(key, known);
    return lost;
  }

  /** Any number of changes, or just what gave a flow to its owner and everything after it; of a replica, also those of its lag. */
  #chooseAge(): number {
    const { world, journal } = this.#surroundings;
    const { choices, profile } = world;
    const isAfterClaim = profile.failsOver === "after another claim";
    const turn = choices.of<Turn | "lag" | "claimant" | "first claim" | undefined>(
      isAfterClaim
        ? ["lag", "first claim"]
        : this.#isSudden
          ? [undefined, "takes over", "begins", "claims", "lag", "lag", "claimant", "claimant"]
          : [undefined, "takes over", "begins"],
    );
    // By then no lease is left that the replica knows of, so that somebody takes over at once.
    if (turn === "lag") return journal.ageAgo(profile.leaseMs + choices.below(profile.leaseMs / 2));
    if (turn === "first claim") return journal.ageAfterFirstClaim;
    if (turn === "claimant") return journal.ageBeforeClaimant;
    const ages = turn === undefined ? [] : journal.agesBefore(turn);
    const newest = ages[ages.length - 1 - choices.below(Math.min(ages.length, 4))];
    return newest ?? Math.max(0, journal.age - 1 - choices.below(choices.of([4, 12, 60])));
  }

  async #afterLoss(key: string, known: string): Promise<void> {
    const { world, journal, truth, callers } = this.#surroundings;
    const entry = await journal.read(key);
    if (`${entry?.phase} ${entry?.nonce}` === known) return;
    const keyTruth = truth.of(key);
    keyTruth.lose();
    if (world.marks.isOpen(key))
      world.marks.happened(key, this.#isSudden ? "the journal fails over" : "the journal is restored");
    // The caller of a flow that is gone asks for it again.
    if (entry === undefined && world.choices.chance(500)) callers.runAgain(key);
  }

  /** Workers reconnect, and take over what looks abandoned. */
  async #goOn(): Promise<void> {
    const { world, cluster, callers } = this.#surroundings;
    const { choices, profile } = world;
    const recoverIn = (ms: number) => {
      const process = cluster.any();
      world.plan(ms, "recover", process, () => void callers.recover(process));
    };
    if (choices.chance(500)) recoverIn(1);
    if (this.#isSudden) recoverIn(choices.below(profile.leaseMs));
  }
}
