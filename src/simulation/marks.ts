import type { FlowEvent, FlowPhase } from "../events/flow-event.js";

/** Where a flow was when something happened to it. */
export type Place = FlowPhase | "no flow";

/** What a step led to: another phase, the same one, or an error. */
export type MarkedDecision = FlowPhase | "goes on" | "fails";

const everywhere = ["no flow", "quoted", "funds-requested", "claimed", "unknown", "refused", "held"] as const;
const open = ["funds-requested", "claimed", "unknown", "refused"] as const;
/** Where the list of payments is read: for the mark, or for a payment. */
const looking = ["no flow", "quoted", "funds-requested", "unknown", "held"] as const;
const sending = ["claimed"] as const;
const asking = ["no flow", "quoted"] as const;
const taking = ["funds-requested"] as const;
const releasing = ["refused"] as const;

/** What can happen to a flow between two of its steps, and where. */
export const happenings = {
  nothing: everywhere,
  "its process is killed": open,
  "its process is paused": open,
  "its process is suspended": open,
  "its process's clock is set": open,
  "its process shuts down": open,
  "another process takes it over": open,
  "another caller asks for it": open,
  "its caller gives up": open,

  "a write fails": everywhere,
  "a write is stored, and its response is lost": everywhere,
  "a write comes late": everywhere,
  "a write comes twice": everywhere,
  "a write is slow": everywhere,
  "the journal's clock is set back": open,
  "the journal is restored": open,
  "the journal fails over": open,
  "the base URL changes": open,

  "the intent's request is lost": asking,
  "the intent's response is lost": asking,
  "the intent is refused": asking,
  "the intent is refused for now": asking,
  "something else responds to the intent": asking,

  "takeFunds fails": taking,
  "takeFunds takes, and its response is lost": taking,
  "takeFunds is slow": taking,
  "takeFunds declines": taking,
  "takeFunds had taken before": taking,
  "releaseFunds fails": releasing,
  "releaseFunds releases, and its response is lost": releasing,
  "releaseFunds is slow": releasing,

  "the connection is refused": sending,
  "the connection is slow": sending,
  "the payment is lost": sending,
  "the payment's response is lost": sending,
  "the payment arrives late": sending,
  "the payment is sent twice by a proxy": sending,
  "the payment is sent twice, the second time late": sending,
  "the payment is refused": sending,
  "the payment is refused for now": sending,
  "the payment arrives, and something else responds": sending,
  "the payment arrives late, and something else responds before": sending,
  "something else responds to the payment": sending,
  "the payment arrives, and a proxy refuses it": sending,

  "no list comes": looking,
  "the list comes from a cache": looking,
  "a page is empty once": looking,
  "a page is stale": looking,
  "the list is old": looking,
  "the payment is not listed yet": ["unknown"],
  "a lookalike is listed": ["funds-requested", "unknown"],

  "an operator decides found": ["held"],
  "an operator decides release": ["held"],
  "an operator decides resend": ["held"],
} as const satisfies Readonly<Record<string, readonly Place[]>>;

export type Happening = keyof typeof happenings;

/** What a flow can do from each place, by its protocol. Whatever else it does is a mistake of its own. */
export const decisions = {
  "no flow": ["quoted", "funds-requested", "rejected"],
  quoted: ["funds-requested", "declined"],
  "funds-requested": ["goes on", "fails", "claimed", "paid", "refused", "held", "declined"],
  claimed: ["funds-requested", "paid", "unknown", "held"],
  unknown: ["goes on", "fails", "funds-requested", "paid", "refused", "held"],
  refused: ["fails", "rejected"],
  held: ["funds-requested", "paid", "refused"],
} as const satisfies Readonly<Partial<Record<Place, readonly MarkedDecision[]>>>;

/** Every cell of (phase × what happened × decision) that the protocol has. */
export function allCells(): readonly string[] {
  return Object.entries(happenings).flatMap(([what, places]) =>
    places.flatMap((place) => decisions[place].map((decision) => cellOf(place, what, decision))),
  );
}

export function cellOf(place: string, what: string, decision: string): string {
  return `${place}: ${what}: ${decision}`;
}

/** What a step that a flow reports led to. */
export function decisionOf({ from, to, code, effect }: Step): MarkedDecision {
  if (to !== from) return to;
  // Of a payment that is looked for, every step says that it may have been made.
  return code !== undefined || (effect !== undefined && from !== "unknown") ? "fails" : "goes on";
}

/** What a mark needs of the event. */
export type Step = Pick<FlowEvent, "from" | "to" | "code" | "effect">;

/** Which cases of the bank's two functions there are, and what it means that one never came up. */
export const fundsMarks = {
  "takeFunds took money": "takeFunds never took money",
  "takeFunds returned null": "takeFunds never returned null: no flow was declined",
  "takeFunds was called again": "takeFunds was never called again for a key whose money it had taken",
  "takeFunds was called after a release": "takeFunds was never called again for a key whose money was given back",
  "releaseFunds was called": "releaseFunds was never called, or failed each time",
  "releaseFunds was called again": "releaseFunds was never called again for a key whose money it had given back",
} as const;

export type FundsMark = keyof typeof fundsMarks;

/** What a schedule reached: cells, cases of the bank's functions, and rules where those are marked. */
export class Marks {
  /** How often each was reached. */
  readonly reached = new Map<string, number>();
  readonly #since = new Map<string, Set<Happening>>();
  /** The processes that work on flows, by key. */
  readonly #owners = new Map<string, string>();

  /** Something happens to a flow. It belongs to the flow's next step. */
  happened(key: string, what: Happening): void {
    const since = this.#since.get(key);
    if (since === undefined) this.#since.set(key, new Set([what]));
    else since.add(what);
  }

  /** Something happens to every flow that a process works on. */
  happenedTo(process: string, what: Happening): void {
    for (const [key, owner] of this.#owners) if (owner === process) this.happened(key, what);
  }

  /** Something happens to every flow that any process works on. */
  happenedToAll(what: Happening): void {
    for (const key of this.#owners.keys()) this.happened(key, what);
  }

  owns(process: string, key: string): void {
    const earlier = this.#owners.get(key);
    this.#owners.set(key, process);
    if (earlier !== undefined && earlier !== process) this.happened(key, "another process takes it over");
  }

  /** Whether a process works on it. */
  isOpen(key: string): boolean {
    return this.#owners.has(key);
  }

  decided(event: Step & Pick<FlowEvent, "key">): void {
    const { key, from = "no flow" } = event;
    const decision = decisionOf(event);
    const since = this.#since.get(key);
    this.#since.delete(key);
    if (outcomes.has(event.to)) this.#owners.delete(key);
    let isCaused = false;
    for (const what of since ?? []) {
      // What happened while the flow was elsewhere, or to another of its owners, says nothing about this step.
      if (!(happenings[what] as readonly Place[]).includes(from)) continue;
      isCaused = true;
      this.reach(cellOf(from, what, decision));
    }
    if (!isCaused) this.reach(cellOf(from, "nothing", decision));
  }

  /** `mark` is reached once more. */
  reach(mark: string): void {
    this.reached.set(mark, (this.reached.get(mark) ?? 0) + 1);
  }

  noteFunds(mark: FundsMark): void {
    this.reach(mark);
  }
}

const outcomes: ReadonlySet<FlowPhase> = new Set<FlowPhase>(["declined", "paid", "rejected", "held"]);
