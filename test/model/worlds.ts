import type { Config } from "../../src/flows/core/state.js";
import type { Fault, WorldOptions } from "./world.js";

const config: Config = { readBacks: 1, bankSkewMs: 0, maxUnauthorized: 1, maxUnread: 1, maxRepeats: 1, facts: {} };
const listed: Config = { ...config, facts: { listedWithinMs: 1 } };
const single: Config = { ...config, facts: { singleUseIntents: true } };
const base = { config, processes: 2, calls: ["run"] } as const;
const runs = { ...base, calls: ["run", "run"] } as const;

/** All but payments whose responses are lost or late. */
const quiet: Fault[] = [
  "crash",
  "lapse",
  "fails",
  "bank",
  "declined",
  "refused",
  "unauthorized",
  "throttled",
  "unsent",
  "unreadable",
  "journal",
  "late",
];
const ordinary: Fault[] = ["crash", "lapse", "journal", "late", "lostResponse", "lateRequest", "unauthorized"];

type World = Omit<WorldOptions, "faults">;

/** Worlds in which all laws hold. */
export const worlds = {
  run: base,
  runs,
  quote: { ...base, calls: ["quote", "confirm"] },
  quotes: { ...base, calls: ["quote", "confirm", "cancel"] },
  confirms: { ...base, calls: ["quote", "quote", "confirm", "confirm"] },
  mixed: { ...base, calls: ["quote", "run", "cancel"] },
  strict: { ...base, calls: ["quote", "confirm", "confirm"], strictNone: true },
  three: { ...runs, processes: 3 },
  patient: { ...base, config: { ...config, readBacks: 2, maxUnauthorized: 2, maxUnread: 2, maxRepeats: 2 } },
  // An ordinary service that throttles, an ordinary bank, and impatient callers: nothing is held.
  ordinary: { ...base, config: { ...config, maxUnread: 8 }, isOrdinary: true, without: ordinary },
  ordinaryForbidden: {
    ...base,
    config: { ...config, maxUnread: 8 },
    isOrdinary: true,
    without: ordinary,
    lists: "forbidden",
  },
  forbidden: { ...base, lists: "forbidden" },
  forbiddenOperator: { ...base, lists: "forbidden", operators: 1 },
  prompt: { ...base, lists: "prompt", operators: 1 },
  // A proxy sends twice, and the list shows it at once.
  duplicates: { ...base, lists: "prompt", duplicates: true, without: ["unreadable", "lostResponse", "lateRequest"] },
  listed: { ...base, config: listed },
  listedOperator: { ...base, config: listed, operators: 1 },
  single: { ...base, config: single },
  both: { ...base, config: { ...config, maxRepeats: 2, facts: { ...listed.facts, ...single.facts } } },
  operator: { ...base, operators: 1 },
  operators: { ...base, operators: 2, looks: true },
  operatorsQuiet: { ...base, operators: 2, looks: true, without: quiet },
  pairs: { ...base, operators: 2, looks: true, pairs: true, fewChoices: true },
  pairsOfThree: { ...base, operators: 3, looks: true, pairs: true, fewChoices: true, without: quiet },
  pruned: { ...runs, prune: true },
  prunedConfirms: { ...base, calls: ["quote", "confirm", "confirm"], prune: true },
  restored: { ...base, restore: "stopped" },
  restoredRuns: { ...runs, restore: "stopped" },
  restoredConfirms: { ...base, calls: ["quote", "confirm", "confirm"], restore: "stopped" },
  restoredListed: { ...base, config: listed, restore: "stopped" },
  restoredSingle: { ...base, config: single, restore: "stopped" },
  restoredOperator: { ...base, restore: "stopped", operators: 1 },
  lost: { ...runs, restore: "lost" },
  lostForbidden: { ...runs, restore: "lost", lists: "forbidden" },
  lostConfirms: { ...base, calls: ["quote", "confirm", "quote", "confirm"], restore: "lost", lists: "forbidden" },
  lostOperator: { ...runs, restore: "lost", operators: 1 },
  lostForbiddenOperator: { ...runs, restore: "lost", lists: "forbidden", operators: 1 },
  lostSkew: { ...runs, config: { ...config, bankSkewMs: 1 }, restore: "lost" },
  // The bank took the money less than bankSkewMs before the new entry.
  lostRecently: {
    ...runs,
    config: { ...config, bankSkewMs: 1 },
    restore: "lost",
    lists: "forbidden",
    without: ["crash", "lapse", "fails", "journal", "bank", "unsent", "unauthorized", "throttled"],
  },
} as const satisfies Record<string, World>;

export type WorldName = keyof typeof worlds;

/** Worlds that `docs/security-model.md` puts outside: a law breaks in each. So the search does see it. */
export const outside = {
  "a backup is restored while processes run": { ...runs, restore: "running" },
  "a backup is restored before the list shows what was sent": { ...runs, restore: "lagging" },
  "a backup is restored, and the service refuses the list": { ...runs, restore: "stopped", lists: "forbidden" },
  "a proxy sends twice, and the list lags": { ...base, duplicates: true },
  "listedWithinMs isn't true": { ...base, config: listed, isUntrue: true },
  "singleUseIntents isn't true": { ...base, config: single, isUntrue: true },
} as const satisfies Record<string, World>;
