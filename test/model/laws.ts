import type { Phase } from "../../src/flows/core/state.js";

// The laws of the durable flow. The search, the crash runs, and the simulator apply them to the facts of one key.

/** What was told to callers. Bits, so that many fit into one number. */
export const told = {
  /** An error with `effect: "none"`, while no other call used the key. */
  none: 1,
  paid: 2,
  declined: 4,
  rejected: 8,
  /** An operator was told that nothing was decided, although it was. */
  undecided: 16,
} as const;

export interface Facts {
  /** Payments that the service has made for the key. */
  readonly payments: number;
  readonly bank: "untouched" | "taken" | "declined" | "released";
  /** What the journal says. */
  readonly phase: Phase | "none" | "pruned";
  /** Bits of `told`. */
  readonly told: number;
  /** Decisions of operators that were stored. */
  readonly resends: number;
  readonly releases: number;
  /** A decision that needs proof was carried out although a payment was listed before it began. */
  readonly isBlind: boolean;
  /** What was carried out isn't what its people saw. */
  readonly isStale: boolean;
  /** A backup of the journal was restored: it forgets. */
  readonly isRestored: boolean;
  /** An ordinary day: nothing crashed, and no response was lost. */
  readonly isOrdinary: boolean;
}

type Law = (facts: Facts) => boolean;

const isMoved = ({ bank, payments }: Facts): boolean => bank === "taken" || payments > 0;

const isEnded: ReadonlySet<Facts["phase"]> = new Set(["none", "quoted", "declined", "rejected"]);

/** Each law, and what breaks it. */
export const laws: Readonly<Record<string, Law>> = {
  "1 paid twice": ({ payments, resends }) => payments > 1 + resends,
  "2 given back, and paid": ({ bank, payments, releases }) => bank === "released" && payments > 0 && releases === 0,
  "2 paid without the money": ({ bank, payments }) => payments > 0 && (bank === "untouched" || bank === "declined"),
  "3 money taken, and no flow has it": (f) => f.bank === "taken" && isEnded.has(f.phase) && !f.isRestored,
  "4 stored as paid, and nothing is paid": ({ phase, payments }) => phase === "paid" && payments === 0,
  "4 told paid, and nothing is paid": (f) => is(f, "paid") && f.payments === 0,
  "4 told paid, and stored otherwise": (f) =>
    is(f, "paid") && f.releases === 0 && f.phase !== "paid" && f.phase !== "pruned" && !f.isRestored,
  "4 told none, and money moved": (f) => is(f, "none") && isMoved(f) && !f.isRestored,
  "4 told declined, and money moved": (f) => is(f, "declined") && isMoved(f) && !f.isRestored,
  "4 told rejected, and paid or not given back": (f) =>
    is(f, "rejected") && isMoved(f) && f.releases === 0 && !f.isRestored,
  "4 told that nothing was decided, and it was": (f) => is(f, "undecided"),
  "4 decided with proof, beside a listed payment": ({ isBlind }) => isBlind,
  "4 decided on something else than was seen": ({ isStale }) => isStale,
  "5 held on an ordinary day": ({ phase, isOrdinary }) => isOrdinary && phase === "held",
};

function is(facts: Facts, what: keyof typeof told): boolean {
  return (facts.told & told[what]) !== 0;
}

const table = Object.entries(laws);

/** The first law that the facts break. */
export function brokenLaw(facts: Facts): string | undefined {
  for (const [name, isBroken] of table) if (isBroken(facts)) return name;
  return undefined;
}

/** Law 5: once faults stop, every flow gets into one of these. */
export function isSettled({ phase }: Pick<Facts, "phase">): boolean {
  return open.every((one) => one !== phase);
}

const open: readonly Facts["phase"][] = ["funds-requested", "claimed", "unknown", "refused"];
