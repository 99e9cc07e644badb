import { PaymentPages, type PaymentSource } from "./payment-pages.js";
import { type PaymentGoal, PaymentReading, type ReadingLimits } from "./read-payments.js";

interface Participant {
  readonly goal: PaymentGoal;
  readonly fail: (error: unknown) => void;
  leave: () => void;
}

/** Readings of one depth: one that runs, and one that begins when it has ended. */
interface Lane {
  isRunning: boolean;
  readonly waiting: Set<Participant>;
}

export interface Place {
  /** Resolves when the reading is over for the goal; rejects when a request has failed. */
  readonly over: Promise<void>;
  /** The goal wants nothing any more. A reading that nobody wants is given up. */
  leave(): void;
}

/**
 * Reads the payments once for all who want something of them at the same time: a hiccup of a bank, or of the service, makes many flows
 * look at once. Nobody is given a reading that began before they asked.
 */
export class SharedReadings {
  readonly #source: Omit<PaymentSource, "options">;
  readonly #limits: ReadingLimits;
  readonly #lanes = new Map<string, Lane>();

  constructor(source: Omit<PaymentSource, "options">, limits: ReadingLimits) {
    this.#source = source;
    this.#limits = limits;
  }

  /** @param depth who reads a little does not wait for who reads everything: readings of another depth go on beside this one. */
  join(goal: PaymentGoal, depth: string): Place {
    const lane = this.#lanes.get(depth) ?? { isRunning: false, waiting: new Set<Participant>() };
    this.#lanes.set(depth, lane);
    let participant: Participant | undefined;
    const over = new Promise<void>((resolve, reject) => {
      const end: PaymentGoal["end"] = (ending) => {
        goal.end(ending);
        resolve();
      };
      const joined: Participant = {
        goal: {
          begin: () => goal.begin(),
          take: (page) => goal.take(page),
          notice: (page) => goal.notice?.(page) ?? false,
          isEnough: () => goal.isEnough(),
          decidesFromMs: goal.decidesFromMs && (() => goal.decidesFromMs?.() ?? Number.NEGATIVE_INFINITY),
          end,
        },
        fail: reject,
        leave: () => lane.waiting.delete(joined),
      };
      lane.waiting.add(joined);
      participant = joined;
    });
    // Who has left hears nothing of a failure.
    over.catch(() => {});
    if (!lane.isRunning) void this.#run(lane);
    return { over, leave: () => participant?.leave() };
  }

  /** Never rejects. */
  async #run(lane: Lane): Promise<void> {
    lane.isRunning = true;
    while (lane.waiting.size > 0) {
      const participants = [...lane.waiting];
      lane.waiting.clear();
      await this.#readFor(participants);
    }
    lane.isRunning = false;
  }

  async #readFor(participants: readonly Participant[]): Promise<void> {
    const end = new AbortController();
    const pages = new PaymentPages({ ...this.#source, options: { signal: end.signal } });
    const goals = participants.map(({ goal }) => goal);
    const reading = new PaymentReading(pages, this.#limits, goals);
    for (const participant of participants) {
      participant.leave = () => {
        reading.leave(participant.goal);
        if (reading.isOver) end.abort();
      };
    }
    try {
      await reading.run();
    } catch (error) {
      for (const { fail } of participants) fail(error);
    }
  }
}
