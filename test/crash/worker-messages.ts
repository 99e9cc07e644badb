import type { PaymentIntentRequest } from "cross-border-payments";
import type { FlowOutcome } from "cross-border-payments/flow";

/** Where the flows are kept. */
export interface JournalPlace {
  readonly kind: "sqlite" | "postgres";
  /** A file, or a URL. */
  readonly place: string;
  /** For PostgreSQL: a schema for this run alone. */
  readonly schema?: string;
}

/** What happens to a worker at a named point, when it gets there for the `nth` time. */
export interface Trouble {
  readonly point: string;
  /** Only what is done for this flow counts. */
  readonly key: string;
  readonly nth: number;
  /** `kill` ends the process; the others are errors of the journal's disk. */
  readonly act: "kill" | "EIO" | "ENOSPC";
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
  readonly troubles?: readonly Trouble[];
  /** A disk of which any write can fail. */
  readonly diskFaults?: { readonly seed: number; readonly rate: number };
}

export type Command =
  /** Runs each key until it has an outcome, whatever is thrown meanwhile. */
  | { readonly type: "run"; readonly keys: readonly string[] }
  /** Runs a key once. */
  | { readonly type: "run-once"; readonly key: string }
  /** Recovers what is abandoned, again and again, `everyMs` apart. */
  | { readonly type: "keep-recovering"; readonly everyMs: number }
  /** Reads what the journal says of each key. */
  | { readonly type: "audit"; readonly keys: readonly string[] }
  /** Reports how long the claims' writes took. */
  | { readonly type: "claim-times" };

export type Report =
  | { readonly type: "ready" }
  | { readonly type: "settled"; readonly outcome: Outcome; readonly by: "run" | "recover" }
  | { readonly type: "stumbled"; readonly key: string; readonly error: string }
  | { readonly type: "audited"; readonly outcomes: readonly (Outcome | undefined)[] }
  | { readonly type: "claim-times"; readonly milliseconds: readonly number[] };

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
  return {
    senderGatewayId: "alpha-bank",
    senderCurrency: "EUR",
    senderAccount: "DE-0001",
    receiverGatewayId: "beta-mobile",
    receiverAccount: "KE-7002",
    receiverCurrency: "KES",
    receiverAmount: "15000.00",
    memo: key,
  };
}
