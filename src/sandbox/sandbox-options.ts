import { randomBytes } from "node:crypto";
import { ConfigError } from "../core/errors.js";
import {
  assertOptions,
  type CheckTable,
  isBoolean,
  isFunction,
  isPlainObject,
  isWholeFrom,
  parseOptions,
} from "../core/parse.js";
import { decimalNumeral } from "../money.js";
import { isOperationName, type OperationName, operations } from "../resources/catalogue.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import { assertQuirks, type SandboxQuirks } from "./quirks.js";

/** Who may ask for tokens. The names are those of the client's `auth` option. */
export interface SandboxCredentials {
  readonly realm: string;
  readonly clientId: string;
  /** May be empty, as at the service. */
  readonly clientSecret: string;
  readonly username: string;
  readonly password: string;
}

/** A request as the hooks see it. */
export interface SandboxRequest {
  /** The operation, `token` for a token request, and nothing for a path that is neither. */
  readonly operation: OperationName | "token" | undefined;
  readonly method: string;
  /** The path as it was on the wire, base path included, query excluded. */
  readonly path: string;
  /** The query without its question mark; empty when there is none. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: string;
  /** Carries `X-SERVICE-SIGNATURE-BASE64`, right or wrong. */
  readonly signed: boolean;
}

export interface SandboxOptions {
  /**
   * Realm, client, and user. Default: realm and client `sandbox`, no client secret, and the user `gateway` with
   * a random password.
   */
  readonly credentials?: Partial<SandboxCredentials>;
  /** Path before every operation, such as `/gateway/v1`. It is part of the signed text. Default: none. */
  readonly basePath?: string;
  /** Path before `/auth/realms/…`. Default: none. */
  readonly authPath?: string;
  /** `expires_in` of access tokens. Default: 300. */
  readonly tokenLifetimeSeconds?: number;
  /** Lifetime of refresh tokens, from the login or the refresh that issued them. Default: 1,800. */
  readonly refreshTokenLifetimeSeconds?: number;
  /** Each refresh issues a new refresh token and revokes the old one. Default: `false`. */
  readonly rotateRefreshTokens?: boolean;
  /** `{ max, windowSeconds }`. More token requests from one address get 429 with `Retry-After`. Default: none. */
  readonly tokenThrottle?: { readonly max: number; readonly windowSeconds: number };
  /** Maximum records per page, whatever `_size` says. Default: 100. */
  readonly maxSize?: number;
  /** Records per page without `_size`. Default: 20. */
  readonly defaultSize?: number;
  /** `receivingGatewayFee`: a decimal string, or a function of the intent. Default: `0`. */
  readonly fee?: string | ((intent: PaymentIntentRequest) => string);
  /** Decimals of sender amounts. Default: 2. */
  readonly senderAmountScale?: number;
  /** Refuse intents with unknown accounts. Otherwise their names are empty. Default: `false`. */
  readonly requireAccounts?: boolean;
  /** The operations that must be signed. Default: payments and deposits. */
  readonly signedOperations?: readonly OperationName[];
  /** The query string is part of the signed text. Default: `false`. */
  readonly signQuery?: boolean;
  /** Which lists have a `pagingToken`: `payments`, `all`, or `none`. Default: `payments`. */
  readonly pagingTokens?: "all" | "payments" | "none";
  /** How the sandbox differs from its usual behavior. See [Quirks](#quirks). Default: none. */
  readonly quirks?: SandboxQuirks;
  /** The clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /**
   * Responds instead of the service, so that nothing is done. `Response.error()` breaks the connection. A
   * promise that stays pending never responds. Default: none.
   */
  readonly onRequest?: (request: SandboxRequest) => Response | undefined | Promise<Response | undefined>;
  /** Replaces the response after the service did its work. `Response.error()` loses it. Default: none. */
  readonly onResponse?: (
    request: SandboxRequest,
    response: Response,
  ) => Response | undefined | Promise<Response | undefined>;
}

/** The options with every default in place. */
export interface SandboxSettings {
  readonly credentials: SandboxCredentials;
  readonly basePath: string;
  readonly authPath: string;
  readonly tokenLifetimeMs: number;
  readonly refreshTokenLifetimeMs: number;
  readonly rotateRefreshTokens: boolean;
  readonly tokenThrottle: { readonly max: number; readonly windowMs: number } | undefined;
  readonly maxSize: number;
  readonly defaultSize: number;
  readonly fee: (intent: PaymentIntentRequest) => string;
  readonly senderAmountScale: number;
  readonly requireAccounts: boolean;
  readonly signedOperations: ReadonlySet<string>;
  readonly signQuery: boolean;
  readonly pagingTokens: "all" | "payments" | "none";
  readonly quirks: SandboxQuirks;
  readonly now: () => number;
}

/** @throws {ConfigError} when an option has a value that no sandbox can have. */
export function toSettings(given: SandboxOptions): SandboxSettings {
  const options: SandboxOptions = parseOptions(sandboxOptions, given, "the sandbox's options", refuse);
  if (options.credentials !== undefined)
    assertOptions(credentialOptions, options.credentials, "it", refuseOf("credentials"));
  if (options.tokenThrottle !== undefined)
    assertOptions(throttleOptions, options.tokenThrottle, "it", refuseOf("tokenThrottle"));
  if (options.quirks !== undefined) assertQuirks(options.quirks, refuseOf("quirks"));
  const { credentials, tokenThrottle: throttle } = options;
  return {
    credentials: { ...defaultCredentials(), ...credentials },
    basePath: toPathPrefix("basePath", options.basePath ?? ""),
    authPath: toPathPrefix("authPath", options.authPath ?? ""),
    tokenLifetimeMs: 1000 * (options.tokenLifetimeSeconds ?? 300),
    refreshTokenLifetimeMs: 1000 * (options.refreshTokenLifetimeSeconds ?? 1800),
    rotateRefreshTokens: options.rotateRefreshTokens ?? false,
    tokenThrottle: throttle && { max: throttle.max, windowMs: 1000 * throttle.windowSeconds },
    maxSize: options.maxSize ?? 100,
    defaultSize: options.defaultSize ?? 20,
    fee: toFee(options.fee ?? "0"),
    senderAmountScale: options.senderAmountScale ?? 2,
    requireAccounts: options.requireAccounts ?? false,
    signedOperations: toSignedOperations(options.signedOperations),
    signQuery: options.signQuery ?? false,
    pagingTokens: options.pagingTokens ?? "payments",
    quirks: { ...options.quirks },
    now: options.now ?? Date.now,
  };
}

const refuse = (message: string) => new ConfigError(message);
const refuseOf = (option: string) => (message: string) => refuse(`${option}: ${message}`);
const flag = { accepts: isBoolean, wanted: "true or false" };
const text = { accepts: (value: unknown) => typeof value === "string", wanted: "a string" };
const aFunction = { accepts: isFunction, wanted: "a function" };
const atLeast = (least: number) => ({
  accepts: isWholeFrom(least),
  wanted: `a whole number of at least ${least}`,
});

export const sandboxOptions: CheckTable<SandboxOptions> = {
  credentials: { accepts: isPlainObject, wanted: "an object of credentials" },
  basePath: text,
  authPath: text,
  tokenLifetimeSeconds: atLeast(1),
  refreshTokenLifetimeSeconds: atLeast(1),
  rotateRefreshTokens: flag,
  tokenThrottle: { accepts: isPlainObject, wanted: "an object: { max, windowSeconds }" },
  maxSize: atLeast(1),
  defaultSize: atLeast(1),
  // `toFee` checks the numeral.
  fee: { accepts: (value) => text.accepts(value) || isFunction(value), wanted: "a decimal numeral or a function" },
  senderAmountScale: atLeast(0),
  requireAccounts: flag,
  signedOperations: { accepts: Array.isArray, wanted: "an array of operations" },
  signQuery: flag,
  pagingTokens: {
    accepts: (value) => value === "payments" || value === "all" || value === "none",
    wanted: '"payments", "all" or "none"',
  },
  quirks: { accepts: isPlainObject, wanted: "an object of quirks" },
  now: aFunction,
  onRequest: aFunction,
  onResponse: aFunction,
};
const secretText = { ...text, isSecret: true } as const;
const credentialOptions: CheckTable<SandboxCredentials> = {
  realm: text,
  clientId: text,
  clientSecret: secretText,
  username: text,
  password: secretText,
};
const throttleOptions: CheckTable<NonNullable<SandboxOptions["tokenThrottle"]>> = {
  max: { ...atLeast(0), isRequired: true },
  windowSeconds: { ...atLeast(1), isRequired: true },
};

function defaultCredentials(): SandboxCredentials {
  const password = randomBytes(12).toString("base64url");
  return { realm: "sandbox", clientId: "sandbox", clientSecret: "", username: "gateway", password };
}

function toPathPrefix(option: string, value: string): string {
  const prefix = value.replace(/\/+$/, "");
  if (/^(?:\/[^/?#]+)*$/.test(prefix)) return prefix;
  throw new ConfigError(`${option} must be a path such as "/gateway/v1", or empty`);
}

function toFee(fee: NonNullable<SandboxOptions["fee"]>): SandboxSettings["fee"] {
  if (typeof fee === "string") {
    const fixed = assertFee(fee);
    return () => fixed;
  }
  return (intent) => assertFee(fee(intent));
}

function assertFee(fee: string): string {
  if (decimalNumeral.test(fee) && !fee.startsWith("-")) return fee;
  throw new ConfigError('fee must be a decimal numeral of at least 0, such as "1.50", or a function that returns one');
}

function toSignedOperations(names: readonly OperationName[] | undefined): ReadonlySet<string> {
  const unknown = names?.find((name) => !isOperationName(name));
  if (unknown !== undefined) throw new ConfigError(`signedOperations: there is no operation named "${unknown}"`);
  const described = [...operations.values()].filter(({ signed }) => signed).map(({ name }) => name);
  return new Set(names ?? described);
}
