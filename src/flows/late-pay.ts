import type { ApiClient } from "../api/api-client.js";
import { parseRequestOptions, type RequestOptions } from "../api/request-options.js";
import { traceFrom } from "../core/errors.js";
import { loadedLate } from "../core/lazy-load.js";
import { type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { copyRequest } from "./copy-request.js";
import type { PayOutcome, TakeFunds } from "./pay.js";

/** `pay`, which is loaded with the first payment in two steps: a page that lists payments never loads it. See `CrossBorderClient.pay`. */
export async function latePay(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  try {
    // Both steps belong to this call, whatever becomes of the objects that it was given.
    const asked = copyRequest(request);
    const kept = parseRequestOptions(paymentIntents.create, options);
    loaded ??= await loadedLate(import("./pay.js"), "what pays in two steps");
    return await loaded.pay(client, asked, takeFunds, kept);
  } catch (error) {
    throw traceFrom(error);
  }
}

let loaded: typeof import("./pay.js") | undefined;
