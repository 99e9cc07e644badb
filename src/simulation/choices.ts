/**
 * Where every decision of a schedule comes from: whole numbers, made from a seed or replayed. 0 is always the choice in which nothing
 * goes wrong, so that a failing schedule gets simpler as its numbers get smaller and fewer.
 */
export class Choices {
  /** The decisions so far. */
  readonly made: number[] = [];
  /** From which numbers each of them was chosen. */
  readonly ranges: ChoiceRange[] = [];
  readonly #source: (index: number) => number;
  #isQuiet = false;

  private constructor(source: (index: number) => number) {
    this.#source = source;
  }

  /** Makes random choices. The same seed gives the same decisions. */
  static fromSeed(seed: number): Choices {
    const random = randomNumbers(seed);
    return new Choices(random);
  }

  /** Makes the choices that a function gives, by their number: any whole numbers from 0. */
  static from(source: (index: number) => number): Choices {
    return new Choices(source);
  }

  /** Repeats the choices of an earlier schedule, and 0 after its last one. */
  static replay(made: readonly number[]): Choices {
    return new Choices((index) => made[index] ?? 0);
  }

  /** Lets nothing go wrong from now on. */
  quieten(): void {
    this.#isQuiet = true;
  }

  /** Chooses a whole number from 0, below `count`. */
  below(count: number): number {
    return this.#draw(count, count);
  }

  /** True in so many of a thousand cases. */
  chance(perMille: number): boolean {
    return perMille > 0 && this.#draw(1000, 1000 - perMille) >= 1000 - perMille;
  }

  /** Chooses one of the items; the first where nothing goes wrong. */
  of<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }

  /** Chooses one of the items, as often as its weight says. */
  weighted<T>(items: readonly [readonly [item: T, weight: number], ...(readonly [item: T, weight: number])[]]): T {
    let drawn = this.below(items.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [item, weight] of items) {
      if (drawn < weight) return item;
      drawn -= weight;
    }
    return items[0][0];
  }

  #draw(count: number, happensFrom: number): number {
    if (this.#isQuiet || count <= 1) return 0;
    const drawn = this.#source(this.made.length) % count;
    this.made.push(drawn);
    this.ranges.push({ count, happensFrom });
    return drawn;
  }
}

/** What a decision was chosen from: the numbers below `count`. From `happensFrom` on, something happens that else does not. */
export interface ChoiceRange {
  readonly count: number;
  /** The same as `count` where something is chosen, and nothing goes wrong in any case. */
  readonly happensFrom: number;
}

/** The seed of one schedule of many. */
export function seedOf(seed: number, index: number): number {
  return Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(index + 1, 0xc2b2ae35);
}

/** SplitMix32: 32 bits at a time, any seed is a good one. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}
