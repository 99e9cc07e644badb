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
    if (profile.failsOver === "after another claim") {
      this.#afterClaim(true, 0);
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

  #soon(delayMs: number): void {
    this.#surroundings.world.plan(delayMs, "restoring the journal", undefined, () => void this.#restore());
  }

  async #restore(): Promise<void> {
    const { world, service, truth, journal, cluster } = this.#surroundings;
    const isOpen = service.hasUnlisted || [...truth.keys.values()].some(({ open }) => open > 0);
    if (isOpen && !this.#isSudden) {
      this.#delays += 1;
      if (this.#delays <= mostDelays) this.#soon(world.profile.leaseMs / 2);
      return;
    }
    const before = new Map<string, string>();
    for (const [key, { sendings }] of truth.keys) {
      const entry = await journal.read(key);
      if (entry === undefined) continue;
      before.set(key, `${entry.phase} ${entry.nonce}`);
      const owner = cluster.processes.find(({ name, isDead }) => name === entry.owner && !isDead);
      const isSending = entry.phase === "claimed" || entry.phase === "unknown" || sendings > 0;
      if (owner !== undefined && isSending && !this.#isSudden) cluster.replace(owner);
    }
    const age = this.#chooseAge();
    const lost = journal.age - age;
    await journal.restore(age);
    world.note(`the journal is restored: its last ${lost} changes are lost`);
    for (const [key, known] of before) await this.#afterLoss(key, known);
    await this.#goOn();
  }

  /** Any number of changes, or just what gave a flow to its owner and everything after it; of a replica, also those of its lag. */
  #chooseAge(): number {
    const { world, journal } = this.#surroundings;
    const { choices, profile } = world;
    const isAfterClaim = profile.failsOver === "after another claim";
    const turn = choices.of<Turn | "lag" | "claimant" | undefined>(
      isAfterClaim
        ? ["lag"]
        : this.#isSudden
          ? [undefined, "takes over", "begins", "claims", "lag", "lag", "claimant", "claimant"]
          : [undefined, "takes over", "begins"],
    );
    // By then no lease is left that the replica knows of, so that somebody takes over at once.
    if (turn === "lag") return journal.ageAgo(profile.leaseMs + choices.below(profile.leaseMs / 2));
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
    keyTruth.wasLost = true;
    if (world.marks.isOpen(key))
      world.marks.happened(key, this.#isSudden ? "the journal fails over" : "the journal is restored");
    keyTruth.toldNothing = undefined;
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
