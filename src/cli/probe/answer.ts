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
