import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";

/** The first step of a payment, with its cost and the names of both parties (Interface description 0.0.1, "Payment intent"). */
export interface PaymentIntent {
  /** Assigned by the service on creation. */
  id: string;
  senderGatewayId: string;
  /** What the sender pays, excluding sender fees, a decimal numeral, computed by the service. */
  senderAmount: string;
  senderCurrency: string;
  senderAccount: string;
  /** Result of the sender's name verification. */
  senderName: string;
  receiverGatewayId: string;
  /** A decimal numeral. The only amount that a payment can name. */
  receiverAmount: string;
  receiverCurrency: string;
  receiverAccount: string;
  /** Result of the receiver's name verification. */
  receiverName: string;
  /** In receiver currency, a decimal numeral. */
  receivingGatewayFee: string;
  memo: string;
  /** Can be null. Its content is not shown. */
  extras: unknown;
}

/** The body of create. The description gives an intent these eight fields, all of them strings. */
export interface PaymentIntentRequest
  extends Pick<
    PaymentIntent,
    | "senderGatewayId"
    | "senderCurrency"
    | "senderAccount"
    | "receiverGatewayId"
    | "receiverAccount"
    | "receiverCurrency"
    | "receiverAmount"
    | "memo"
  > {}

/** The query parameters that the single read declares. They are the intent's own fields. */
export interface PaymentIntentFilter extends Optional<Omit<PaymentIntent, "extras">> {
  /** Sent as it is. */
  extras?: string | undefined;
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

/** The description's rows of this resource. */
export const paymentIntents = resource<PaymentIntent, PaymentIntentRequest>()("paymentIntents", "/payment-intents", {
  fields: {
    id: "text",
    senderGatewayId: "text",
    senderAmount: "decimal",
    senderCurrency: "text",
    senderAccount: "account",
    senderName: "account",
    receiverGatewayId: "text",
    receiverAmount: "decimal",
    receiverCurrency: "text",
    receiverAccount: "account",
    receiverName: "account",
    receivingGatewayFee: "decimal",
    memo: "text",
    extras: "any",
  },
  create: { body: writable, required: writable, signed: false, signer: "senderGatewayId", repeatable: true },
  get: true,
});

/** The first step of a payment. */
export class PaymentIntents {
  readonly #client: ApiClient;

  /** @internal */
  constructor(client: ApiClient) {
    this.#client = client;
  }

  /**
   * Creates an intent: `POST /payment-intents`. Not signed. Moves no money. The caller must be a payment gateway.
   *
   * The client repeats it after passing failures. A lost intent costs nothing, so it can be requested again.
   *
   * @returns the sender amount, the names of both parties and the receiving gateway's fee.
   * @throws {InvalidArgumentError} on a missing or unknown field, or an amount that is not a decimal numeral.
   * @throws {ApiError} on any status other than 2xx.
   */
  create(request: PaymentIntentRequest, options?: RequestOptions): ApiPromise<PaymentIntent> {
    return this.#client.call(paymentIntents.create, [], { body: request }, options);
  }

  /** Reads one intent: `GET /payment-intents/{id}`. */
  get(paymentIntentId: string, options?: GetOptions<PaymentIntentFilter>): ApiPromise<PaymentIntent> {
    return this.#client.call(paymentIntents.get, [paymentIntentId], {}, options);
  }
}
