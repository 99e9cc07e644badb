import { Choices, randomNumbers, seedOf } from "./choices.js";

/** A schedule that reached something new. */
interface Kept {
  readonly made: readonly number[];
  /** Where something happens that else does not. */
  readonly faults: readonly number[];
}

/** Of a hundred schedules, so many are drawn anew. */
const freshShare = 40;
/** Of one mark, the newest so many schedules are kept. */
const mostKept = 4;

/**
 * Draws schedules that look for something new: those that reached a mark, or two marks together, for the first time are kept, and changed in
 * places. The rarer a mark is, the likelier a schedule that reached it is taken.
 */
export class Guide {
  readonly #seed: number;
  readonly #draw: () => number;
  readonly #counts = new Map<string, number>();
  readonly #kept = new Map<string, Kept[]>();
  readonly #names: string[] = [];
  #schedules = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#draw = randomNumbers(seedOf(seed, -2));
  }

  /** The next schedule. The same seed gives the same ones, as long as they reach the same. */
  next(): Choices {
    const index = this.#schedules;
    this.#schedules += 1;
    const parent = this.#below(100) < freshShare ? undefined : this.#parent();
    if (parent === undefined) return Choices.fromSeed(seedOf(this.#seed, index));
    return Choices.from(this.#changed(parent, randomNumbers(seedOf(this.#seed, index))));
  }

  /** Learns what a schedule reached. `near` are marks of one kind, of which pairs count too. */
  learn({ made, ranges }: Choices, marks: Iterable<string>, pairable: (mark: string) => boolean): void {
    const single = [...marks];
    const paired = single.filter(pairable).sort();
    const pairs = paired.flatMap((one, index) => paired.slice(index + 1).map((other) => `${one} + ${other}`));
    let kept: Kept | undefined;
    for (const mark of [...single, ...pairs]) {
      const count = (this.#counts.get(mark) ?? 0) + 1;
      this.#counts.set(mark, count);
      if (count > mostKept) continue;
      kept ??= {
        made: [...made],
        faults: ranges.flatMap(({ happensFrom, count: of }, at) => (happensFrom < of ? [at] : [])),
      };
      const earlier = this.#kept.get(mark);
      if (earlier === undefined) {
        this.#kept.set(mark, [kept]);
        this.#names.push(mark);
      } else earlier.push(kept);
    }
  }

  /** Of a few marks, one that is reached by the rarest. */
  #parent(): Kept | undefined {
    let rarest: string | undefined;
    for (let tries = 0; tries < 6; tries++) {
      const name = this.#names[this.#below(this.#names.length)];
      if (name === undefined) return undefined;
      if (rarest === undefined || this.#countOf(name) < this.#countOf(rarest)) rarest = name;
    }
    const kept = this.#kept.get(rarest ?? "") ?? [];
    return kept[this.#below(kept.length)];
  }

  #countOf(mark: string): number {
    return this.#counts.get(mark) ?? 0;
  }

  #changed({ made, faults }: Kept, random: () => number): (index: number) => number {
    const way = this.#below(10);
    if (way < 5) {
      // The same beginning, and another end.
      const cut = this.#below(made.length + 1);
      return (index) => (index < cut ? (made[index] ?? 0) : random());
    }
    const changes = new Map<number, number>();
    for (let left = 1 + this.#below(way < 8 ? 3 : 8); left > 0; left--) {
      const at = this.#below(made.length);
      changes.set(at, this.#draw());
    }
    if (way % 2 === 0) {
      const at = faults[this.#below(faults.length)];
      if (at !== undefined) changes.set(at, happens);
    }
    return (index) => changes.get(index) ?? made[index] ?? random();
  }

  #below(count: number): number {
    return count <= 1 ? 0 : this.#draw() % count;
  }
}

/** The last of the thousand numbers of a chance. */
const happens = 999;
