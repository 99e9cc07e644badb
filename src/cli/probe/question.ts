import type { Probe } from "./probe.js";

/** What can be compared from one night to the next. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

/** What was seen. It never says that something is so: only that nothing spoke against it. */
export interface Answer {
  /** For programs, and for the comparison with an earlier run. */
  readonly value: Value;
  /** For people, as a sentence. */
  readonly says: string;
  /** How often it was tried. */
  readonly trials: number;
  /** What follows for this library's options. */
  readonly settings?: Settings;
  /** What only the service's operators can promise. */
  readonly toAsk?: string;
}

/** Options by where they go. */
export interface Settings {
  readonly list?: Readonly<Record<string, Value>>;
  readonly flow?: Readonly<Record<string, Value>>;
  readonly connections?: Readonly<Record<string, Value>>;
}

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

/** Why a question has no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** No further request is sent. */
export class BudgetSpent extends NoAnswer {
  constructor() {
    super("the budget of requests is spent: see --budget");
  }
}
