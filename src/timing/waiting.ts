/** The patience of one call: its deadline and its caller's signal. Whoever makes a call wait does it through this. */
export interface Waiting {
  /** Milliseconds until the call's deadline; 0 when it has passed. */
  remainingMs(): number;
  /** Settles as `work` does, or rejects with a `WireFailure` (`timeout` or `abort`, not sent) as soon as the call ends. `work` goes on. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Waits; rejects like `race` as soon as the call ends. */
  sleep(ms: number): Promise<void>;
  /** How often a safe failure may be tried again in this call. */
  readonly maxRetries: number;
}
