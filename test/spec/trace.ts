import type { JournalEntry, JournalState } from "../../src/flows/journal.js";

/** The steps of one flow, each a record of TLA+ that spec/trace.tla reads. */
export interface Trace {
  /** Where it comes from, for the reader of one that is no behaviour of the specification. */
  readonly name: string;
  readonly facts: Facts;
  readonly steps: readonly Step[];
  /**
   * Changes of the journal of which it is known in which order they were made, and not when. Each says after how many of the steps, and
   * each step after how many of them.
   */
  readonly stored?: readonly Step[];
}

/** What the service's operators promise, as far as the flow is told. */
export interface Facts {
  readonly singleUse: boolean;
  readonly listedWithin: boolean;
}

/** A name of an action of spec/trace.tla, and its arguments. */
export interface Step {
  readonly op: string;
  readonly [argument: string]: Value;
}

type Value = string | number | boolean | readonly Value[] | { readonly [name: string]: Value };

/** How long an owner has to wait before a look that decides, in milliseconds. */
export interface Waits {
  readonly leaseMs: number;
  readonly lagMs: number;
}

interface StoredClaim {
  readonly epoch: number;
  readonly claimedAtMs: number;
  readonly sendByMs: number;
  readonly isRefused?: boolean;
  readonly isAbsent?: boolean;
}

interface StoredLook {
  readonly claims: number;
  readonly complete: boolean;
  readonly found?: boolean;
  readonly lookalike?: unknown;
}

interface StoredFlow {
  readonly phase: string;
  readonly claims?: readonly StoredClaim[];
  readonly looks?: readonly StoredLook[];
  readonly refusal?: unknown;
  readonly senderGatewayTransactionId?: string;
  readonly isTakenSince?: boolean;
  readonly decisions?: readonly { readonly action: string }[];
}

interface Owner {
  readonly number: number;
  readonly process: string;
  /** Since when it may have waited. */
  sinceMs: number;
  readonly handed: Set<number>;
  decisions: number;
  /** Whether its newest write is a claim, which it may send. */
  isClaiming: boolean;
  hasEnded: boolean;
}

/** Ownership of one flow, as the journal names it. */
interface OwnerId {
  readonly epoch: number;
  readonly nonce: string;
}

/** Writes the steps of one flow down, from what its journal, its service and its bank were asked. */
export class FlowTrace {
  readonly #steps: Step[] = [];
  readonly #waits: Waits;
  readonly #owners = new Map<string, Owner>();
  /** Claims by what is stored of them. */
  readonly #claims = new Map<string, number>();
  #pending: { readonly sending: number; readonly atMs: number }[] = [];
  /** Whether something happened that the specification does not know of. */
  isOver = false;
  wasRestored = false;
  /** What each further step says of its place, for those that have none in one order of all. */
  bounds: Readonly<Record<string, number>> = {};

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** Without looks that nothing rests on: TLC would try each. */
  get steps(): readonly Step[] {
    const resting = this.#restingHands();
    const owners = new Set<number>();
    const steps: Step[] = [];
    for (const step of this.#steps.toReversed()) {
      if (step.op === "hand") {
        if (resting.has(step)) owners.add(Number(step.o));
        else owners.delete(Number(step.o));
      }
      if (step.op !== "look") steps.push(step);
      else {
        const looks = looksIn(step).filter(({ o }) => owners.has(o));
        if (looks.length > 0) steps.push({ ...step, looks });
      }
    }
    return steps.reverse();
  }

  /** What follows from a look, or may; and the first write of an owner that knows of no lost claim, which it may have waited for. */
  #restingHands(): ReadonlySet<Step> {
    const hands = new Set<Step>();
    const knowing = new Set<Step[string]>();
    for (const step of this.#steps) {
      if (step.op === "renew") knowing.delete(step.o ?? 0);
      if (step.op !== "hand") continue;
      const isNew = step.mark === true && !knowing.has(step.o ?? 0);
      if (isNew || restingPhases.has(String(step.phase))) hands.add(step);
      if (step.mark === true) knowing.add(step.o ?? 0);
    }
    return hands;
  }

  add(atMs: number, step: Step): void {
    if (this.isOver) return;
    this.#list(atMs);
    this.#steps.push({ ...step, ...this.bounds });
  }

  /** What is listed by now. */
  #list(atMs: number): void {
    const due = this.#pending.filter((listing) => listing.atMs <= atMs);
    this.#pending = this.#pending.filter((listing) => listing.atMs > atMs);
    for (const { sending } of due) this.#steps.push({ op: "listed", sending, ...this.bounds });
  }

  begun(atMs: number, entry: JournalEntry, process: string): void {
    // The journal has lost the entry, and a repeated request makes it once more.
    const o = this.#own(atMs, entry, process);
    this.add(atMs, o === undefined ? { op: "begin", phase: entry.phase } : { op: "begin again", o });
  }

  replaced(atMs: number, entry: JournalEntry, process: string): void {
    const o = this.#own(atMs, entry, process);
    if (o === undefined) this.add(atMs, { op: "replace", phase: entry.phase });
  }

  /**
   * @param wasFree whether the lease before was over by the journal's clock, or was seen unchanged for the whole of its length.
   * @param isSeen whether a clock of its owner's certainly shows that, too.
   */
  acquired(atMs: number, entry: JournalEntry, process: string, wasFree: boolean, isSeen = true): void {
    const o = this.#own(atMs, entry, process);
    this.add(atMs, o === undefined ? { op: "acquire", wasFree, isSeen } : { op: "renew", o });
  }

  released(atMs: number, id: OwnerId): void {
    const owner = this.#ownerOf(id);
    if (owner === undefined) return;
    owner.hasEnded = true;
    this.add(atMs, { op: "let go", o: owner.number });
  }

  renewed(atMs: number, id: OwnerId): void {
    const owner = this.#ownerOf(id);
    // Until something is lost, a renewal changes nothing that the laws see.
    if (owner !== undefined && this.wasRestored) this.add(atMs, { op: "renew", o: owner.number });
  }

  /** An owner hands a write to the journal. */
  handed(
    atMs: number,
    id: OwnerId & { readonly revision: number },
    { phase, data, incarnationMark }: JournalState,
  ): void {
    const owner = this.#ownerOf(id);
    if (owner === undefined) return;
    owner.handed.add(id.revision);
    owner.isClaiming = phase === "claimed";
    const flow = flowIn(data);
    const claims = flow.claims ?? [];
    const newest = claims.at(-1);
    if (phase === "claimed" && newest !== undefined && !this.#claims.has(nameOf(newest))) {
      this.#claims.set(nameOf(newest), this.#claims.size + 1);
      owner.sinceMs = atMs;
    }
    const open = claims.filter(({ isRefused, isAbsent }) => isRefused !== true && isAbsent !== true);
    const decisions = flow.decisions?.length ?? 0;
    const look = flow.looks?.at(-1);
    // What it waited shows that it knows of all claims, whatever came of the look after that.
    if (incarnationMark !== undefined) this.#look(atMs, [owner]);
    this.add(atMs, {
      op: "hand",
      o: owner.number,
      phase,
      claims: open.map((claim) => this.#claims.get(nameOf(claim)) ?? 0),
      no: flow.refusal !== undefined,
      txn: flow.senderGatewayTransactionId !== undefined,
      sure: flow.isTakenSince === true,
      mark: incarnationMark !== undefined,
      sawNothing: look?.complete === true && look.found !== true && look.lookalike === undefined,
      decision: decisions > owner.decisions ? (flow.decisions?.at(-1)?.action ?? "") : "none",
    });
    owner.decisions = decisions;
  }

  stored(atMs: number, id: OwnerId & { readonly revision: number }, isStored: boolean): void {
    const owner = this.#ownerOf(id);
    // A row that somebody repairs by hand is no write of its owner's.
    if (owner?.handed.has(id.revision)) this.add(atMs, { op: "store", o: owner.number, rev: id.revision, isStored });
  }

  /** Its owner is told that a write was stored. */
  told(atMs: number, id: OwnerId): void {
    const owner = this.#ownerOf(id);
    if (owner !== undefined) this.add(atMs, { op: "learn", o: owner.number });
  }

  pruned(atMs: number, entry: JournalEntry | undefined): void {
    this.add(atMs, { op: entry === undefined ? "prune quote" : "prune" });
  }

  restored(atMs: number, entry: JournalEntry | undefined): void {
    this.wasRestored = true;
    const owner = entry === undefined ? undefined : this.#ownerOf(entry);
    const isPruned = entry?.prunedAtMs !== undefined;
    this.add(atMs, {
      op: "restore",
      o: owner?.number ?? 0,
      rev: entry?.revision ?? 0,
      phase: isPruned ? "pruned" : (entry?.phase ?? "none"),
      lease: entry?.leaseUntilMs !== undefined,
    });
  }

  sent(atMs: number, process: string): void {
    const owners = this.#of(process);
    for (const owner of owners) if (owner.isClaiming) owner.sinceMs = atMs;
    this.add(atMs, { op: "send", os: owners.map(({ number }) => number) });
  }

  paid(atMs: number, sending: number, listedAtMs: number): void {
    this.add(atMs, { op: "commit", sending });
    this.#pending.push({ sending, atMs: listedAtMs });
  }

  asked(atMs: number, process: string, answer: "first" | "replayed" | "null"): void {
    this.add(atMs, { op: "take", os: this.#of(process).map(({ number }) => number), answer });
  }

  gaveBack(atMs: number, process: string, op: "order" | "give"): void {
    this.add(atMs, { op, os: this.#of(process).map(({ number }) => number) });
  }

  /** A process reads the list of payments, for which of its flows is not known. */
  looked(atMs: number, process: string): void {
    this.#look(atMs, this.#of(process));
  }

  #look(atMs: number, owners: readonly Owner[]): void {
    const looks = owners.map(({ number, sinceMs }) => ({ o: number, waited: this.#waited(atMs - sinceMs) }));
    if (looks.length === 0 || this.isOver) return;
    this.#list(atMs);
    const last = this.#steps.at(-1);
    if (last?.op === "look" && JSON.stringify(last.looks) === JSON.stringify(looks)) return;
    this.add(atMs, { op: "look", looks });
  }

  #waited(ms: number): number {
    const { leaseMs, lagMs } = this.#waits;
    const reachedMs = Math.ceil(ms + 1);
    return reachedMs >= leaseMs + lagMs ? 2 : reachedMs >= lagMs ? 1 : 0;
  }

  /** @returns the number of an owner that is known, whose request has arrived a second time. */
  #own(atMs: number, entry: JournalEntry, process: string): number | undefined {
    const known = this.#ownerOf(entry);
    if (known !== undefined) return known.number;
    const number = this.#owners.size + 1;
    const decisions = entry.data === "" ? 0 : (flowIn(entry.data).decisions?.length ?? 0);
    this.#owners.set(`${entry.epoch} ${entry.nonce}`, {
      number,
      process,
      sinceMs: atMs,
      handed: new Set(),
      decisions,
      isClaiming: false,
      hasEnded: false,
    });
    return undefined;
  }

  #ownerOf({ epoch, nonce }: OwnerId): Owner | undefined {
    return this.#owners.get(`${epoch} ${nonce}`);
  }

  #of(process: string): readonly Owner[] {
    return [...this.#owners.values()].filter((owner) => owner.process === process && !owner.hasEnded);
  }
}

/** States that follow from a look, or may. One that stays unknown does not. */
const restingPhases: ReadonlySet<string> = new Set([
  "funds-requested",
  "claimed",
  "paid",
  "held",
  "refused",
  "rejected",
]);

type StepLook = { readonly o: number; readonly waited: number };

function looksIn({ looks }: Step): readonly StepLook[] {
  return looks as unknown as readonly StepLook[];
}

/** The ciphers of the simulation write a word before it. */
function flowIn(data: string): StoredFlow {
  return JSON.parse(data.slice(data.indexOf("{"))).state;
}

function nameOf({ epoch, claimedAtMs, sendByMs }: StoredClaim): string {
  return `${epoch} ${claimedAtMs} ${sendByMs}`;
}
