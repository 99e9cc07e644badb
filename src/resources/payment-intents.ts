import type { ApiClient, GetOptions } from "../api/api-client.js";
import { endpoint } from "../api/endpoint.js";
import { type Fields, pick } from "../api/fields.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";

/** The first step of a payment: what it will cost, and whose accounts these are (description: "Payment intent"). */
export interface PaymentIntent {
  /** Assigned by the service on creation. */
  id: string;
  senderGatewayId: string;
  /** What the sender pays, excluding sender fees: a decimal numeral, computed by the service. */
  senderAmount: string;
  senderCurrency: string;
  senderAccount: string;
  /** Result of the sender's name verification. */
  senderName: string;
  receiverGatewayId: string;
  /** A decimal numeral; the only amount that a payment can name. */
  receiverAmount: string;
  receiverCurrency: string;
  receiverAccount: string;
  /** Result of the receiver's name verification. */
  receiverName: string;
  /** In receiver currency: a decimal numeral. */
  receivingGatewayFee: string;
  memo: string;
  /** Can be null. Its content is not shown. */
  extras: unknown;
}

const writable = [
  "senderGatewayId",
  "senderCurrency",
  "senderAccount",
  "receiverGatewayId",
  "receiverAccount",
  "receiverCurrency",
  "receiverAmount",
  "memo",
] as const;

/** Body of create: the description gives an intent these eight fields, all of them strings. */
export interface PaymentIntentRequest extends Pick<PaymentIntent, (typeof writable)[number]> {}

/** The query parameters that the single read declares: the intent's own fields. */
export interface PaymentIntentFilter extends Partial<Omit<PaymentIntent, "extras">> {
  /** Sent as it is. */
  extras?: string;
}

export const paymentIntentFields: Fields<PaymentIntent> = {
  id: "text",
  senderGatewayId: "text",
  senderAmount: "decimal",
  senderCurrency: "text",
  senderAccount: "text",
  senderName: "text",
  receiverGatewayId: "text",
  receiverAmount: "decimal",
  receiverCurrency: "text",
  receiverAccount: "text",
  receiverName: "text",
  receivingGatewayFee: "decimal",
  memo: "text",
  extras: "any",
};

export const paymentIntentEndpoints = {
  create: endpoint<PaymentIntent, PaymentIntentRequest>({
    operation: "paymentIntents.create",
    verb: "create",
    method: "POST",
    path: "/payment-intents",
    body: { fields: pick(paymentIntentFields, writable), required: writable },
    record: paymentIntentFields,
  }),
  get: endpoint<PaymentIntent>({
    operation: "paymentIntents.get",
    verb: "get",
    method: "GET",
    path: "/payment-intents/{paymentIntentId}",
    query: { ...paymentIntentFields, extras: "text" },
    record: paymentIntentFields,
  }),
};

/** Payment intents: the first of the two steps. */
export class PaymentIntents {
  readonly #caller: ApiClient;

  constructor(caller: ApiClient) {
    this.#caller = caller;
  }

  /**
   * Creates an intent: `POST /payment-intents`. Not signed; moves no money. The caller must be a payment gateway.
   *
   * Never repeated by the client once it may have been sent. A lost intent costs nothing: create another.
   *
   * @returns the sender amount, the names of both parties and the receiving gateway's fee.
   * @throws {InvalidArgumentError} on a missing or unknown field, or an amount that is no decimal numeral.
   * @throws {ApiError} on any 4xx, with the service's own `code` and message.
   */
  create(request: PaymentIntentRequest, options?: RequestOptions): ApiPromise<PaymentIntent> {
    return this.#caller.call(paymentIntentEndpoints.create, { path: [], body: request }, options);
  }

  /** Reads one intent: `GET /payment-intents/{id}`. */
  get(paymentIntentId: string, options?: GetOptions<PaymentIntentFilter>): ApiPromise<PaymentIntent> {
    const input = { path: [paymentIntentId], query: options?.query };
    return this.#caller.call(paymentIntentEndpoints.get, input, options);
  }
}
