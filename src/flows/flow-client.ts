import type { RequestOptions } from "../api/request-options.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import type { PayOutcome, TakeFunds } from "./pay.js";

/**
 * The client that a `PaymentFlow` works with: a `CrossBorderClient`, whether it was imported or required.
 *
 * Not meant to be implemented: a `PaymentFlow` refuses any other object.
 */
export interface FlowClient {
  pay(request: PaymentIntentRequest, takeFunds: TakeFunds, options?: RequestOptions): Promise<PayOutcome>;
  close(): Promise<void>;
}
