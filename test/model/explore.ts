import type { Model } from "./model.js";
import type { World } from "./world.js";

/** Breadth first, so that a trace is as short as can be. Each state is visited once, known by its numbers. */
export function explore(model: Model, maxStates: number) {
  const cpu = process.cpuUsage();
  const seen = new Map<string, number>();
  /** The state's number: the one that it has, or the next one. */
  const numberOf = (world: World): number => {
    const key = model.numbers(world).join();
    const number = seen.get(key) ?? seen.size;
    seen.set(key, number);
    return number;
  };
  const parents: number[] = [];
  const picks: number[] = [];
  const edges = new Edges();
  const settled: number[] = [];
  const report = (isWhole: boolean, broken?: string, at = 0) => ({
    states: seen.size,
    cpuSeconds: process.cpuUsage(cpu).user / 1e6,
    /** Every state was visited. Otherwise the limit ended the search. */
    isWhole,
    /** The law that is broken, and how. */
    broken,
    trace: broken === undefined ? [] : trace(model, pathTo(at, parents, picks)),
  });
  let level = [model.initial()];
  for (const world of level) numberOf(world);
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
        const into = numberOf(after);
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
      if (seen.size > maxStates) return report(false);
    }
    level = following;
  }
  const stuck = edges.firstThatCannotReach(settled, seen.size);
  return stuck === undefined ? report(true) : report(true, "5 never settles", stuck);
}

/** The numbers of the successors to take. */
function pathTo(at: number, parents: readonly number[], picks: readonly number[]): number[] {
  const path: number[] = [];
  for (let id = at; id > 0; id = parents[id] ?? 0) path.unshift(picks[id] ?? 0);
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

/** The transitions without faults, backwards. */
class Edges {
  readonly #from: number[] = [];
  readonly #into: number[] = [];

  add(from: number, into: number): void {
    this.#from.push(from);
    this.#into.push(into);
  }

  /** Law 5: from each state, what can happen without another fault can lead to an end. */
  firstThatCannotReach(ends: readonly number[], states: number): number | undefined {
    const last = new Int32Array(states).fill(-1);
    const previous = new Int32Array(this.#from.length);
    for (let edge = 0; edge < previous.length; edge++) {
      const into = this.#into[edge] ?? -1;
      previous[edge] = last[into] ?? -1;
      last[into] = edge;
    }
    const reaches = new Uint8Array(states);
    const pending = [...ends];
    for (const end of ends) reaches[end] = 1;
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      for (let edge = last[state] ?? -1; edge >= 0; edge = previous[edge] ?? -1) {
        const from = this.#from[edge] ?? -1;
        if (reaches[from] === 1) continue;
        reaches[from] = 1;
        pending.push(from);
      }
    }
    const stuck = reaches.indexOf(0);
    return stuck < 0 ? undefined : stuck;
  }
}
