import type { PaymentIntentRequest } from "cross-border-payments";
import type { FlowEvent, FlowOutcome } from "cross-border-payments/flow";
import { intentRequest } from "../support/corridor.js";
import type { RecordPlace } from "./flow-records.js";
import type { StoredState } from "./stored-states.js";

/** Where the flows are kept. */
export interface JournalPlace {
  readonly kind: "sqlite" | "postgres";
  /** A file, or a URL. */
  readonly place: string;
  /** For PostgreSQL: a schema for this run alone. */
  readonly schema?: string;
  /** For PostgreSQL: how long a statement may take. Default: the journal's own. */
  readonly timeoutMs?: number;
}

/** What happens to a worker at a named point, when it gets there for the `nth` time. */
export interface Trouble {
  readonly point: string;
  /** Only what is done for this flow counts. */
  readonly key: string;
  readonly nth: number;
  /** How many times in a row. Default: once. */
  readonly times?: number;
  /**
   * `kill` ends the process, `stop` halts it until it is continued; `wait` holds up a write of the journal, and nothing else, until the test
   * lets it go on; the others are errors of the journal's disk.
   */
  readonly act: "kill" | "stop" | "wait" | "EIO" | "ENOSPC";
}

export interface WorkerSettings {
  readonly journal: JournalPlace;
  readonly baseUrl: string;
  readonly accessToken: string;
  /** PEM, made for this run. */
  readonly signingKey: string;
  readonly bankUrl: string;
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  /** Default: the flow's own. */
  readonly quoteTtlMs?: number;
  /** What the service's operators promise. Default: nothing. */
  readonly listedWithinMs?: number;
  readonly troubles?: readonly Trouble[];
  /** Where everything is kept that spec/flow.tla is to explain. Default: it is not. */
  readonly record?: RecordPlace;
  /** A disk of which any write can fail. */
  readonly diskFaults?: { readonly seed: number; readonly rate: number };
}

/** What a worker is to do for a key. */
export interface Task {
  readonly key: string;
  /**
   * `quote-confirm` and `quote-cancel` do both, and go on where an earlier process has stopped; `quote-twice` quotes again when the
   * first quote has expired, and then runs. `resend` is an operator's decision.
   */
  readonly way: "run" | "quote" | "confirm" | "cancel" | "quote-confirm" | "quote-cancel" | "quote-twice" | "resend";
  /** For `confirm`. */
  readonly intentId?: string;
}

export type Command =
  /** Does each task until something came of it, whatever is thrown meanwhile; or tries it once. */
  | { readonly type: "do"; readonly tasks: readonly Task[]; readonly once?: boolean }
  /** Recovers what is abandoned, again and again, `everyMs` apart. */
  | { readonly type: "keep-recovering"; readonly everyMs: number }
  /** Recovers what is abandoned, once, and reports `recovered` when that has come to an end. */
  | { readonly type: "recover" }
  /** Works on what is abandoned for as long as the process lives, with rounds `everyMs` apart. */
  | { readonly type: "work"; readonly everyMs: number }
  /** Lets something happen at a named point. */
  | { readonly type: "expect"; readonly trouble: Trouble }
  /** Ends a wait. */
  | { readonly type: "go-on"; readonly trouble: Pick<Trouble, "point" | "key"> }
  /** Reads what a journal says of each key. */
  | { readonly type: "audit"; readonly journal: JournalPlace; readonly keys: readonly string[] }
  /** Reads every state that the journal's rows had. */
  | { readonly type: "list-states"; readonly journal: JournalPlace }
  /** Reads which flows a journal shows to an operator. */
  | { readonly type: "list-held"; readonly journal: JournalPlace }
  /** Reports how long the claims' writes took. */
  | { readonly type: "claim-times" }
  /** Closes the flow and the journal, and ends. */
  | { readonly type: "close" };

export type Report =
  | { readonly type: "ready" }
  /** A flow took a step, at a moment of the machine's time. */
  | { readonly type: "step"; readonly step: ReportedStep; readonly atMs: number }
  /** The disk failed before it stored something for a flow, or after that. */
  | { readonly type: "disk-failed"; readonly key: string; readonly isStored: boolean; readonly atMs: number }
  | { readonly type: "settled"; readonly outcome: Outcome; readonly by: "run" | "recover" }
  | { readonly type: "quoted"; readonly key: string; readonly intentId: string }
  /** The task can't be done: the quote has expired, is confirmed, cancelled or unknown, or its intent is refused. */
  | { readonly type: "refused"; readonly task: Task; readonly code: string }
  | { readonly type: "stumbled"; readonly key: string; readonly error: string; readonly effect?: string }
  /** Waits at a point until the test lets it go on. */
  | { readonly type: "waiting"; readonly trouble: Trouble }
  | { readonly type: "recovered" }
  /** Went on after a stop. */
  | { readonly type: "continued"; readonly trouble: Trouble }
  | { readonly type: "audited"; readonly outcomes: readonly (Outcome | undefined)[] }
  | { readonly type: "held-listed"; readonly keys: readonly string[] }
  | { readonly type: "states-listed"; readonly states: readonly StoredState[] }
  | { readonly type: "claim-times"; readonly milliseconds: readonly number[] };

/** What marks need of an event of a flow. */
export type ReportedStep = Pick<FlowEvent, "key" | "from" | "to" | "code" | "effect">;

/** What the laws need of an outcome. */
export interface Outcome {
  readonly key: string;
  readonly status: FlowOutcome["status"];
  readonly paymentId?: string;
  readonly transactionId?: string;
  /** Why it is held. */
  readonly reason?: string;
}

/** The payment that belongs to a key. The key is its memo, where `judge` can read it. */
export function requestOf(key: string): PaymentIntentRequest {
  return { ...intentRequest, memo: key };
}
