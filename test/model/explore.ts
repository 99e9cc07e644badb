import type { Model } from "./model.js";
import type { World } from "./world.js";

export interface Report {
  readonly states: number;
  readonly transitions: number;
  readonly cpuSeconds: number;
  /** Every state was visited. Otherwise a limit ended the search. */
  readonly isWhole: boolean;
  /** The law that is broken, and how. */
  readonly broken?: string;
  readonly trace?: readonly string[];
}

export interface Limits {
  readonly maxStates?: number;
  readonly maxSeconds?: number;
}

/** Breadth first, so that a trace is as short as can be. Each state is visited once, known by a hash of 64 bits. */
export function explore(model: Model, { maxStates = 20_000_000, maxSeconds = 600 }: Limits = {}): Report {
  const cpu = process.cpuUsage();
  const cpuSeconds = (): number => process.cpuUsage(cpu).user / 1e6;
  const seen = new States();
  const parents = new Integers();
  const picks = new Integers();
  const edges = new Edges();
  const settled: number[] = [];
  let transitions = 0;
  const report = (isWhole: boolean, law?: string, at = 0): Report => ({
    states: seen.size,
    transitions,
    cpuSeconds: cpuSeconds(),
    isWhole,
    ...(law !== undefined && { broken: law, trace: trace(model, pathTo(at, parents, picks)) }),
  });
  let level = [model.initial()];
  seen.add(model.numbers(level[0] as World));
  parents.push(-1);
  picks.push(0);
  for (let first = 0; level.length > 0; first = parents.length - level.length) {
    const following: World[] = [];
    for (const [i, world] of level.entries()) {
      const from = first + i;
      if (model.isSettled(world)) settled.push(from);
      let pick = 0;
      let broken: string | undefined;
      model.successors(world, (_label, after, isFault) => {
        if (broken !== undefined) return;
        transitions++;
        const into = seen.add(model.numbers(after));
        if (!isFault) edges.add(from, into);
        if (into === parents.length) {
          parents.push(from);
          picks.push(pick);
          following.push(after);
          broken = model.brokenLaw(after);
        }
        pick++;
      });
      if (broken !== undefined) return report(false, broken, parents.length - 1);
      if (seen.size > maxStates || (i % 1024 === 0 && cpuSeconds() > maxSeconds)) return report(false);
    }
    level = following;
  }
  const stuck = edges.firstThatCannotReach(settled, seen.size);
  return stuck === undefined ? report(true) : report(true, "5 never settles", stuck);
}

/** The numbers of the successors to take. */
function pathTo(at: number, parents: Integers, picks: Integers): number[] {
  const path: number[] = [];
  for (let id = at; parents.at(id) >= 0; id = parents.at(id)) path.unshift(picks.at(id));
  return path;
}

function trace(model: Model, path: readonly number[]): string[] {
  const labels: string[] = [];
  let world = model.initial();
  for (const wanted of path) {
    let pick = 0;
    const from = world;
    model.successors(from, (label, after, isFault) => {
      if (pick++ !== wanted) return;
      world = after;
      labels.push(`${isFault ? "!" : " "} ${label}`);
    });
  }
  return labels;
}

class Integers {
  #data = new Int32Array(1 << 16);
  length = 0;

  push(value: number): void {
    if (this.length === this.#data.length) {
      const data = new Int32Array(2 * this.length);
      data.set(this.#data);
      this.#data = data;
    }
    this.#data[this.length++] = value;
  }

  at(index: number): number {
    return this.#data[index] ?? -1;
  }
}

/** The transitions without faults, backwards. */
class Edges {
  readonly #from = new Integers();
  readonly #into = new Integers();

  add(from: number, into: number): void {
    this.#from.push(from);
    this.#into.push(into);
  }

  /** Law 5: from each state, what can happen without another fault can lead to an end. */
  firstThatCannotReach(ends: readonly number[], states: number): number | undefined {
    const last = new Int32Array(states).fill(-1);
    const previous = new Int32Array(this.#from.length);
    for (let edge = 0; edge < previous.length; edge++) {
      const into = this.#into.at(edge);
      previous[edge] = last[into] ?? -1;
      last[into] = edge;
    }
    const reaches = new Uint8Array(states);
    const pending = [...ends];
    for (const end of ends) reaches[end] = 1;
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      for (let edge = last[state] ?? -1; edge >= 0; edge = previous[edge] ?? -1) {
        const from = this.#from.at(edge);
        if (reaches[from] === 1) continue;
        reaches[from] = 1;
        pending.push(from);
      }
    }
    const stuck = reaches.indexOf(0);
    return stuck < 0 ? undefined : stuck;
  }
}

/** Numbers states by their hashes: open addressing. */
class States {
  #hashes = new Uint32Array(1 << 17);
  #numbers = new Int32Array(1 << 16).fill(-1);
  size = 0;

  /** The state's number: the one that it has, or the next one. */
  add(parts: readonly number[]): number {
    let high = 0x9e3779b9;
    let low = 0x85ebca6b;
    for (const part of parts) {
      high = Math.imul(high ^ part, 0xcc9e2d51);
      high = (Math.imul((high << 15) | (high >>> 17), 5) + 0xe6546b64) | 0;
      low = Math.imul(low ^ part, 0x1b873593);
      low = (Math.imul((low << 13) | (low >>> 19), 9) + 0x38495ab5) | 0;
    }
    high = Math.imul(high ^ (low >>> 16), 0x85ebca6b);
    high = (high ^ (high >>> 13)) >>> 0;
    low = Math.imul(low ^ (high >>> 15), 0xc2b2ae35);
    low = (low ^ (low >>> 16)) >>> 0;
    if (this.size * 2 > this.#numbers.length) this.#grow();
    const at = this.#find(high, low);
    const known = this.#numbers[at] ?? -1;
    if (known >= 0) return known;
    this.#put(at, high, low, this.size);
    return this.size++;
  }

  #find(high: number, low: number): number {
    const mask = this.#numbers.length - 1;
    let at = high & mask;
    while (this.#numbers[at] !== -1 && (this.#hashes[2 * at] !== high || this.#hashes[2 * at + 1] !== low)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  #put(at: number, high: number, low: number, number: number): void {
    this.#hashes[2 * at] = high;
    this.#hashes[2 * at + 1] = low;
    this.#numbers[at] = number;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const numbers = this.#numbers;
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#numbers = new Int32Array(2 * numbers.length).fill(-1);
    numbers.forEach((number, at) => {
      if (number < 0) return;
      const high = hashes[2 * at] ?? 0;
      const low = hashes[2 * at + 1] ?? 0;
      this.#put(this.#find(high, low), high, low, number);
    });
  }
}
