import type { ApiClient } from "../api/api-client.js";
import { failedStatuses, type Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** State of a payment at one of its gateways. Values that the description doesn't show are passed through. */
export type PaymentStatus = "pending" | "processed" | "error" | "reverted" | (string & {});

/** A cross-border payment (Interface description 0.0.1, "Payment" and "States and transitions"). */
export interface Payment {
  /** Assigned by the service on creation. */
  id: string;
  /** ISO 8601 in UTC with sub-second digits, kept as a string so that none is lost. Response only. */
  createdAt: string;
  /** Same format. Response only. */
  updatedAt: string;
  /** Cursor value for paging. Response only. */
  pagingToken: string;
  senderGatewayId: string;
  /** What the sender pays, excluding sender fees, a decimal numeral. */
  senderAmount: string;
  senderCurrency: string;
  senderAccount: string;
  senderName: string;
  receiverGatewayId: string;
  /** Response only. */
  receiverProcessingGatewayId: string;
  /** A decimal numeral. */
  receiverAmount: string;
  receiverCurrency: string;
  receiverAccount: string;
  receiverName: string;
  /** In receiver currency, a decimal numeral. */
  receivingGatewayFee: string;
  memo: string;
  /** The sending gateway generates it when it takes the funds. You supply it on creation. */
  senderGatewayTransactionId: string;
  /** The receiving gateway generates it when it honors the payment. An empty string until then. */
  receiverGatewayTransactionId: string;
  /** `processed` once the payment is created. */
  senderGatewayStatus: PaymentStatus;
  /** `pending` once the payment is created. How it leaves that state is not shown. */
  receiverGatewayStatus: PaymentStatus;
  senderGatewayPublicKey: string;
  receiverGatewayPublicKey: string;
  senderGatewaySignature: string;
  receiverGatewaySignature: string;
  /** Blockchain record of the payment. */
  blockchainTransactionId: string;
  /** Path of the creating request. */
  creationRequestUrl: string;
  /** Raw body of the creating request. */
  creationRequestBody: string;
  /** Public key that verified the creating request, Base64. */
  creationRequestPublicKeyBase64: string;
  /** Signature of the creating request, Base64: equal to the header that was sent. */
  creationRequestSignatureBase64: string;
  /** Can be null. Its content is not shown. */
  extras: unknown;
}

/** The body of create, made of an intent and the sending gateway's transaction id. `paymentFromIntent` makes one. */
export interface PaymentRequest
  extends Pick<
    Payment,
    | "senderGatewayId"
    | "senderAmount"
    | "senderCurrency"
    | "senderAccount"
    | "senderName"
    | "receiverGatewayId"
    | "receiverAmount"
    | "receiverCurrency"
    | "receiverAccount"
    | "receiverName"
    | "receivingGatewayFee"
    | "memo"
    | "senderGatewayTransactionId"
  > {
  /** The intent's id. May be present. */
  id?: string | undefined;
  /** The intent's extras. May be present. */
  extras?: unknown;
}

/** Filters of `GET /payments` are not shown. They are sent as they are, and the service decides. */
export interface PaymentFilter extends Optional<Omit<Payment, "extras">> {
  /**
   * Filters that aren't fields of a payment: `{ other: { region: "east" } }` is sent as `region=east`. They are separate, so that a
   * misspelled field doesn't compile.
   */
  other?: Readonly<Record<string, string>> | undefined;
}

const required = [
  "senderGatewayId",
  "senderAmount",
  "senderCurrency",
  "senderAccount",
  "senderName",
  "receiverGatewayId",
  "receiverAmount",
  "receiverCurrency",
  "receiverAccount",
  "receiverName",
  "receivingGatewayFee",
  "memo",
  "senderGatewayTransactionId",
] as const;

/** The description's rows of this resource. */
export const payments = resource<Payment, PaymentRequest>()("payments", "/payments", {
  fields: {
    id: "text",
    createdAt: "timestamp",
    updatedAt: "timestamp",
    pagingToken: "text",
    senderGatewayId: "text",
    senderAmount: "decimal",
    senderCurrency: "text",
    senderAccount: "account",
    senderName: "account",
    receiverGatewayId: "text",
    receiverProcessingGatewayId: "text",
    receiverAmount: "decimal",
    receiverCurrency: "text",
    receiverAccount: "account",
    receiverName: "account",
    receivingGatewayFee: "decimal",
    memo: "text",
    senderGatewayTransactionId: "text",
    receiverGatewayTransactionId: "text",
    senderGatewayStatus: "paymentStatus",
    receiverGatewayStatus: "paymentStatus",
    senderGatewayPublicKey: "text",
    receiverGatewayPublicKey: "text",
    senderGatewaySignature: "text",
    receiverGatewaySignature: "text",
    blockchainTransactionId: "text",
    creationRequestUrl: "text",
    creationRequestBody: "text",
    creationRequestPublicKeyBase64: "publicKey",
    creationRequestSignatureBase64: "text",
    extras: "any",
  },
  // The filters of this list are not shown.
  filters: "open",
  create: {
    body: ["id", ...required, "extras"],
    required,
    signed: true,
    sendsBack: true,
    signer: "senderGatewayId",
    identifiedBy: "senderGatewayTransactionId",
  },
  list: true,
});

/** Whether a status of the payment says `error` or `reverted`. */
export function isSettledBadly(payment: Payment): boolean {
  return failedStatuses(payments.create.record, payment).length > 0;
}

/** The second step of a payment, and the list of all payments. */
export class Payments {
  readonly #client: ApiClient;

  /** @internal */
  constructor(client: ApiClient) {
    this.#client = client;
  }

  /**
   * Creates a payment of an intent: `POST /payments`. Signed. Moves money. The intent is sent back as it is, unknown fields included.
   *
   * The client never sends it again once it may have been sent. On `effect: "possible"` neither repeat it nor give the sender's money
   * back. Search for the payment with the error's `request.signature` as its `creationRequestSignatureBase64`.
   *
   * @returns the full record, with `senderGatewayStatus` `processed` and `receiverGatewayStatus` `pending`.
   * @example
   * await client.payments.create({ ...intent, senderGatewayTransactionId });
   * @throws {InvalidArgumentError} on a missing or misspelled field, or an amount that isn't one.
   * @throws {ConfigError} if the client has no `signingKey`.
   * @throws {ApiError} on any status other than 2xx. Nothing was paid if `effect` is `none`, as it is if the service itself refuses
   *   the payment. A proxy's 4xx proves nothing.
   * @throws {UnexpectedResponseError} on a 2xx that is not this payment's record.
   * @throws {OutcomeUnknownError} if there was no response.
   */
  create(payment: PaymentRequest, options?: RequestOptions): ApiPromise<Payment> {
    return this.#client.call(payments.create, [], { body: payment }, options);
  }

  /**
   * Lists payments: `GET /payments`. Await it for the first page, or iterate it for every record.
   *
   * @throws {PagingError} if the list can't be read to its end without losing records.
   */
  list(query?: ListQuery<Payment, PaymentFilter>, options?: RequestOptions): Listing<Payment> {
    return listRecords(this.#client, payments.list, [], query, options);
  }
}
