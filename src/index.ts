export type { GetOptions } from "./api/api-client.js";
export type { Optional } from "./api/fields.js";
export type { ListQuery, SortTerm, SortTerms } from "./api/list-query.js";
export type { ApiPromise, RequestOptions, ResponseInfo, WithResponse } from "./api/request-options.js";
export type { ParametersOf } from "./api/resource.js";
export type {
  AccessTokenAuth,
  AccessTokenContext,
  AuthOptions,
  IdentityProviderAuth,
  PasswordAuth,
  SecretSource,
  SessionAuth,
  UserAuth,
} from "./auth/auth-options.js";
export type { UserClaims } from "./auth/openid-grant.js";
export type { StoredToken, TokenStore } from "./auth/token-store.js";
export { CrossBorderClient } from "./client.js";
export type { ClientOptions, SharedOptions } from "./client-options.js";
export {
  AbortedError,
  ApiError,
  type ApiErrorDetails,
  AuthenticationError,
  BadRequestError,
  ConfigError,
  ConflictError,
  ConnectionError,
  CrossBorderError,
  type Effect,
  type ErrorCode,
  type ErrorDetails,
  type ErrorResponse,
  type FundsTaken,
  InvalidArgumentError,
  NotFoundError,
  OutcomeUnknownError,
  PagingError,
  PermissionDeniedError,
  RateLimitError,
  type SentRequest,
  ServerError,
  type SignedText,
  SigningError,
  TimeoutError,
  TokenError,
  type TokenErrorCode,
  type TokenErrorDetails,
  UnexpectedResponseError,
  UnprocessableEntityError,
} from "./core/errors.js";
export type {
  ClientEvents,
  FailureEvent,
  MismatchEvent,
  ResponseEvent,
  RetryEvent,
  SuccessEvent,
  TokenEvent,
} from "./events/events.js";
export type { Logger } from "./events/log-lines.js";
export type { Telemetry } from "./events/reporter.js";
export { type PayOutcome, paymentFromIntent, type TakeFunds } from "./flows/funds.js";
export type { HealthReport } from "./http/http-client.js";
export type { RawRequest } from "./http/prepare.js";
export type { ValidationMode } from "./http/read.js";
export type { LoginOptions } from "./login/authorization.js";
export { BrowserLogin } from "./login/browser-login.js";
export { type BegunLogin, ServerLogin, type ServerLoginOptions, type ServerSession } from "./login/server-login.js";
export { exactExchangeRate, exchangeRate, type IntentAmounts, type RateOptions, type Rounding } from "./money.js";
export type { Listing } from "./paging/listing.js";
export type { Page } from "./paging/page.js";
export type { KeyObjectLike } from "./platform/platform.js";
export { describedVersion, type OperationName, operationNames } from "./resources/catalogue.js";
export type { Deposit, DepositFields, DepositFilter, Deposits } from "./resources/deposits.js";
export type {
  ExchangeRate,
  ExchangeRateFields,
  ExchangeRateFilter,
  ExchangeRates,
} from "./resources/exchange-rates.js";
export type {
  GatewayWithdrawal,
  GatewayWithdrawalFields,
  GatewayWithdrawalFilter,
  GatewayWithdrawals,
} from "./resources/gateway-withdrawals.js";
export type {
  LiquidityProvider,
  LiquidityProviderFields,
  LiquidityProviderFilter,
  LiquidityProviders,
} from "./resources/liquidity-providers.js";
export type {
  PaymentGateway,
  PaymentGatewayFields,
  PaymentGatewayFilter,
  PaymentGateways,
} from "./resources/payment-gateways.js";
export type {
  PaymentIntent,
  PaymentIntentFilter,
  PaymentIntentRequest,
  PaymentIntents,
} from "./resources/payment-intents.js";
export type { Payment, PaymentFilter, PaymentRequest, PaymentStatus, Payments } from "./resources/payments.js";
export type {
  Transfer,
  TransferEnd,
  TransferFields,
  TransferFilter,
  Transfers,
  TransferUpdate,
} from "./resources/transfers.js";
export type { Withdrawal, WithdrawalFields, WithdrawalFilter, Withdrawals } from "./resources/withdrawals.js";
export {
  generateSigningKeyPair,
  publicKeyToBase64,
  type SigningKey,
  type SigningKeyPair,
} from "./signing/keys.js";
export {
  type RequestSigner,
  type RequestToSign,
  type SignatureToVerify,
  type SigningContext,
  signRequest,
  verifySignature,
} from "./signing/signer.js";
export { MemoryTokenStore } from "./tokens/memory-token-store.js";
export {
  type SignedDeposit,
  type SignedPayment,
  type VerifyRecordOptions,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "./verification/verify-record.js";
export type { FetchLike } from "./wire/fetch.js";
export { type AppInfo, version as VERSION } from "./wire/open-transport.js";
export type { TlsOptions } from "./wire/tls.js";
export type { DispatcherLike } from "./wire/undici.js";
