import type { ApiClient } from "../api/api-client.js";
import { clock, type Timestamp } from "../core/clock.js";
import { AbortedError, ApiError, CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import { maxRetryAfterMs } from "../core/retry.js";
import { type NewestFirstOptions, newestFirst, type ReadingEnd } from "../paging/newest-first.js";
import { type PaymentIntentRequest, PaymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import type { FlowContext } from "./context.js";
import { isAnother, matchPayment } from "./core/match.js";
import type {
  Failure,
  Funds,
  FundsRequested,
  Happened,
  Listed,
  Refusal,
  Refused,
  Response,
  SearchResult,
  Sent,
  Signed,
  Words,
} from "./core/state.js";
import { type FlowCall, WaitTooLong } from "./flow-call.js";
import { assertPayable, paymentInput, readFlowFunds } from "./funds.js";
import { toRefusal } from "./outcome.js";

/** What a flow asks of the bank and of the service. */
export class Outside {
  readonly #context: FlowContext;
  readonly #key: string;
  readonly #call: FlowCall;

  constructor(context: FlowContext, key: string, call: FlowCall) {
    this.#context = context;
    this.#key = key;
    this.#call = call;
  }

  async takeFunds(flow: FundsRequested): Promise<Funds | null> {
    const { takeFunds, circuitBreaker, config, leaseMs } = this.#context;
    if (flow.signed === undefined) circuitBreaker?.assertClosed();
    const intent = structuredClone(flow.intent);
    const returned: unknown = await this.#call.race(() => takeFunds({ key: this.#key, intent }), leaseMs);
    const funds = readFlowFunds(returned, clock.wallMs() + config.bankSkewMs);
    const claimed = flow.signed?.senderGatewayTransactionId;
    if (claimed !== undefined && funds !== null && funds.senderGatewayTransactionId !== claimed) {
      throw new InvalidArgumentError(
        "takeFunds returned another senderGatewayTransactionId than before: its first answer is final. Nothing is sent until it returns the same one",
      );
    }
    return funds;
  }

  async releaseFunds(flow: Refused): Promise<Happened> {
    const { releaseFunds, leaseMs } = this.#context;
    const { senderGatewayTransactionId } = flow.signed;
    const intent = structuredClone(flow.intent);
    const refusal = toRefusal(flow.refusal);
    await this.#call.race(() => releaseFunds({ key: this.#key, intent, senderGatewayTransactionId, refusal }), leaseMs);
    return { is: "done" };
  }

  async createIntent(request: PaymentIntentRequest, takesMoney: boolean): Promise<Happened> {
    const { client, circuitBreaker } = this.#context;
    if (takesMoney) circuitBreaker?.assertMayBegin();
    try {
      const intent = await new PaymentIntents(client).create(request, this.#call.requestOptions);
      await assertPayable(client, request, intent, this.#call.requestOptions);
      return { is: "intent", intent };
    } catch (error) {
      const refusal = toServiceRefusal(error);
      if (refusal === undefined || isPassing(refusal)) throw error;
      return { is: "intentRefused", refusal, failure: toFailure(error) };
    }
  }

  async sign({ intent }: FundsRequested, senderGatewayTransactionId: string): Promise<Happened> {
    const input = paymentInput(intent, senderGatewayTransactionId);
    const request = await this.#context.client.sign(payments.create, [], input, this.#call.requestOptions);
    const { path, signature } = request;
    return { is: "signed", signed: { senderGatewayTransactionId, path, body: request.body, signature } };
  }

  /** The only place that sends a payment. It sends once, and not after the lease. */
  async send(signed: Signed, sendBy: Timestamp): Promise<Response> {
    const { client, circuitBreaker, openWork } = this.#context;
    let response: Response;
    try {
      // A sent request isn't abandoned because its caller stopped waiting.
      const options = { headers: this.#call.requestOptions.headers, maxRetries: 0, signal: openWork.abandon.signal };
      // The transport looks at both clocks again, right before it writes the first byte.
      const payment = await client.send(payments.create, signed, sendBy, options);
      response = isAnother(signed, payment)
        ? { is: "unknown", said: { code: "another_payment", message: "the response is another payment's" } }
        : { is: "paid", payment };
    } catch (error) {
      response = toResponse(error);
    }
    if (response.is !== "notSent") circuitBreaker?.note(response.is === "unknown");
    return response;
  }

  /** The search after a refusal isn't abandoned, since the service's answer must still be stored. */
  async search({ signed }: Sent, since: number, isAfterRefusal: boolean): Promise<Happened> {
    const { headers, signal } = this.#call.requestOptions;
    const options = { since, headers, signal: isAfterRefusal ? undefined : signal };
    try {
      return { is: "searched", result: await searchForPayment(this.#context, signed, options) };
    } catch (error) {
      if (!isAfterRefusal) throw error;
      return { is: "searched", result: { is: "unreadable" } };
    }
  }
}

/** A search that reads by token ends after so many payments. */
const maxRecords = 10_000;

/**
 * Searches the list for the payment of a claim, newest first. A possible match ends the search only if no later page shows the
 * payment itself.
 *
 * @param options payments created before `since`, in milliseconds since 1970, don't count.
 * @throws {AbortedError} when the signal aborts. {InvalidArgumentError} if the client is closed.
 */
export async function searchForPayment(
  { client, clockSkewMs, tokensFollowTime }: Pick<FlowContext, "client" | "clockSkewMs" | "tokensFollowTime">,
  signed: Signed,
  options: Pick<NewestFirstOptions, "since" | "signal" | "headers">,
): Promise<SearchResult> {
  const matches = matchPayment(signed);
  const reading = newestFirst(client, payments.list, { ...options, clockSkewMs, tokensFollowTime, maxRecords });
  let match: Listed | undefined;
  try {
    for (;;) {
      const page = await reading.next();
      if (page.done) return match ?? resultOf(page.value, isSentTo(client, signed));
      for (const payment of page.value) {
        const is = matches(payment);
        if (is === "found") return { is, payment };
        if (is === "match") match ??= { is, payment };
      }
    }
  } catch (error) {
    if (error instanceof AbortedError || error instanceof InvalidArgumentError) throw error;
    return match ?? { is: "unreadable" };
  }
}

/** A test system can have the same host, so another base path proves nothing. */
function isSentTo({ baseUrl }: ApiClient, { path }: Signed): boolean {
  return new URL(path, baseUrl).href === baseUrl + payments.create.path.text;
}

function resultOf(end: ReadingEnd, isProof: boolean): SearchResult {
  if (end.complete) return { is: isProof ? "absent" : "incomplete" };
  return { is: end.reason === "time_bound" ? "incomplete" : "forbidden" };
}

export function toFailure(error: unknown): Failure {
  const code = error instanceof CrossBorderError ? error.code : "unexpected_failure";
  const retryAtMs = error instanceof WaitTooLong ? error.retryAtMs : undefined;
  return { code, effect: "possible", cause: error, retryAtMs };
}

/** What an error of the send says of the claim. */
function toResponse(error: unknown): Response {
  const refusal = toServiceRefusal(error);
  const said = wordsOf(error);
  if (refusal === undefined) {
    const isNotSent = error instanceof CrossBorderError && error.effect === "none";
    return isNotSent ? { is: "notSent", failure: toFailure(error) } : { is: "unknown", said };
  }
  if (!isPassing(refusal)) return { is: "refused", refusal };
  const { retryAfterMs } = error as ApiError;
  const retryAtMs = retryAfterMs === undefined ? undefined : clock.wallMs() + Math.min(retryAfterMs, maxRetryAfterMs);
  return { is: refusal.status === 401 ? "unauthorized" : "throttled", said, retryAtMs };
}

/** The service's own refusal in a response that says that nothing was done, or `undefined` for any other failure. */
function toServiceRefusal(error: unknown): (Refusal & { readonly by: "service" }) | undefined {
  if (!(error instanceof ApiError) || error.effect !== "none" || error.status < 400 || error.status >= 500) return;
  return { by: "service", ...wordsOf(error) };
}

/** Whether the same request can succeed later. An invalid token says nothing about the request, nor does throttling. */
function isPassing({ status }: Words): boolean {
  return status === 401 || status === 429;
}

function wordsOf(error: unknown): Words {
  if (error instanceof ApiError) {
    const { status, serviceCode, code, serviceMessage = "" } = error;
    return { status, code: serviceCode ?? code, message: serviceMessage };
  }
  if (!(error instanceof CrossBorderError)) return { code: "unexpected_failure", message: "" };
  const status: unknown = Reflect.get(error, "status");
  return { status: typeof status === "number" ? status : undefined, code: error.code, message: "" };
}
