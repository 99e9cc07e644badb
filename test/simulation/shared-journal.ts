import {
  type FlowScope,
  type Journal,
  type JournalState,
  type LeaseRequest,
  MemoryJournal,
  type StateId,
} from "cross-border-payments/flow";
import type { Decision, Phase } from "../../src/flows/core/state.js";
import { journalMethods } from "../../src/flows/journal.js";
import { epochMs, type Host } from "./virtual-time.js";
import type { World } from "./world.js";

/** What an operator wanted, by the decision's `why`. */
export interface Intention {
  readonly key: string;
  /** The revision that the operator saw. */
  seen: number;
  /** The payment was listed before it was carried out. */
  wasListed: boolean;
  /** The operator was told that nothing was decided. */
  isToldNo: boolean;
  /** Stored, with the revision that it replaced. */
  carriedOut?: { readonly decision: Decision; readonly revision: number };
}

/** One journal for all processes, by the true time. It notes what operators' decisions came to. */
export class SharedJournal extends MemoryJournal {
  readonly intentions = new Map<string, Intention>();
  readonly #world: World;
  readonly #phases = new Map<string, Phase>();

  constructor(world: World) {
    super({ nowMs: () => epochMs + world.time.nowMs });
    this.#world = world;
  }

  phaseOf(key: string): Phase | "none" {
    return this.#phases.get(key) ?? "none";
  }

  override async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    const begun = await super.begin(key, scope, state, lease);
    if (begun.created) this.#noteStored(key, state);
    return begun;
  }

  override async write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean> {
    const isStored = await super.write(key, id, state, quote);
    if (isStored) this.#noteDecision(state, id.revision);
    if (isStored) this.#noteStored(key, state);
    else this.#world.note(`${key}: ${state.phase} isn't stored`);
    return isStored;
  }

  /** As one process sees it. */
  seenFrom(host: Host): Journal {
    const methods = journalMethods.map((name) => {
      const method = (...given: never[]) => {
        const label = typeof given[0] === "string" ? `${name} ${given[0]}` : name;
        return this.#world.remote(host, "journal", label, () => Reflect.apply(this[name], this, given));
      };
      return [name, method];
    });
    return { ...Object.fromEntries(methods), close: async () => {} };
  }

  #noteStored(key: string, { phase }: JournalState): void {
    this.#phases.set(key, phase as Phase);
    this.#world.note(`${key} is ${phase}`);
  }

  #noteDecision({ data }: JournalState, revision: number): void {
    const { flow } = JSON.parse(data) as { readonly flow: { readonly decisions?: readonly Decision[] } };
    const decision = flow.decisions?.at(-1);
    const intention = decision && this.intentions.get(decision.why);
    if (decision && intention) intention.carriedOut ??= { decision, revision };
  }
}
