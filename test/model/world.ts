import type { Command, Config, Event, Flow, State, Step } from "../../src/flows/core/state.js";
import type { LooseRule, Message, Row } from "./journal.js";
import type { Facts } from "./laws.js";

/** What may go wrong. Each time costs one of the world's faults. */
export type Fault =
  | "crash"
  | "lapse" // A process stands still for longer than its lease.
  | "journal" // A write fails, or its response is lost.
  | "late" // A write, or a call of the bank, arrives after its process has given up or died.
  | "bank" // takeFunds or releaseFunds throws, before or after it did its work.
  | "declined"
  | "fails" // Anything else that throws: a read, an intent, a signature, an impatient caller.
  | "refused"
  | "unauthorized"
  | "throttled"
  | "unsent"
  | "lostResponse"
  | "lateRequest" // The service commits after the request has failed.
  | "unreadable"
  | "expired";

export interface WorldOptions {
  readonly config: Config;
  readonly processes: number;
  readonly faults: number;
  /** Calls of callers. Any process may get each. */
  readonly calls: readonly ("run" | "quote" | "confirm" | "cancel")[];
  readonly operators?: number;
  /** Operators look first, and name the revision that they saw. */
  readonly looks?: boolean;
  /** Two people for each decision. */
  readonly pairs?: boolean;
  /** Operators only choose `release`, with and without proof. */
  readonly fewChoices?: boolean;
  /** The service's list lags behind (default), doesn't, or is refused for good. */
  readonly lists?: "lag" | "prompt" | "forbidden";
  /** A proxy sends a request twice: what is refused is made anyway. */
  readonly duplicates?: boolean;
  /** What the service's operators promised is false. */
  readonly isUntrue?: boolean;
  /**
   * A backup of the journal is restored once. `stopped`: no process runs, and all that was sent is listed. `lost`: the same, and the
   * backup is older than the flow. `lagging`: no process runs. `running`: at any time.
   */
  readonly restore?: "stopped" | "lost" | "lagging" | "running";
  /** Settled flows are pruned. */
  readonly prune?: boolean;
  /** An ordinary day: nothing may be held. */
  readonly isOrdinary?: boolean;
  /** `none` is also said of calls that crashed before. */
  readonly strictNone?: boolean;
  readonly without?: readonly Fault[];
  /** A rule of the journal or the driver that doesn't hold. */
  readonly loose?: LooseRule | "lease" | "fromAcquire" | "fromRequest";
}

export type Next = (state: State, event: Event, config: Config) => Step;

export interface Sending {
  /** The intent that it pays: its body. */
  readonly body: string;
  /** Of the owner that sent it, and of the journal. */
  readonly epoch: number;
  readonly era: number;
  readonly at: "flying" | "made" | "listed";
}

export interface Process {
  readonly step: Step;
  readonly nonce: number;
  readonly epoch: number;
  readonly revision: number;
  readonly lapsed: boolean;
  /** The row that it read, while it may replace it. */
  readonly seen: Row | undefined;
  /** Whose decision it carries out: 1, 2, or 0 for nobody. */
  readonly operator: number;
}

export interface Operator {
  /** The row that it saw, and how many requests had been sent by then. */
  readonly saw: Row | undefined;
  readonly sent: number;
  readonly began: boolean;
  /** A payment was listed when it began. */
  readonly isListed: boolean;
  readonly toldNo: boolean;
}

export interface World {
  readonly row: Row | undefined;
  /** Writes that will arrive some day. */
  readonly late: readonly Message[];
  /** Rows that a backup may have. */
  readonly past: readonly (Row | undefined)[];
  /** Raised when a backup is restored. It is also the time. */
  readonly era: number;
  readonly sendings: readonly Sending[];
  /** How many requests were sent, if anybody wants to know. */
  readonly sent: number;
  readonly bank: Facts["bank"];
  readonly takenInEra: number;
  readonly lateBank: readonly ("takeFunds" | "releaseFunds")[];
  readonly intents: number;
  /** Bits of `told`, and of calls that are left. */
  readonly told: number;
  readonly calls: number;
  readonly faults: number;
  readonly resends: number;
  readonly releases: number;
  readonly isBlind: boolean;
  readonly isStale: boolean;
  readonly operators: readonly Operator[];
  readonly processes: readonly (Process | undefined)[];
}

export type Emit = (label: string, world: World, isFault?: boolean) => void;
export type Change = Partial<World>;

export const nobody = { nonce: 0, epoch: 0, revision: 0, lapsed: false };

export function spend(w: World): World {
  return { ...w, faults: w.faults - 1 };
}

export function isFinal({ phase }: Flow): boolean {
  return phase === "paid" || phase === "declined" || phase === "rejected";
}

export function phaseOf(row: Row | undefined): Facts["phase"] {
  return row === undefined ? "none" : row.pruned ? "pruned" : row.flow.phase;
}

export function describe(command: Command): string {
  const stores = command.do === "write" || command.do === "begin" || command.do === "replaceQuote";
  return stores ? `${command.do} ${command.flow.phase}` : command.do;
}
