import type { ClientEvents } from "./api/client-events.js";
import { checkMaxRetries, checkTimeoutMs } from "./api/request-options.js";
import { type AuthOptions, assertAuthOptions } from "./auth/auth-options.js";
import { ConfigError } from "./errors/errors.js";
import type { ValidationMode } from "./http/http-client.js";
import { endpointsByOperation, type OperationName } from "./resources/endpoints.js";
import type { SigningKey } from "./signing/keys.js";
import type { RequestSigner } from "./signing/signer.js";
import { type BaseUrl, parseBaseUrl } from "./wire/base-url.js";
import type { FetchLike } from "./wire/fetch-transport.js";
import type { DispatcherLike } from "./wire/undici-transport.js";

/** How to build a `CrossBorderClient`. */
export interface ClientOptions {
  /** `{base_url}` of the description. May end in a path. https, or http on loopback. */
  readonly baseUrl: string;
  /** The credentials of the password grant, or a token source of your own. */
  readonly auth: AuthOptions;
  /**
   * The private key whose public key the service was given: PEM text, `KeyObject`, `{ key, passphrase }`, or a
   * `RequestSigner` for a KMS or an HSM. RSA of 2,048 bits or more. Needed for signed operations only.
   */
  readonly signingKey?: SigningKey | RequestSigner | undefined;
  /** Operations to sign beside `payments.create` and `liquidityProviders.deposits.create`: the description does not list them all. */
  readonly signedOperations?: readonly OperationName[] | undefined;
  /** Whether a query belongs to the signed text, which the description does not show. Default: false. */
  readonly signQuery?: boolean | undefined;
  /** Total time of one call: token, signing, connecting, response, waits and retries. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** How often a safe failure is tried again; 0 means never. Default: 2. */
  readonly maxRetries?: number | undefined;
  /** Whether responses that differ from the description are reported (`on.mismatch`), refused, or not looked at. Default: `report`. */
  readonly validation?: ValidationMode | undefined;
  /** Largest response in bytes. Default: 10 MiB for lists and 1 MiB for everything else. */
  readonly maxResponseBytes?: number | undefined;
  /** How long before its expiry a token is renewed. Default: 5,000, and never more than a tenth of its lifetime. */
  readonly tokenLeewayMs?: number | undefined;
  /** Most sockets of the client's own undici agent to one origin. Default: 64. */
  readonly maxSockets?: number | undefined;
  /** Used instead of undici: for MSW, browsers and edge runtimes. It can't tell whether a failed request had left. */
  readonly fetch?: FetchLike | undefined;
  /** An undici dispatcher (7 or 8) of your own, for a proxy, a CA or mTLS. It stays open when the client is closed. */
  readonly dispatcher?: DispatcherLike | undefined;
  /** Told what the client does. No event holds a secret, a body or an id. */
  readonly on?: ClientEvents | undefined;
}

/** The options with every default in place. */
export interface ResolvedOptions {
  readonly baseUrl: BaseUrl;
  readonly auth: AuthOptions;
  readonly signingKey: SigningKey | RequestSigner | undefined;
  readonly signedOperations: ReadonlySet<string>;
  readonly signQuery: boolean;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly validation: ValidationMode;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
  readonly tokenLeewayMs: number | undefined;
  readonly maxSockets: number;
  readonly fetch: FetchLike | undefined;
  readonly dispatcher: DispatcherLike | undefined;
  readonly on: ClientEvents;
}

const mebibyte = 2 ** 20;

/** @throws {ConfigError} that names the option, what was found (never a secret) and what is wanted. */
export function resolveOptions(options: ClientOptions): ResolvedOptions {
  if (typeof options !== "object" || options === null) {
    throw new ConfigError("the client needs an object of options: at least baseUrl and auth");
  }
  for (const name of Object.keys(options)) {
    if (!names.has(name)) {
      throw new ConfigError(`there is no option ${JSON.stringify(name)}; there are ${[...names].join(", ")}`);
    }
  }
  assertAuthOptions(options.auth);
  const { maxResponseBytes } = options;
  if (maxResponseBytes !== undefined) assertWholeNumber("maxResponseBytes", maxResponseBytes);
  const resolved: ResolvedOptions = {
    baseUrl: parseBaseUrl(options.baseUrl, "baseUrl"),
    auth: options.auth,
    signingKey: options.signingKey,
    signedOperations: new Set(options.signedOperations ?? []),
    signQuery: options.signQuery ?? false,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 2,
    validation: options.validation ?? "report",
    maxRecordBytes: maxResponseBytes ?? mebibyte,
    maxListBytes: maxResponseBytes ?? 10 * mebibyte,
    tokenLeewayMs: options.tokenLeewayMs,
    maxSockets: options.maxSockets ?? 64,
    fetch: options.fetch,
    dispatcher: options.dispatcher,
    on: options.on ?? {},
  };
  assertResolved(resolved);
  return resolved;
}

function assertResolved(options: ResolvedOptions): void {
  const refuse = (message: string) => new ConfigError(message);
  checkTimeoutMs(options.timeoutMs, refuse);
  checkMaxRetries(options.maxRetries, refuse);
  assertWholeNumber("maxSockets", options.maxSockets);
  for (const operation of options.signedOperations) {
    if (!endpointsByOperation.has(operation)) {
      throw refuse(`signedOperations: there is no operation ${JSON.stringify(operation)}`);
    }
  }
  if (typeof options.signQuery !== "boolean") throw refuse("signQuery must be true or false");
  if (!["report", "strict", "off"].includes(options.validation)) {
    throw refuse('validation must be "report", "strict" or "off"');
  }
  const { tokenLeewayMs } = options;
  if (tokenLeewayMs !== undefined && !(typeof tokenLeewayMs === "number" && tokenLeewayMs >= 0)) {
    throw refuse("tokenLeewayMs must be a number of milliseconds, 0 or more");
  }
  if (options.fetch !== undefined && typeof options.fetch !== "function") throw refuse("fetch must be a function");
  if (options.fetch !== undefined && options.dispatcher !== undefined) {
    throw refuse("fetch and dispatcher exclude each other: a dispatcher belongs to undici");
  }
  if (options.dispatcher !== undefined && typeof options.dispatcher?.dispatch !== "function") {
    throw refuse("dispatcher must be an undici dispatcher: an object with a dispatch method");
  }
  if (typeof options.on !== "object" || options.on === null) throw refuse("on must be an object of hooks");
}

function assertWholeNumber(option: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) {
    throw new ConfigError(`${option} must be a whole number above 0; found ${String(value)}`);
  }
}

const names: ReadonlySet<string> = new Set([
  "baseUrl",
  "auth",
  "signingKey",
  "signedOperations",
  "signQuery",
  "timeoutMs",
  "maxRetries",
  "validation",
  "maxResponseBytes",
  "tokenLeewayMs",
  "maxSockets",
  "fetch",
  "dispatcher",
  "on",
] satisfies (keyof ClientOptions)[]);
