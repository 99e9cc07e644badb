import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** Funds that a liquidity provider put into a gateway (Interface description 0.0.1, "Deposit"). */
export interface Deposit {
  /** Assigned by the service on creation. */
  id: string;
  /** Gateway into which the funds were deposited. */
  paymentGatewayId: string;
  /** Gateway transaction referencing the deposited funds. */
  paymentGatewayTransactionId: string;
  /** Amount deposited, a decimal numeral. */
  amount: string;
  /** Currency deposited. */
  currency: string;
  /** Blockchain transaction of a successful deposit. */
  blockchainTransactionId: string;
  /** URI of the creating request. Response only. */
  requestUri: string;
  /** Raw body of the creating request. Response only. */
  requestBody: string;
  /** Public key that verified the creating request, Base64. Response only. */
  paymentGatewayPublicKeyBase64: string;
  /** Signature of the creating request, Base64. Response only. */
  requestSignatureBase64: string;
}

/** Body of create and update. Which fields are required is not shown. */
export interface DepositFields
  extends Optional<
    Pick<
      Deposit,
      "paymentGatewayId" | "paymentGatewayTransactionId" | "amount" | "currency" | "blockchainTransactionId"
    >
  > {}

/** Filters of the list, and the query parameters of the single read. They are every field except `id`. */
export interface DepositFilter extends Optional<Omit<Deposit, "id">> {}

const writable = [
  "paymentGatewayId",
  "paymentGatewayTransactionId",
  "amount",
  "currency",
  "blockchainTransactionId",
] as const;

/** The description's rows of this resource. */
export const deposits = resource<Deposit, DepositFields>()(
  "liquidityProviders.deposits",
  "/liquidity-providers/{liquidityProviderId}/deposits",
  {
    fields: {
      id: "text",
      paymentGatewayId: "text",
      paymentGatewayTransactionId: "text",
      amount: "decimal",
      currency: "text",
      blockchainTransactionId: "text",
      requestUri: "text",
      requestBody: "text",
      paymentGatewayPublicKeyBase64: "publicKey",
      requestSignatureBase64: "text",
    },
    filters: { except: ["id"] },
    create: {
      body: writable,
      signed: true,
      signer: "paymentGatewayId",
      identifiedBy: "paymentGatewayTransactionId",
    },
    list: true,
    get: true,
    update: { body: writable, signed: false, signer: "paymentGatewayId" },
  },
);

/** The deposits of one liquidity provider. */
export class Deposits {
  readonly #client: ApiClient;
  readonly #liquidityProviderId: string;

  /** @internal */
  constructor(client: ApiClient, liquidityProviderId: string) {
    this.#client = client;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Records a deposit: `POST /liquidity-providers/{id}/deposits`. Signed. Moves money.
   *
   * The client never repeats it once it may have been sent. On `effect: "possible"` search for the deposit with the error's
   * `request.signature` as its `requestSignatureBase64` before you do it again.
   *
   * @returns the stored record, with the request and the signature that created it.
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or an amount that is not a decimal numeral.
   * @throws {ConfigError} if the client has no `signingKey`.
   * @throws {OutcomeUnknownError} if there was no response.
   */
  create(fields: DepositFields, options?: RequestOptions): ApiPromise<Deposit> {
    return this.#client.call(deposits.create, [this.#liquidityProviderId], { body: fields }, options);
  }

  /** Reads one deposit: `GET /liquidity-providers/{id}/deposits/{id}`. */
  get(depositId: string, options?: GetOptions<DepositFilter>): ApiPromise<Deposit> {
    return this.#client.call(deposits.get, [this.#liquidityProviderId, depositId], {}, options);
  }

  /**
   * Updates a deposit: `PUT /liquidity-providers/{id}/deposits/{id}`. Send all five fields. What the service does with
   * those left out is not shown. Not signed unless `signedOperations` names it. Safe to repeat.
   */
  update(depositId: string, fields: DepositFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(deposits.update, [this.#liquidityProviderId, depositId], { body: fields }, options);
  }

  /** Lists the provider's deposits: `GET /liquidity-providers/{id}/deposits`. */
  list(query?: ListQuery<Deposit, DepositFilter>, options?: RequestOptions): Listing<Deposit> {
    return listRecords(this.#client, deposits.list, [this.#liquidityProviderId], query, options);
  }
}
