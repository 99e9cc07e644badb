import { maxRetriesOption, requestOptions, timeoutMsOption } from "./api/request-options.js";
import { type AuthOptions, parseAuthOptions, tokenLeewayOption } from "./auth/auth-options.js";
import { isTokenStore, type TokenStore } from "./auth/token-store.js";
import { looksLikeName } from "./core/describe.js";
import { ConfigError } from "./core/errors.js";
import {
  type CheckTable,
  isBoolean,
  isFunction,
  isPositiveInteger,
  parseOptions,
  type WithDefaults,
  withDefaults,
} from "./core/parse.js";
import { type ClientEvents, clientHooks, readHooks } from "./events/events.js";
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

/** The options that a client can have of its own beside another one's connections and token. */
export type SharedOptions = Pick<
  ClientOptions,
  "timeoutMs" | "maxRetries" | "headers" | "validation" | "on" | "logger"
>;

const sharedOptions = {
  timeoutMs: {
    ...timeoutMsOption,
    default: 30_000,
  },
  maxRetries: {
    ...maxRetriesOption,
    default: 4,
  },
  validation: {
    accepts: (value) => value === "report" || value === "strict" || value === "off",
    expected: '"report", "strict" or "off"',
    default: "report",
  },
  headers: {
    ...requestOptions.headers,
    default: {},
  },
  on: {
    accepts: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    expected: "an object of hooks",
    default: {} as ClientEvents,
  },
  logger: {
    accepts: isLogger,
    expected: "a logger: an object with the methods debug, warn and error",
  },
} satisfies CheckTable<SharedOptions>;

/** Every option, with its check and its default. They are in docs/client.md. */
export const clientOptions = {
  ...sharedOptions,
  baseUrl: checkedLater,
  auth: checkedLater,
  signingKey: checkedLater,
  signedOperations: {
    accepts: (value) => Array.isArray(value) && value.every((name) => operations.has(name)),
    expected: "an array of operations, such as payments.create",
    problemOf: (value) => {
      const unknown: unknown = [value].flat().find((name) => !operations.has(name as string));
      const isShown = typeof unknown === "string" && unknown.split(".").every(looksLikeName);
      return isShown ? `has ${JSON.stringify(unknown)}, which is no operation` : undefined;
    },
    default: [] as readonly OperationName[],
  },
  signQuery: aBoolean,
  maxResponseBytes: aCount,
  appInfo: checkedLater,
  tokenLeewayMs: tokenLeewayOption,
  tokenStore: {
    accepts: isTokenStore,
    expected: "a token store: an object with the methods read, lock, unlock and write",
  },
  maxSockets: {
    ...aCount,
    default: 64,
  },
  allowInsecureHttp: aBoolean,
  tls: checkedLater,
  fetch: {
    accepts: isFunction,
    expected: "a function",
  },
  dispatcher: {
    accepts: isDispatcher,
    expected: "an undici dispatcher: an object with a dispatch method",
  },
  telemetry: {
    accepts: (value) => telemetryParts(value) !== undefined,
    expected: "what openTelemetry of cross-border-payments/opentelemetry makes",
  },
} satisfies CheckTable<ClientOptions>;

/** The options, checked and with their defaults. */
export interface ResolvedOptions extends Omit<WithDefaults<ClientOptions, typeof clientOptions>, "baseUrl" | "tls"> {
  readonly baseUrl: BaseUrl;
  readonly tls: TlsMaterial | undefined;
}

/** @throws {ConfigError} that names the option, what was found (never a secret), and what is expected. */
export function resolveOptions(given: ClientOptions): ResolvedOptions {
  const parsed = parseOptions<ClientOptions>(clientOptions, given, "the client's options", refuse);
  const auth = parseAuthOptions(parsed.auth, parsed.allowInsecureHttp);
  const options = withDefaults(clientOptions, { ...parsed, auth });
  const { fetch, dispatcher, tls, signingKey, tokenStore, tokenLeewayMs, appInfo, allowInsecureHttp } = options;
  const ofUser = "has no use with the login of a user, which all clients share: give it to the ServerLogin";
  const conflicts: readonly (readonly [isWrong: unknown, message: string])[] = [
    [fetch && dispatcher, "fetch and dispatcher exclude each other: a dispatcher belongs to undici"],
    [
      signingKey && maySendTwice(options),
      "signingKey: a browser's `fetch` may send a payment twice. Make payments in a back end, or give a `fetch` that sends each request once",
    ],
    [
      tokenStore && "accessToken" in auth,
      "tokenStore has no use with auth.accessToken: that function keeps its tokens itself",
    ],
    [tokenStore && tokenSourceKey in auth, `tokenStore ${ofUser}`],
    [tokenLeewayMs !== undefined && tokenSourceKey in auth, `tokenLeewayMs ${ofUser}`],
    [
      tls && dispatcher,
      "tls and dispatcher exclude each other: give the dispatcher its own `connect: { ca, cert, key }`",
    ],
    [tls && fetch, "tls and fetch exclude each other: give the fetch its certificates in its own way"],
  ];
  for (const [isWrong, message] of conflicts) if (isWrong) throw refuse(message);
  return {
    ...options,
    headers: checkHeaders(options.headers, refuse),
    appInfo: appInfo === undefined ? undefined : parseAppInfo(appInfo),
    baseUrl: parseBaseUrl(options.baseUrl, "baseUrl", allowInsecureHttp),
    tls: tls === undefined ? undefined : parseTlsOptions(tls),
    on: readHooks(options.on, clientHooks),
  };
}

function refuse(message: string): ConfigError {
  return new ConfigError(message);
}

/** @throws {ConfigError} that names the option, what was found (never a secret), and what is expected. */
export function resolveChanges(options: ResolvedOptions, given: SharedOptions): ResolvedOptions {
  const refuseChange = (message: string) => refuse(`withOptions: ${message}`);
  const hint = ". For others, build another client";
  const changed: Partial<ResolvedOptions> = parseOptions(sharedOptions, given, "the options", refuseChange, hint);
  const changes = { ...options, ...changed };
  return { ...changes, headers: checkHeaders(changes.headers, refuseChange), on: readHooks(changes.on, clientHooks) };
}
