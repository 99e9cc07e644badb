import type { PaymentIntentRequest } from "cross-border-payments";
import type { FlowOutcome } from "cross-border-payments/flow";

/** Where the flows are kept. */
export interface JournalPlace {
  readonly kind: "sqlite" | "postgres";
  /** A file, or a URL. */
  readonly place: string;
  /** Of PostgreSQL: a schema of the run's own. */
  readonly schema?: string;
}

/** What happens to a worker at a named point, the `nth` time that it gets there. */
export interface Trouble {
  readonly point: string;
  /** Counts only what is done for this flow. */
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
  /** A disk that fails now and then, at any write. */
  readonly diskFaults?: { readonly seed: number; readonly rate: number };
}

export type Command =
  /** Runs each key until it has an outcome, whatever is thrown on the way. */
  | { readonly type: "run"; readonly keys: readonly string[] }
  /** Runs a key once. */
  | { readonly type: "run-once"; readonly key: string }
  /** Takes up what is abandoned, again and again, so many milliseconds apart. */
  | { readonly type: "keep-recovering"; readonly everyMs: number }
  /** Reads what the journal says of each key. */
  | { readonly type: "audit"; readonly keys: readonly string[] }
  /** Gives the times that the claims' writes took. */
  | { readonly type: "claim-times" };

export type Report =
  | { readonly type: "ready" }
  | { readonly type: "settled"; readonly outcome: Outcome; readonly by: "run" | "recover" }
  | { readonly type: "stumbled"; readonly key: string; readonly error: string }
  | { readonly type: "audited"; readonly outcomes: readonly (Outcome | undefined)[] }
  | { readonly type: "claim-times"; readonly milliseconds: readonly number[] };

/** An outcome as far as the laws are concerned with it. */
export interface Outcome {
  readonly key: string;
  readonly status: FlowOutcome["status"];
  readonly paymentId?: string;
  readonly transactionId?: string;
  /** Why it is held. */
  readonly reason?: string;
}

/** The payment that belongs to a key: the key stands in it, where the judge can read it. */
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
