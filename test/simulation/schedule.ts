import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import type { ServiceOptions } from "./service.js";
import type { Fault, Weather } from "./world.js";

export interface Schedule extends Omit<ServiceOptions, "aheadMs"> {
  readonly weather: Weather;
  /** Nothing may be held. */
  readonly isOrdinary: boolean;
  readonly keys: readonly string[];
  readonly processes: number;
  /** People that a decision takes; 0 if nobody decides. */
  readonly people: 0 | 1 | 2;
  /** The bank takes longer than a lease for each call. */
  readonly isBankSlow: boolean;
  /** How far clocks differ from the true time. */
  readonly skewMs: number;
  readonly readBacks: number;
  readonly readBackDelayMs: number;
  readonly faultsMs: number;
}

/** Faults of an ordinary day: no process dies, and no response of the service is lost. */
const ordinary: readonly Fault[] = [
  "declined",
  "refused",
  "throttled",
  "token",
  "bank lost",
  "bank unanswered",
  "abort",
];

const hostile: readonly (readonly Fault[])[] = [
  ["journal lost", "journal unanswered", "journal late", "journal slow", "journal twice"],
  ["service lost", "service unanswered", "service late", "service slow"],
  ["unauthorized", "unavailable", "unconfirmed", "another", "unreadable"],
  ["bank late", "bank slow", "bank twice"],
  ["kill", "stall", "clock"],
];

/** What happens in a schedule follows from its seed alone. Each has some groups of faults, and of each group some faults. */
export function scheduleOf(seed: number): Schedule {
  const random = seededRandom(derivedSeed(seed, 0));
  const oneOf = <T>(...choices: readonly (readonly [number, T])[]): T => weighted(random, choices);
  const some = (faults: readonly Fault[], share: number) => faults.filter(() => random() < share);
  const isOrdinary = random() < 0.1;
  const groups = isOrdinary ? [] : hostile.filter(() => random() < 0.45);
  const faults = [...some(ordinary, 0.3), ...groups.flatMap((group) => some(group, 0.6))];
  const weather = Object.fromEntries(faults.map((fault) => [fault, oneOf([1, 0.05], [2, 0.15], [1, 0.3])]));
  const listedWithinMs = oneOf([7, undefined], [2, 4_000], [1, 12_000]);
  const singleUseIntents = random() < 0.25;
  return {
    weather,
    isOrdinary,
    keys: ["order-1", "order-2", "order-3"].slice(0, oneOf([1, 1], [1, 2], [2, 3])),
    processes: oneOf([2, 2], [1, 3]),
    people: isOrdinary ? 0 : oneOf([6, 0 as const], [2, 1 as const], [1, 2 as const]),
    isBankSlow: random() < 0.1,
    skewMs: oneOf([2, 0], [1, 2_000], [1, 20_000]),
    readBacks: oneOf([1, 0], [1, 1], [2, 2]),
    readBackDelayMs: oneOf([1, 1_000], [1, 5_000]),
    faultsMs: oneOf([1, 45_000], [2, 120_000]),
    lagMs: listedWithinMs ?? oneOf([1, 0], [2, 3_000], [2, 45_000]),
    isListForbidden: random() < 0.2,
    facts: { ...(listedWithinMs && { listedWithinMs }), ...(singleUseIntents && { singleUseIntents }) },
    others: oneOf([8, 3], [1, 0], [1, 130]),
  };
}
