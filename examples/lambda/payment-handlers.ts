import type { PaymentIntentRequest } from "cross-border-payments";
import { FlowPausedError, type PaymentFlow } from "cross-border-payments/flow";

/** What is used of a Lambda function's context. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

export interface PayEvent {
  /** The payment's key in the bank's books. */
  readonly key: string;
  readonly request: PaymentIntentRequest;
}

/** Two functions over one journal: one that pays, and one on a schedule, which finishes what the other could not. */
export function paymentHandlers(flow: PaymentFlow) {
  return {
    async pay({ key, request }: PayEvent, context: LambdaContext) {
      try {
        const { status } = await flow.run(key, request, { signal: beforeTheEnd(context) });
        return { statusCode: 200, body: JSON.stringify({ key, status }) };
      } catch (error) {
        if (!(error instanceof FlowPausedError)) throw error;
        // The flow owns the payment: `finish`, or another call with this key, goes on.
        return { statusCode: 202, body: JSON.stringify({ key, status: "pending" }) };
      }
    },

    async finish(_event: unknown, context: LambdaContext) {
      const finished: Record<string, string> = {};
      for await (const { key, status } of flow.recover({ signal: beforeTheEnd(context) })) finished[key] = status;
      return finished;
    },
  };
}

/** Time is left to store where a flow stands: what still runs when the function returns is frozen with it. */
function beforeTheEnd(context: LambdaContext): AbortSignal {
  return AbortSignal.timeout(Math.max(1, context.getRemainingTimeInMillis() - 3000));
}
