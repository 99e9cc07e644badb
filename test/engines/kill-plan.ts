import type { ServiceFault } from "../crash/service.js";
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import type { Point } from "./engine-messages.js";

export interface Kill {
  readonly point: Point;
  /** How long after a worker has got there it is killed. */
  readonly delayMs: number;
}

/** Which workers are killed when, and what goes wrong at the service: all from one seed. */
export class KillPlan {
  readonly kills: readonly Kill[];
  /** Every flow so far. */
  readonly keys: string[] = [];
  readonly #seed: number;
  /** Flows whose first response is lost, so that they have to be looked up. */
  readonly #lost = new Set<string>();

  constructor(seed: number, kills: number) {
    this.#seed = seed;
    const random = seededRandom(seed);
    this.kills = Array.from({ length: kills }, (_, index) => ({
      point: points[index % points.length] ?? "send",
      delayMs: 50 * random(),
    }));
  }

  /** New flows, which will pass through the point. */
  nextKeys(count: number, point?: Point): readonly string[] {
    const keys = Array.from({ length: count }, (_, index) => `order-${this.keys.length + index}`);
    if (point === "look") for (const key of keys) this.#lost.add(key);
    this.keys.push(...keys);
    return keys;
  }

  /** Whether the caller asks for this payment twice. */
  isRepeated(key: string): boolean {
    return this.#randomOf(`repeats ${key}`)() < 0.05;
  }

  fault(operation: string | undefined, key: string, attempt: number): ServiceFault {
    if (operation === "payments.create" && attempt === 1 && this.#lost.has(key)) return "lost";
    const faults = operation === "payments.create" ? paymentFaults : otherFaults;
    return weighted(this.#randomOf(`${operation} ${key} ${attempt}`), faults);
  }

  #randomOf(text: string): () => number {
    let seed = this.#seed;
    for (const character of text) seed = derivedSeed(seed, character.codePointAt(0) ?? 0);
    return seededRandom(seed);
  }
}

const points: readonly Point[] = ["take", "send", "look", "send"];

const paymentFaults: readonly (readonly [number, ServiceFault])[] = [
  [48, "none"],
  [20, "slow-response"],
  [20, "slow-commit"],
  [5, "lost"],
  [4, "unavailable-after"],
  [3, "refuse"],
];

const otherFaults: readonly (readonly [number, ServiceFault])[] = [
  [70, "none"],
  [26, "slow-response"],
  [2, "unavailable"],
  [2, "lost"],
];
