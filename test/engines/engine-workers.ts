import type { Outcome } from "../crash/worker-messages.js";
import type { WorkerProcess } from "../crash/worker-process.js";
import type { NewWorker } from "./engine-fixture.js";
import type { EngineReport, Kill, Point } from "./engine-messages.js";

interface Slot {
  readonly worker: WorkerProcess;
  /** Flows whose step it has begun and not ended. */
  readonly inStep: Set<string>;
}

/** The processes in which the engine works, each of which is started again when it is killed. */
export class EngineWorkers implements AsyncDisposable {
  /** Every outcome that a step had. */
  readonly outcomes: Outcome[] = [];
  /** Flows that an operator was told of. */
  readonly told = new Set<string>();
  /** Workers that ended by themselves. */
  readonly accidents: string[] = [];
  readonly stumbles = new Map<string, number>();
  readonly killsAt: Record<Point, number> = { take: 0, send: 0, look: 0 };
  /** Steps that a worker was killed in. */
  interrupted = 0;
  readonly #newWorker: NewWorker;
  readonly #slots: Slot[] = [];
  readonly #settled = new Set<string>();
  readonly #watchers = new Set<() => void>();
  #next: (Kill & { readonly done: () => void }) | undefined;
  #isOver = false;

  private constructor(newWorker: NewWorker) {
    this.#newWorker = newWorker;
  }

  /** Starts the first one alone: it makes the engine's tables. */
  static async start(newWorker: NewWorker, count: number): Promise<EngineWorkers> {
    const workers = new EngineWorkers(newWorker);
    for (let index = 0; index < count; index += 1) await workers.#open(index).worker.ready();
    return workers;
  }

  /** Resolves when a worker was killed in the middle of a step, `delayMs` after one of its steps got to the point. */
  kill(kill: Kill): Promise<void> {
    return new Promise((done) => {
      this.#next = { ...kill, done };
    });
  }

  /** Resolves when each of the flows has had an outcome. */
  settled(keys: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!keys.every((key) => this.#settled.has(key))) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#slots.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  #open(index: number): Slot {
    const slot: Slot = {
      worker: this.#newWorker(`worker-${index}`, (report) => this.#hear(slot, report)),
      inStep: new Set(),
    };
    this.#slots[index] = slot;
    void slot.worker.ended.then((error) => {
      if (this.#isOver) return;
      if (error !== undefined) this.accidents.push(error);
      this.#open(index);
    });
    return slot;
  }

  #hear(slot: Slot, report: EngineReport): void {
    switch (report.type) {
      case "entered":
        slot.inStep.add(report.key);
        return;
      case "at":
        this.#aim(slot, report.point);
        return;
      case "told":
        this.told.add(report.key);
        return;
      case "settled":
        slot.inStep.delete(report.outcome.key);
        this.outcomes.push(report.outcome);
        this.#settled.add(report.outcome.key);
        for (const look of this.#watchers) look();
        return;
      case "stumbled": {
        slot.inStep.delete(report.key);
        const text = report.error.replace(/order-\d+|[0-9a-f-]{36}/g, "…").slice(0, 160);
        this.stumbles.set(text, (this.stumbles.get(text) ?? 0) + 1);
      }
    }
  }

  #aim(slot: Slot, point: Point): void {
    const kill = this.#next;
    if (kill?.point !== point) return;
    this.#next = undefined;
    setTimeout(() => {
      // It may have ended its steps meanwhile: then another one is aimed at.
      if (slot.inStep.size === 0) this.#next = kill;
      else {
        slot.worker.signal("SIGKILL");
        this.killsAt[point] += 1;
        this.interrupted += slot.inStep.size;
        slot.inStep.clear();
        kill.done();
      }
    }, kill.delayMs);
  }
}
