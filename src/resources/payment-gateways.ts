import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";
import { GatewayWithdrawals } from "./gateway-withdrawals.js";

/** A financial institution that sends and receives payments (Interface description 0.0.1, "Payment gateway"). */
export interface PaymentGateway {
  /** Assigned by the service on creation. */
  id: string;
  /** Country of the gateway. The format is not shown. */
  countryCode: string;
  /** Currency of the gateway. The format is not shown. */
  currency: string;
  /** Type of the gateway. Its values are not shown. */
  type: string;
  /** Short local name of the institution. It identifies the gateway in intents and payments. */
  institutionId: string;
  /** Name of the institution. */
  name: string;
  /** Fee structure for internal payments, supplied by the gateway. */
  feeStructure: string;
  /** Base64 of the PEM public key that verifies the gateway's signed requests. See `publicKeyToBase64`. */
  rsaPublicKeyBase64: string;
  /** Contact e-mail of the gateway. */
  email: string;
  /** Website of the gateway. */
  website: string;
  /** Address used for account verification. */
  accountVerificationEndpoint: string;
  /** Bearer token for that address. A secret, returned as stored. Keep it out of logs. */
  accountVerificationBearerToken: string;
}

/** Body of create and update. Which fields are required is not shown, so the service decides. */
export interface PaymentGatewayFields
  extends Optional<
    Pick<
      PaymentGateway,
      | "countryCode"
      | "currency"
      | "type"
      | "institutionId"
      | "name"
      | "feeStructure"
      | "rsaPublicKeyBase64"
      | "email"
      | "website"
      | "accountVerificationEndpoint"
      | "accountVerificationBearerToken"
    >
  > {}

/** Filters of the list, and the query parameters of the single read. They are every field. */
export interface PaymentGatewayFilter extends Optional<PaymentGateway> {}

const writable = [
  "countryCode",
  "currency",
  "type",
  "institutionId",
  "name",
  "feeStructure",
  "rsaPublicKeyBase64",
  "email",
  "website",
  "accountVerificationEndpoint",
  "accountVerificationBearerToken",
] as const;

/** The description's rows of this resource. */
export const paymentGateways = resource<PaymentGateway, PaymentGatewayFields>()(
  "paymentGateways",
  "/payment-gateways",
  {
    fields: {
      id: "text",
      countryCode: "text",
      currency: "text",
      type: "text",
      institutionId: "text",
      name: "text",
      feeStructure: "text",
      rsaPublicKeyBase64: "publicKey",
      email: "text",
      website: "text",
      accountVerificationEndpoint: "text",
      accountVerificationBearerToken: "secret",
    },
    create: { body: writable },
    list: true,
    get: true,
    update: { body: writable },
  },
);

/** Registers, reads, and updates payment gateways. */
export class PaymentGateways {
  readonly #client: ApiClient;

  /** @internal */
  constructor(client: ApiClient) {
    this.#client = client;
  }

  /**
   * Registers a payment gateway: `POST /payment-gateways`. Not signed.
   *
   * The client repeats it only if nothing was sent, and after a 429. A lost response throws
   * `OutcomeUnknownError`.
   *
   * @returns the stored record, `id` included.
   * @throws {InvalidArgumentError} on an unknown field or a wrong type, before anything is sent.
   * @throws {BadRequestError} when the service finds the request invalid.
   */
  create(fields: PaymentGatewayFields, options?: RequestOptions): ApiPromise<PaymentGateway> {
    return this.#client.call(paymentGateways.create, [], { body: fields }, options);
  }

  /**
   * Reads one gateway: `GET /payment-gateways/{id}`. The record holds a secret, `accountVerificationBearerToken`.
   *
   * @throws {ApiError} with the service's `code` and `message` if the gateway doesn't exist.
   */
  get(paymentGatewayId: string, options?: GetOptions<PaymentGatewayFilter>): ApiPromise<PaymentGateway> {
    return this.#client.call(paymentGateways.get, [paymentGatewayId], {}, options);
  }

  /**
   * Updates a gateway: `PUT /payment-gateways/{id}`. Send every field of the record. What the service does with the
   * fields that are left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(paymentGatewayId: string, fields: PaymentGatewayFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(paymentGateways.update, [paymentGatewayId], { body: fields }, options);
  }

  /**
   * Lists gateways: `GET /payment-gateways`. Await it for the first page, or iterate it for every record.
   *
   * @throws {PagingError} when going on would lose or repeat records.
   */
  list(query?: ListQuery<PaymentGateway, PaymentGatewayFilter>, options?: RequestOptions): Listing<PaymentGateway> {
    return listRecords(this.#client, paymentGateways.list, [], query, options);
  }

  /** The withdrawals as this gateway sees them. Binds the id without I/O. */
  withdrawals(paymentGatewayId: string): GatewayWithdrawals {
    return new GatewayWithdrawals(this.#client, paymentGatewayId);
  }
}
