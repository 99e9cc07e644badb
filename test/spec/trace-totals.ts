import { checkTraces, describeMismatch } from "./check-traces.js";
import type { Trace } from "./trace.js";

/** What a script has held against spec/flow.tla so far. */
export class TraceTotals {
  mismatches = 0;
  #traces = 0;
  #steps = 0;
  #states = 0;
  readonly #startMs = performance.now();

  /** Prints the traces that are no behaviours. */
  async check(traces: readonly Trace[]): Promise<void> {
    const { steps, states, mismatches } = await checkTraces(traces);
    this.#traces += traces.length;
    this.#steps += steps;
    this.#states += states;
    this.mismatches += mismatches.length;
    for (const mismatch of mismatches) console.error(`\n${describeMismatch(mismatch)}`);
  }

  print(): void {
    const seconds = Math.round((performance.now() - this.#startMs) / 1000);
    const end = this.mismatches === 0 ? "all are behaviours" : `${this.mismatches} are no behaviour`;
    console.log(
      `${this.#traces} flows with ${this.#steps} steps, ${this.#states} states of TLC, ${seconds} s: ${end} of spec/flow.tla.`,
    );
  }
}
