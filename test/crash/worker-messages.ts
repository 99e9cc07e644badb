import type { PaymentIntentRequest } from "cross-border-payments";
import type { FlowOutcome } from "cross-border-payments/flow";
import { intentRequest } from "../support/corridor.js";

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

/** What happens to a worker when it gets to a named point of a flow. `stop` halts it until the test continues it. */
export interface Trouble {
  readonly point: string;
  readonly key: string;
  readonly act: "kill" | "stop";
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
  /** A disk of which any write can fail. */
  readonly diskFaults?: { readonly seed: number; readonly rate: number };
}

/** What a worker is to do for a key. */
export interface Task {
  readonly key: string;
  readonly way: "run" | "quote" | "confirm" | "cancel";
  /** For `confirm`. */
  readonly intentId?: string;
}

export type Command =
  /** Does each task until something came of it, whatever is thrown before. */
  | { readonly type: "do"; readonly tasks: readonly Task[] }
  /** Takes over what is abandoned, looking for it again `everyMs` later. */
  | { readonly type: "work"; readonly everyMs: number }
  | { readonly type: "expect"; readonly trouble: Trouble }
  /** Reads what a journal says of each key. */
  | { readonly type: "audit"; readonly journal: JournalPlace; readonly keys: readonly string[] };

export type Report =
  | { readonly type: "ready" }
  | { readonly type: "settled"; readonly outcome: Outcome }
  | { readonly type: "quoted"; readonly key: string; readonly intentId: string }
  /** The task can't be done: the quote has expired, is confirmed, cancelled or unknown, or its intent is refused. */
  | { readonly type: "refused"; readonly task: Task; readonly code: string }
  | { readonly type: "stumbled"; readonly key: string; readonly error: string }
  /** An operator was told of a held flow. */
  | { readonly type: "told"; readonly key: string }
  | { readonly type: "audited"; readonly outcomes: readonly (Outcome | undefined)[] };

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
