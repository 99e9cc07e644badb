import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { ConfigError } from "../errors/errors.js";
import { notLoaded } from "../errors/not-loaded.js";
import { safeCause } from "../errors/safe-cause.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import type { PayOutcome, TakeFunds } from "./pay.js";
import { copyRequest } from "./state/copy-request.js";

/** `pay`, which is loaded with the first payment in two steps: a page that lists payments never loads it. See `CrossBorderClient.pay`. */
export async function latePay(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  // Both steps belong to this call, whatever becomes of the objects that it was given.
  const asked = copyRequest(request);
  const kept = copyOf(options);
  pay ??= await loadPay();
  return pay(client, asked, takeFunds, kept);
}

type Pay = typeof import("./pay.js").pay;
let pay: Pay | undefined;

/** @throws {ConfigError} What can't be loaded is loaded again by the next call. */
async function loadPay(): Promise<Pay> {
  try {
    return (await import("./pay.js")).pay;
  } catch (error) {
    throw new ConfigError(notLoaded("what pays in two steps", "nothing was sent"), { cause: safeCause(error) });
  }
}

/** What is no plain object stays as it is, for `create` to refuse. */
function copyOf(options: RequestOptions | undefined): RequestOptions | undefined {
  if (typeof options !== "object" || options === null) return options;
  const { headers } = options;
  const isPlain = typeof headers === "object" && headers !== null && !(Symbol.iterator in headers);
  return isPlain ? { ...options, headers: { ...headers } } : { ...options };
}
