import { type Clock, setClock, type Timer } from "../timing/clock.js";
import type { Choices } from "./choices.js";
import { EventQueue, type WorldEvent } from "./event-queue.js";
import { Marks } from "./marks.js";
import type { Profile } from "./profile.js";
import type { ScheduleRecorder } from "./schedule-recorder.js";
import type { SimulatedProcess } from "./simulated-process.js";

/**
 * How a call to something outside of the process goes wrong. `before`: it was not done. `after`: it was done, and no response came. `late`:
 * no response came, and it is done some time later.
 */
export type RemoteFault = "before" | "after" | "late" | undefined;

/** A call to something outside of the process: the journal, the bank. */
export interface RemoteCall<T> {
  readonly label: string;
  readonly fault: RemoteFault;
  /** Whether it takes long to get there. */
  readonly isSlow: boolean;
  /** Whether it arrives a second time, some time later. */
  readonly isRepeated?: boolean;
  readonly execute: () => T | Promise<T>;
  readonly toError: () => Error;
  /** Whether it is a user's own function, which may do something for real. */
  readonly isReal?: boolean;
}

/** When the world begins: 1 January 2026. */
const beginMs = 1_767_225_600_000;

/** What is done late is done within so many leases. */
export const mostLeasesLate = 40;

/**
 * Virtual time, and the events that happen in it, one after another. Each one that reaches a process is a point where that process may be
 * paused, suspended or killed.
 */
export class World {
  readonly choices: Choices;
  readonly profile: Profile;
  readonly marks = new Marks();
  /** Called when a process was killed. */
  onKilled: (process: SimulatedProcess) => void = () => {};
  /** What happened, for the reader of a failing schedule; `undefined` where there is none. */
  readonly trace: string[] | undefined;
  /** `undefined` where nobody writes down what happens. */
  recorder: ScheduleRecorder | undefined;
  events = 0;
  #nowMs = beginMs;
  #order = 0;
  #current: SimulatedProcess | undefined;
  #canFail = true;
  readonly #queue = new EventQueue();
  /** What a user's own functions are doing. */
  readonly #real = new Set<Promise<unknown>>();

  constructor(choices: Choices, profile: Profile, isTraced: boolean) {
    this.choices = choices;
    this.profile = profile;
    this.trace = isTraced ? [] : undefined;
  }

  /** The world's own time, in milliseconds since 1970. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whether nothing goes wrong any more. */
  get isQuiet(): boolean {
    return !this.#canFail;
  }

  note(text: string): void {
    if (this.trace === undefined) return;
    const who = this.#current === undefined ? "" : `${this.#current.name}: `;
    this.trace.push(`${String(Math.round(this.#nowMs - beginMs)).padStart(7)} ms  ${who}${text}`);
  }

  /** From now on no process is paused or killed, and nothing else goes wrong. */
  quieten(processes: Iterable<SimulatedProcess>): void {
    this.#canFail = false;
    this.choices.quieten();
    for (const process of processes) process.pausedUntilMs = Math.min(process.pausedUntilMs, this.#nowMs);
    this.note("faults stop");
  }

  /** Plans an event; the function it returns calls it off. */
  plan(delayMs: number, label: string, process: SimulatedProcess | undefined, work: () => void): () => void {
    return this.#plan(this.#nowMs + delayMs, label, process, undefined, work);
  }

  /** Calls something outside of a process. What it does may come late, and its response may be lost. */
  remote<T>(process: SimulatedProcess, call: RemoteCall<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { label, fault, isSlow, isRepeated = false, isReal = false } = call;
      const fail = () => {
        this.note(`${label} fails`);
        reject(call.toError());
      };
      const latencyMs = this.choices.below(this.profile.latencyMs);
      if (fault === "before" || fault === "late") this.plan(latencyMs, label, process, fail);
      // What certainly was not done does not arrive.
      if (fault === "late" || (isRepeated && fault !== "before")) {
        this.plan(
          this.choices.below(this.choices.of([2, 8, mostLeasesLate]) * this.profile.leaseMs),
          label,
          undefined,
          () => {
            this.note(`${label} arrives late`);
            const done = call.execute();
            if (done instanceof Promise) done.catch(() => {});
          },
        );
      }
      if (fault === "before" || fault === "late") return;
      const execute = () => {
        this.note(`${label}${fault === "after" ? " is done, and its response is lost" : ""}`);
        const done = isReal ? this.#awaited(call.execute()) : call.execute();
        // Whether it worked is told by the response, if there is one.
        if (!isReal && done instanceof Promise) done.catch(() => {});
        this.plan(latencyMs, `response to ${label}`, process, fault === "after" ? fail : () => resolve(done));
      };
      if (isSlow) this.plan(this.choices.below(this.profile.slowMs), label, undefined, execute);
      else execute();
    });
  }

  /** Lets everything happen until `isOver`, or nothing is left to happen. */
  async run(isOver: () => boolean, mostEvents: number): Promise<void> {
    setClock(this.#clock());
    try {
      await this.#settle();
      while (!isOver()) {
        const event = this.#queue.pop();
        if (event === undefined) return;
        if (event.work === undefined || !this.#reaches(event)) continue;
        this.events += 1;
        if (this.events > mostEvents) throw new Error(`the schedule has not ended after ${mostEvents} events`);
        this.#current = event.process;
        const { work } = event;
        event.work = undefined;
        work();
        await this.#settle();
        this.#current = undefined;
      }
    } finally {
      setClock(undefined);
    }
  }

  #plan(
    atMs: number,
    label: string,
    process: SimulatedProcess | undefined,
    dueMs: number | undefined,
    work: () => void,
  ): () => void {
    this.#order += 1;
    const event: WorldEvent = { atMs, order: this.#order, process, dueMs, label, work };
    this.#queue.push(event);
    return () => {
      event.work = undefined;
    };
  }

  /** Moves the time to an event's. False when it never reaches its process, or not yet. */
  #reaches(event: WorldEvent): boolean {
    const { process, dueMs } = event;
    if (process === undefined) {
      this.#nowMs = Math.max(this.#nowMs, event.atMs);
      return true;
    }
    if (process.isDead) return false;
    if (process.pausedUntilMs > event.atMs) return this.#later(event, process.pausedUntilMs);
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    const early = dueMs === undefined ? 0 : dueMs - process.monotonicMs(this.#nowMs);
    if (early > 0) return this.#later(event, this.#nowMs + early);
    return !this.#canFail || this.#survives(process, event);
  }

  #later(event: WorldEvent, atMs: number): false {
    event.atMs = atMs;
    this.#queue.push(event);
    return false;
  }

  /** Whether the process takes notice of an event now. */
  #survives(process: SimulatedProcess, event: WorldEvent): boolean {
    const { kills, pauses, suspends, clockJumps } = this.profile;
    if (kills > 0 && this.choices.chance(kills)) {
      this.note(`${process.name} is killed before "${event.label}"`);
      process.isDead = true;
      this.marks.happenedTo(process.name, "its process is killed");
      this.onKilled(process);
      return false;
    }
    if (clockJumps > 0 && this.choices.chance(clockJumps)) this.#setClock(process);
    if (pauses > 0 && this.choices.chance(pauses)) return this.#pause(process, event, false);
    if (suspends > 0 && this.choices.chance(suspends)) return this.#pause(process, event, true);
    if (this.choices.chance(this.#stopsAt(event))) return this.#pause(process, event, this.choices.chance(500));
    return true;
  }

  #stopsAt({ label }: WorldEvent): number {
    if (label.endsWith(" as claimed")) return this.profile.stopsBeforeSending;
    return label.startsWith("response to takeFunds ") ? this.profile.stopsAfterTaking : 0;
  }

  #setClock(process: SimulatedProcess): void {
    const byMs = this.choices.of(this.profile.clockSteps) * this.profile.leaseMs;
    process.wallOffsetMs += byMs;
    this.marks.happenedTo(process.name, "its process's clock is set");
    this.note(`the clock of ${process.name} is set by ${byMs} ms`);
  }

  #pause(process: SimulatedProcess, event: WorldEvent, isSuspended: boolean): false {
    const quarters = this.choices.below(this.choices.of(this.profile.stopQuarters));
    const forMs = Math.ceil(((quarters + 1) * this.profile.leaseMs) / 4);
    process.pausedUntilMs = this.#nowMs + forMs;
    if (isSuspended) process.suspendedMs += forMs;
    if (this.choices.chance(this.profile.clockJumpsOnWaking)) this.#setClock(process);
    this.marks.happenedTo(process.name, isSuspended ? "its process is suspended" : "its process is paused");
    this.note(`${process.name} is ${isSuspended ? "suspended" : "paused"} for ${forMs} ms before "${event.label}"`);
    return this.#later(event, process.pausedUntilMs);
  }

  #awaited<T>(result: T | Promise<T>): Promise<T> {
    const settled = Promise.resolve(result);
    const known = settled.catch(() => {});
    this.#real.add(known);
    void known.then(() => this.#real.delete(known));
    return settled;
  }

  /** Until every process waits for the world again. Node runs the next tick once no promise has anything left to do. */
  async #settle(): Promise<void> {
    do {
      await new Promise<void>((resolve) => process.nextTick(resolve));
      if (this.#real.size > 0) await Promise.all(this.#real);
    } while (this.#real.size > 0);
  }

  #clock(): Clock {
    return {
      wallMs: () => this.#current?.wallMs(this.#nowMs) ?? this.#nowMs,
      monotonicMs: () => this.#current?.monotonicMs(this.#nowMs) ?? this.#nowMs,
      setTimer: (work, ms) => this.#setTimer(work, ms),
      clearTimer: (timer) => {
        if (typeof timer === "function") timer();
      },
      unrefTimer: () => {},
    };
  }

  #setTimer(work: () => void, ms: number): Timer {
    const process = this.#current;
    const delayMs = Math.max(1, ms);
    const dueMs = process === undefined ? undefined : process.monotonicMs(this.#nowMs) + delayMs;
    return this.#plan(this.#nowMs + delayMs, "a timer", process, dueMs, work);
  }
}
