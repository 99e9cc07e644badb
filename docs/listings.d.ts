// Names that listings use as if the reader's program had them. A listing that declares one of its own hides it. The tests compile
// every listing with this file.
import type * as library from "cross-border-payments";
import type * as flows from "cross-border-payments/flow";

declare global {
  const client: library.CrossBorderClient;
  const options: library.ClientOptions;
  const request: library.PaymentIntentRequest;
  const intent: library.PaymentIntent;
  const payment: library.Payment;
  const signal: AbortSignal;

  const flow: flows.PaymentFlow;
  const journal: flows.Journal;
  const takeFunds: flows.TakeFundsByKey;
  const releaseFunds: flows.ReleaseFundsByKey;

  const pool: import("pg").Pool;
  const databaseUrl: string;
  const transactionId: string;
  const ledger: { refund(transactionId: string): Promise<void> };
  function queueForReview(error: Error): Promise<void>;
  function tellAnOperator(what: string, details?: unknown): Promise<void>;
}
