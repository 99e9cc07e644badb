import { type Happening, Marks, type Step } from "../../src/simulation/marks.js";
import type { MarkCounts } from "../simulation/mark-report.js";
import { machineNowMs } from "./machine-time.js";
import type { ServiceFault } from "./service.js";

/**
 * What happened to flows in processes of their own, and what they did next: the marks of the simulator. Processes report when the test has
 * gone on already, so that everything is put in order at the end.
 */
export class CrashMarks {
  readonly #events: { readonly atMs: number; readonly tell: (marks: Marks) => void }[] = [];

  happened(key: string, what: Happening, atMs = machineNowMs()): void {
    this.#add(atMs, (marks) => marks.happened(key, what));
  }

  happenedTo(process: string, what: Happening): void {
    this.#add(machineNowMs(), (marks) => marks.happenedTo(process, what));
  }

  happenedToAll(what: Happening): void {
    this.#add(machineNowMs(), (marks) => marks.happenedToAll(what));
  }

  /** A process reports a step of a flow, which it owns then. */
  decided(process: string, step: Step & { readonly key: string }, atMs: number): void {
    this.#add(atMs, (marks) => {
      if (step.from !== "held") marks.owns(process, step.key);
      marks.decided(step);
    });
  }

  ofService(operation: string | undefined, key: string, fault: ServiceFault): void {
    const what = operation === undefined ? undefined : serviceHappenings[operation]?.[fault];
    if (what !== undefined) this.happened(key, what);
  }

  /** How often each was reached. */
  reached(): MarkCounts {
    const marks = new Marks();
    for (const { tell } of this.#events.toSorted((one, other) => one.atMs - other.atMs)) tell(marks);
    return Object.fromEntries(marks.reached);
  }

  #add(atMs: number, tell: (marks: Marks) => void): void {
    this.#events.push({ atMs, tell });
  }
}

/** Lists are not among them: nobody knows for which flow one is read. */
const serviceHappenings: Readonly<Record<string, Readonly<Partial<Record<ServiceFault, Happening>>>>> = {
  "paymentIntents.create": {
    refuse: "the intent is refused",
    throttle: "the intent is refused for now",
    unavailable: "the intent is refused for now",
    reset: "the intent's request is lost",
    lost: "the intent's response is lost",
  },
  "payments.create": {
    refuse: "the payment is refused",
    throttle: "the payment is refused for now",
    unavailable: "the payment is refused for now",
    reset: "the payment is lost",
    "slow-commit": "the payment arrives late",
    lost: "the payment's response is lost",
    "unavailable-after": "the payment arrives, and something else responds",
  },
};
