import { docsPage } from "../errors/doc-url.js";
import { type Law, laws } from "./truth.js";

/** How to see a broken law again. */
export interface Counterexample {
  readonly seed: number;
  /** The schedule's number. */
  readonly schedule: number;
  /** Give them to `simulateFlows` as `choices`. */
  readonly choices: readonly number[];
  /** What happened, step by step. */
  readonly trace: readonly string[];
  /** What the schedule was made of. */
  readonly profile: Readonly<Record<string, unknown>>;
}

/** A schedule broke one of the flow's laws. The message shows what happened in it. */
export class SimulationError extends Error {
  override readonly name = "SimulationError";
  readonly law: Law;
  readonly counterexample: Counterexample;
  /** The address of the page about it. */
  readonly docUrl = docsPage("simulation.md#your-own-two-functions");

  constructor({ law, message }: { readonly law: Law; readonly message: string }, counterexample: Counterexample) {
    const { seed, schedule, choices, trace, profile } = counterexample;
    const faults = Object.entries(profile).filter(([, value]) => value !== 0 && value !== false && value !== undefined);
    super(
      [
        `Broken: ${laws[law]}.`,
        message,
        `seed ${seed}, schedule ${schedule}, choices ${JSON.stringify(choices)}`,
        `world: ${faults.map(([name, value]) => `${name} ${value}`).join(", ")}`,
        ...trace,
      ].join("\n"),
    );
    this.law = law;
    this.counterexample = counterexample;
  }
}
