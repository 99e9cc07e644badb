import type { Answer, Value } from "./answer.js";
import type { Probe } from "./probe.js";

/** What a question makes at the service, at most. */
export interface Makes {
  readonly intents?: number;
  readonly payments?: number;
  readonly updates?: number;
}

export interface Question {
  readonly id: string;
  readonly asks: string;
  readonly measuredBy: string;
  /** The most requests that it sends. */
  readonly requests: number;
  /** Absent where it only reads. */
  readonly makes?: Makes;
  /** Requests and what it makes are those of one trial, of which there are as many as the user wants. */
  readonly isPerTrial?: true;
  /** Whether two values are so different that somebody should look. Default: whether they differ at all. */
  readonly isChanged?: (before: Value, now: Value) => boolean;
  /** @throws {NoAnswer} where nothing can be said, and why. */
  ask(probe: Probe): Promise<Answer>;
}
