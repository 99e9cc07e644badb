import { clock, type Timestamp } from "../core/clock.js";
import { onAbort } from "../core/deadline.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type PaymentIntentRequest, PaymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { assertPayable } from "./assert-payable.js";
import type { FlowContext } from "./context.js";
import { isAnother } from "./core/match.js";
import type { Event, Funds, FundsRequested, Refused, Response, Sent, Signed } from "./core/state.js";
import type { FlowCall } from "./flow-call.js";
import { readFlowFunds } from "./funds.js";
import { toRefusal } from "./outcome.js";
import { paymentInput } from "./payment-from-intent.js";
import { isPassing, toFailure, toResponse, toServiceRefusal } from "./responses.js";
import { searchForPayment } from "./search.js";

type WithoutTime<E> = E extends unknown ? Omit<E, "nowMs"> : never;
/** What the core is told, before the time is added. */
export type Happened = WithoutTime<Event>;

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

  /** The only place that sends a payment: once, and not after the lease. */
  async send(signed: Signed, sendBy: Timestamp): Promise<Response> {
    const { client, circuitBreaker, openWork } = this.#context;
    // What was sent isn't given up because its caller stopped waiting.
    const end = new AbortController();
    const abandoned = openWork.abandon.signal;
    const stopListening = onAbort(abandoned, () => end.abort());
    if (abandoned.aborted) end.abort();
    let response: Response;
    try {
      const options = { headers: this.#call.requestOptions.headers, maxRetries: 0, signal: end.signal };
      // The transport looks at both clocks again, right before it writes the first byte.
      const payment = await client.send(payments.create, signed, sendBy, options);
      response = isAnother(signed, payment)
        ? { is: "unknown", said: { code: "another_payment", message: "the response is another payment's" } }
        : { is: "paid", payment };
    } catch (error) {
      response = toResponse(error);
    } finally {
      stopListening();
    }
    if (response.is !== "notSent") circuitBreaker?.note(response.is === "unknown");
    return response;
  }

  /** The search that follows a refusal isn't given up: what the service said of the payment still has to be stored. */
  async search({ signed }: Sent, since: number, isAfterRefusal: boolean): Promise<Happened> {
    const { headers, signal } = this.#call.requestOptions;
    try {
      const result = await searchForPayment(this.#context, signed, {
        since,
        headers,
        signal: isAfterRefusal ? undefined : signal,
      });
      return { is: "searched", result };
    } catch (error) {
      if (!isAfterRefusal) throw error;
      return { is: "searched", result: { is: "unreadable" } };
    }
  }
}
