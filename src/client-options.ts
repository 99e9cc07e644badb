import { maxRetriesOption, requestOptions, timeoutMsOption } from "./api/request-options.js";
import { type AuthOptions, parseAuthOptions, tokenLeewayOption } from "./auth/auth-options.js";
import { isTokenStore, type TokenStore } from "./auth/token-store.js";
import { describeValue, looksLikeName } from "./core/describe.js";
import { ConfigError } from "./core/errors.js";
import {
  isBoolean,
  isFunction,
  isPositiveInteger,
  type OptionTable,
  parseOptions,
  type WithDefaults,
  withDefaults,
} from "./core/parse.js";
import { type ClientEvents, readClientHooks } from "./events/events.js";
import { isLogger, type Logger } from "./events/log-lines.js";
import { type Telemetry, telemetryParts } from "./events/reporter.js";
import { checkHeaders } from "./http/prepare.js";
import type { ValidationMode } from "./http/read.js";
import { tokenSourceKey } from "./http/token-source.js";
import { type OperationName, operations } from "./resources/catalogue.js";
import type { SigningKey } from "./signing/keys.js";
import type { RequestSigner } from "./signing/signer.js";
import { type BaseUrl, parseBaseUrl } from "./wire/base-url.js";
import type { FetchLike } from "./wire/fetch.js";
import { type AppInfo, maySendTwice, parseAppInfo } from "./wire/open-transport.js";
import { parseTlsOptions, type TlsMaterial, type TlsOptions } from "./wire/tls.js";
import { type DispatcherLike, isDispatcher } from "./wire/undici.js";

/** How to build a `CrossBorderClient`. */
export interface ClientOptions {
  /** `{base_url}` of the interface description. May end in a path. https, or http on loopback or with `allowInsecureHttp`. */
  readonly baseUrl: string;
  /** The credentials of the password grant, a token source of your own, a `BrowserLogin`, or a `ServerSession`. */
  readonly auth: AuthOptions;
  /**
   * The private key of the public key that you registered at onboarding. PEM text, a `KeyObject`, `{ key, passphrase }`, or a
   * `RequestSigner` for a KMS or an HSM. RSA, 2,048 bits or more. Only signed operations need it.
   */
  readonly signingKey?: SigningKey | RequestSigner | undefined;
  /** Operations to sign besides those that always are, such as `payments.create`. */
  readonly signedOperations?: readonly OperationName[] | undefined;
  /** Whether the query is part of the signed text, which the description does not show. Default: false. */
  readonly signQuery?: boolean | undefined;
  /** Total time of one call in milliseconds, with token, signature, connection, waits, and retries. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** How often a safe failure is retried. 0 means never. Default: 4. */
  readonly maxRetries?: number | undefined;
  /** Whether responses that differ from the description are reported (`on.mismatch`), refused, or accepted. Default: `report`. */
  readonly validation?: ValidationMode | undefined;
  /** The largest response in bytes. Default: 10 MiB for lists and 1 MiB for everything else. */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Sent with every call of the service. The headers of one call take precedence. Token requests don't carry them, since they may go
   * to another host. No event or log shows their values. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Your program, such as `{ name: "school-fees", version: "2.4.1" }`, put before `cross-border-payments/<version>` in the
   * `User-Agent`. Leave it out in pages, which don't send it, since CORS rules rarely allow it.
   */
  readonly appInfo?: AppInfo | undefined;
  /** How long before its expiry a token is renewed, in milliseconds. Default: 5,000, and at most a tenth of its lifetime. */
  readonly tokenLeewayMs?: number | undefined;
  /**
   * Shares one session with other processes of the same user. A `RedisTokenStore`, a `PostgresTokenStore`, or one of your own. If
   * the store is unavailable, each process logs in on its own. By default each client has its own session.
   */
  readonly tokenStore?: TokenStore | undefined;
  /** The most sockets of the client's own to one origin, for reads and for writes each. Default: 64. */
  readonly maxSockets?: number | undefined;
  /**
   * Accepts `http:` addresses of other hosts than this machine. They get tokens, passwords, and payments in the clear. Only for
   * networks that encrypt below HTTP, such as a service mesh. Default: false.
   */
  readonly allowInsecureHttp?: boolean | undefined;
  /** Certificates for the client's own agent, for a private authority or mutual TLS. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Used instead of undici, for MSW and tests. It must send each request once. It can't tell whether a failed one was sent, so more
   * outcomes are `possible`.
   */
  readonly fetch?: FetchLike | undefined;
  /**
   * An undici dispatcher (7 or 8) of your own, for a proxy. It stays open when the client is closed. If it sends a request a second
   * time, for a retry or a redirect, the client stops it.
   */
  readonly dispatcher?: DispatcherLike | undefined;
  /** Hooks that get the client's events. No event contains a secret, a body, or an id. */
  readonly on?: ClientEvents | undefined;
  /**
   * pino, `console`, or a similar logger. Gets a line for each call (`debug`), retry and mismatch (`warn`), and unknown outcome and
   * held flow (`error`). No line contains a secret, a body, or an account. Default: none.
   */
  readonly logger?: Logger | undefined;
  /** Spans and metrics, from `openTelemetry` of `cross-border-payments/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** A function of its own checks the option, with a message for each mistake. */
const checkedLater = { accepts: () => true, expected: "what its function takes" };
const aBoolean = { accepts: isBoolean, expected: "true or false", default: false };
const aCount = { accepts: isPositiveInteger, expected: "a whole number above 0" };

/** Every option, with its check, its default, and its line in docs/client.md. One that is missing here doesn't compile. */
export const clientOptions = {
  baseUrl: {
    ...checkedLater,
    documentation: "Address of the service. May end in a path. https, or http on loopback",
  },
  auth: {
    ...checkedLater,
    documentation:
      "Credentials: `{ authUrl, realm, clientId, clientSecret?, username, password }`, `{ …, refreshToken }`, `{ accessToken }`, or a [user login](front-end.md). See [Authentication](tokens.md)",
  },
  signingKey: {
    ...checkedLater,
    documentedDefault: "none",
    documentation:
      "PEM text, a `KeyObject`, `{ key, passphrase }`, or a `RequestSigner`. Private RSA, at least 2,048 bits. See [Signing](signing.md)",
  },
  signedOperations: {
    accepts: (value) => Array.isArray(value),
    expected: "an array of operations",
    default: [] as readonly OperationName[],
    documentedDefault: "`[]`",
    documentation: "Operations to sign besides [payments and deposits](api-calls.md#resources)",
  },
  signQuery: {
    ...aBoolean,
    documentation: "Whether the query is part of the signed text",
  },
  timeoutMs: {
    ...timeoutMsOption,
    default: 30_000,
    documentation: "Limit for the whole call, in milliseconds: token, connection, response, waits, and retries",
  },
  maxRetries: {
    ...maxRetriesOption,
    default: 4,
    documentation: "Maximum retries of requests that are safe to repeat. 0 turns retries off",
  },
  validation: {
    accepts: (value) => value === "report" || value === "strict" || value === "off",
    expected: '"report", "strict" or "off"',
    default: "report",
    documentation:
      '`"report"`, `"strict"`, or `"off"`: what happens if [a record differs from the description](api-calls.md#unexpected-responses)',
  },
  maxResponseBytes: {
    ...aCount,
    documentedDefault: "10 MiB for lists, 1 MiB otherwise",
    documentation: "Maximum size of a response. A larger one is an error",
  },
  headers: {
    ...requestOptions.headers,
    default: {},
    documentedDefault: "none",
    documentation: "Sent with every call, but not with token requests. Headers of a call take precedence",
  },
  appInfo: {
    ...checkedLater,
    documentedDefault: "none",
    documentation: "`{ name, version }` of your program, for the `User-Agent`. Ignored in pages",
  },
  tokenLeewayMs: {
    ...tokenLeewayOption,
    documentedDefault: "5,000, at most a tenth of the lifetime",
    documentation: "How long before its expiry a token is renewed, in milliseconds",
  },
  tokenStore: {
    accepts: isTokenStore,
    expected: "a token store: an object with the methods read, lock, unlock and write",
    documentedDefault: "none",
    documentation: "Shares one session among [many processes](fleet.md)",
  },
  maxSockets: {
    ...aCount,
    default: 64,
    documentation: "Maximum connections per origin, for reads and for writes each",
  },
  allowInsecureHttp: {
    ...aBoolean,
    documentation: "Allows http to other hosts. Only for a service mesh that encrypts",
  },
  tls: {
    ...checkedLater,
    documentedDefault: "none",
    documentation:
      "`{ ca?, cert?, key?, passphrase?, servername? }`: a [private CA or mutual TLS](production.md#mutual-tls-and-a-private-ca)",
  },
  fetch: {
    accepts: isFunction,
    expected: "a function",
    documentedDefault: "undici",
    documentation:
      "A custom `fetch`, for MSW and tests. It must send each request once, as [browsers and Deno](runtimes.md#pages) don't. More outcomes are `possible`",
  },
  dispatcher: {
    accepts: isDispatcher,
    expected: "an undici dispatcher: an object with a dispatch method",
    documentedDefault: "an agent of its own",
    documentation:
      "An undici 7 or 8 dispatcher, for a [proxy](production.md#proxies). It must send each request once. More outcomes are `possible`",
  },
  on: {
    accepts: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    expected: "an object of hooks",
    default: {} as ClientEvents,
    documentedDefault: "none",
    documentation:
      "[Hooks](observability.md#hooks): `response`, `success`, `failure`, `retry`, `mismatch`, `token`. No event contains a secret, a body, or an id",
  },
  logger: {
    accepts: isLogger,
    expected: "a logger: an object with the methods debug, warn and error",
    documentedDefault: "none",
    documentation: "pino, `console`, or a similar [logger](observability.md#logs)",
  },
  telemetry: {
    accepts: (value) => telemetryParts(value) !== undefined,
    expected: "what openTelemetry of cross-border-payments/opentelemetry makes",
    documentedDefault: "none",
    documentation: "`openTelemetry(api)` for [metrics and traces](opentelemetry.md)",
  },
} satisfies OptionTable<ClientOptions>;

/** The options, checked and with their defaults. */
export interface ResolvedOptions extends Omit<WithDefaults<ClientOptions, typeof clientOptions>, "baseUrl" | "tls"> {
  readonly baseUrl: BaseUrl;
  readonly tls: TlsMaterial | undefined;
}

/** @throws {ConfigError} that names the option, what was found (never a secret), and what is expected. */
export function resolveOptions(given: ClientOptions): ResolvedOptions {
  const refuse = (message: string) => new ConfigError(message);
  const parsed = parseOptions(clientOptions, given, "the client's options", refuse) as unknown as ClientOptions;
  const read = { ...parsed, auth: parseAuthOptions(parsed.auth, parsed.allowInsecureHttp) };
  const options = withDefaults<ClientOptions, typeof clientOptions>(clientOptions, read);
  for (const operation of options.signedOperations as readonly unknown[]) {
    if (!operations.has(operation as string))
      throw refuse(`signedOperations: there is no operation ${showOperation(operation)}`);
  }
  if (options.fetch !== undefined && options.dispatcher !== undefined) {
    throw refuse("fetch and dispatcher exclude each other: a dispatcher belongs to undici");
  }
  if (options.signingKey !== undefined && maySendTwice(options)) {
    throw refuse(
      "signingKey: a browser's `fetch` may send a payment twice. Make payments in a back end, or give a `fetch` that sends each request once",
    );
  }
  if (options.tokenStore !== undefined && "accessToken" in options.auth) {
    throw refuse("tokenStore has no use with auth.accessToken: that function keeps its tokens itself");
  }
  for (const name of ["tokenStore", "tokenLeewayMs"] as const) {
    if (options[name] === undefined || !(tokenSourceKey in options.auth)) continue;
    throw refuse(`${name} has no use with the login of a user, which all clients share: give it to the ServerLogin`);
  }
  const baseUrl = parseBaseUrl(options.baseUrl, "baseUrl", options.allowInsecureHttp);
  const tls = options.tls === undefined ? undefined : resolveTls(options, baseUrl);
  const headers = checkHeaders(options.headers, refuse);
  return {
    ...options,
    headers,
    appInfo: options.appInfo === undefined ? undefined : parseAppInfo(options.appInfo),
    baseUrl,
    tls,
    on: readClientHooks(options.on),
  };
}

/** The options that a client can have of its own beside another one's connections and token. */
export type SharedOptions = Pick<
  ClientOptions,
  "timeoutMs" | "maxRetries" | "headers" | "validation" | "on" | "logger"
>;

/** @throws {ConfigError} that names the option, what was found (never a secret), and what is expected. */
export function resolveChanges(options: ResolvedOptions, given: SharedOptions): ResolvedOptions {
  const { timeoutMs, maxRetries, headers, validation, on, logger } = clientOptions;
  const table = { timeoutMs, maxRetries, headers, validation, on, logger };
  const refuse = (message: string) => new ConfigError(`withOptions: ${message}`);
  const hint = ". For others, build another client";
  const changes: SharedOptions = parseOptions(table, given, "the options", refuse, hint);
  return {
    ...options,
    ...(changes as Partial<ResolvedOptions>),
    headers: changes.headers === undefined ? options.headers : checkHeaders(changes.headers, refuse),
    on: changes.on === undefined ? options.on : readClientHooks(changes.on),
  };
}

function showOperation(given: unknown): string {
  const isShown = typeof given === "string" && given.split(".").every(looksLikeName);
  return isShown ? JSON.stringify(given) : `like that; got ${describeValue(given)}`;
}

function resolveTls({ tls, fetch, dispatcher }: ClientOptions, { origin }: BaseUrl): TlsMaterial {
  if (dispatcher !== undefined) {
    throw new ConfigError(
      "tls and dispatcher exclude each other: give the dispatcher its own `connect: { ca, cert, key }`",
    );
  }
  if (fetch !== undefined) {
    throw new ConfigError("tls and fetch exclude each other: give the fetch its certificates in its own way");
  }
  if (origin.startsWith("http:")) {
    throw new ConfigError("tls has no use with an http baseUrl: make it https, or leave tls out");
  }
  return parseTlsOptions(tls);
}
