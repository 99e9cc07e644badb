import type { SimulatedProcess } from "./simulated-process.js";

/** Something that happens at a time of the world. */
export interface WorldEvent {
  /** Milliseconds of the world's own time. */
  atMs: number;
  /** Events of the same time happen in the order in which they were planned. */
  readonly order: number;
  /** Whom it reaches; `undefined` for what happens outside of all processes. */
  readonly process: SimulatedProcess | undefined;
  /** Of a timer: when it is due, by the process's monotonic clock. */
  readonly dueMs: number | undefined;
  readonly label: string;
  /** `undefined` once it was called off. */
  work: (() => void) | undefined;
}

/** Events by time: a binary heap. */
export class EventQueue {
  readonly #heap: WorldEvent[] = [];

  push(event: WorldEvent): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as WorldEvent;
      if (!isBefore(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  pop(): WorldEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as WorldEvent)) child += 1;
      const below = heap[child] as WorldEvent;
      if (!isBefore(below, last)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(one: WorldEvent, other: WorldEvent): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
