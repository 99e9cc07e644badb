import type { Operation } from "./history.js";
import type { When } from "./journal-time.js";
import { type Row, rowsAfter, rowsChanged } from "./row.js";

export interface TimedOperation extends Operation {
  readonly when: When;
}

/** `undecided`: there are too many orders to try. */
export type Verdict = "explained" | "unexplained" | "undecided";

/**
 * Whether the operations on one flow have an order, with none before another that had ended when it began, in which a journal that does one
 * thing after the other tells exactly what was told (linearisability; Wing and Gong's search, with Lowe's memory of what was tried). An
 * operation that told nothing was done at any time from its start to its end, or never.
 */
export function findOrder(operations: readonly TimedOperation[], mostSteps = 500_000): Verdict {
  const search = new Search(operations);
  const seen = new Set<string>();
  const left: Step[] = [{ row: undefined, first: 0, ahead: [], maybes: [], latestStartMs: -1, replaced: [] }];
  for (let step = left.pop(); step !== undefined; step = left.pop()) {
    if (step.first === search.length) return "explained";
    const { row, first, ahead, maybes, replaced } = step;
    const name = JSON.stringify([first, ahead, maybes, row, replaced]);
    if (seen.has(name)) continue;
    if (seen.size === mostSteps) return "undecided";
    seen.add(name);
    left.push(...search.stepsAfter(step));
  }
  return "unexplained";
}

/** What was done so far: all told operations before `first`, those `ahead` of it, and some of those that told nothing. */
interface Step {
  readonly row: Row | undefined;
  readonly first: number;
  readonly ahead: readonly number[];
  readonly maybes: readonly number[];
  readonly latestStartMs: number;
  /** Until the journal is restored: what it can become again. */
  readonly replaced: readonly Replaced[];
}

interface Replaced {
  readonly row: Row | undefined;
  readonly endMs: number;
}

class Search {
  readonly #told: readonly TimedOperation[];
  readonly #maybes: readonly TimedOperation[];
  readonly #restores: number;
  readonly #asOfMs: number;

  constructor(operations: readonly TimedOperation[]) {
    const sorted = [...operations].sort((one, other) => one.startMs - other.startMs);
    this.#told = sorted.filter(({ told }) => told !== undefined);
    this.#maybes = sorted.filter(({ told }) => told === undefined);
    this.#restores = this.#told.findLastIndex(({ call }) => call.name === "restore");
    this.#asOfMs = Math.min(...this.#told.map(({ call }) => (call.name === "restore" ? call.asOfMs : Infinity)));
  }

  get length(): number {
    return this.#told.length;
  }

  /** The likeliest last. */
  stepsAfter(step: Step): readonly Step[] {
    const candidates = this.#candidates(step);
    const firstEndMs = Math.min(...candidates.map(([, { endMs }]) => endMs));
    const maybes = [...this.#maybes.entries()].filter(
      ([index, { startMs, endMs }]) =>
        startMs <= firstEndMs && endMs >= step.latestStartMs && !step.maybes.includes(index),
    );
    const steps: Step[] = maybes.flatMap(([index, operation]) =>
      rowsChanged(step.row, operation.call, operation.when).map((row) =>
        this.#next({ ...step, maybes: [...step.maybes, index].sort(byNumber) }, operation, row),
      ),
    );
    for (const [index, operation] of candidates.sort(([, one], [, other]) => other.endMs - one.endMs)) {
      for (const row of this.#rowsAfter(step, operation)) {
        const next = { ...this.#next(step, operation, row), ...this.#advanced(step, index) };
        // What changes nothing in any order can as well be done now, unless it had to wait for what could then be done no longer.
        const isIdle = operation.call.name === "read" || operation.told?.isDone === false;
        const isFree = maybes.every(([, { endMs }]) => endMs >= operation.startMs);
        if (isIdle && isFree && JSON.stringify(row) === JSON.stringify(step.row)) return [next];
        steps.push(next);
      }
    }
    return steps;
  }

  /** Told operations that none of the others had to come before. */
  #candidates({ first, ahead }: Step): [number, TimedOperation][] {
    const candidates: [number, TimedOperation][] = [];
    let firstEndMs = Infinity;
    for (let index = first; index < this.#told.length; index += 1) {
      const operation = this.#told[index];
      if (operation === undefined || operation.startMs > firstEndMs) break;
      if (ahead.includes(index)) continue;
      firstEndMs = Math.min(firstEndMs, operation.endMs);
      candidates.push([index, operation]);
    }
    return candidates;
  }

  #rowsAfter({ row, replaced }: Step, { call, when, told }: TimedOperation): readonly (Row | undefined)[] {
    if (told === undefined) return [];
    const rows = rowsAfter(row, call, when, told);
    if (call.name !== "restore") return rows;
    return [...replaced.filter(({ endMs }) => endMs >= call.asOfMs).map((each) => each.row), ...rows];
  }

  #next(step: Step, { startMs, endMs }: TimedOperation, row: Row | undefined): Step {
    const isKept = row !== step.row && step.first <= this.#restores && endMs >= this.#asOfMs;
    const latestStartMs = Math.max(step.latestStartMs, startMs);
    return {
      ...step,
      row,
      latestStartMs,
      // Those that are too late by now are not told apart, so that fewer steps have to be tried.
      maybes: step.maybes.filter((index) => (this.#maybes[index]?.endMs ?? 0) >= latestStartMs),
      replaced: isKept ? [...step.replaced, { row: step.row, endMs }] : step.replaced,
    };
  }

  #advanced({ first, ahead }: Step, index: number): Pick<Step, "first" | "ahead"> {
    const done = new Set([...ahead, index]);
    let next = first;
    while (done.delete(next)) next += 1;
    return { first: next, ahead: [...done].sort(byNumber) };
  }
}

function byNumber(one: number, other: number): number {
  return one - other;
}
