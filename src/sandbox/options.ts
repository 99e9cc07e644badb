import { randomBytes } from "node:crypto";
import { ConfigError } from "../core/errors.js";
import {
  type Check,
  type CheckTable,
  isBoolean,
  isFunction,
  isPlainObject,
  isWholeFrom,
  parseOptions,
} from "../core/parse.js";
import { type OperationName, operations } from "../resources/catalogue.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";

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
  /** The operation, `token` for a token request, and `undefined` for any other path. */
  readonly operation: OperationName | "token" | undefined;
  readonly method: string;
  /** The path as it was on the wire, base path included, query excluded. */
  readonly path: string;
  /** The query without its question mark. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: string;
  /** Has `X-SERVICE-SIGNATURE-BASE64`, right or wrong. */
  readonly signed: boolean;
}

/** At most `max` requests in a window. */
export interface SandboxThrottle {
  readonly max: number;
  readonly windowSeconds: number;
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
  readonly tokenThrottle?: SandboxThrottle;
  /** Maximum records per page, also if `_size` is larger. Default: 100. */
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

/** Behavior that the description leaves open, as an ordinary service may have it. It can be written as JSON. */
export interface SandboxQuirks {
  /** Which bounds include the record they name: `after`, `before`, `both`, or `none`. Default: `none`. */
  readonly inclusiveBounds?: "none" | "after" | "before" | "both";
  /** Lists are sorted newest first if no order is requested. Default: `false`. */
  readonly newestFirst?: boolean;
  /** Paging tokens are texts instead of numbers. Default: `false`. */
  readonly textTokens?: boolean;
  /** How long after its response a record is listed, in milliseconds. Default: 0. */
  readonly listedAfterMs?: number;
  /** Amounts come back without zeros at the end: `100.50` as `100.5`. Default: `false`. */
  readonly normalizesAmounts?: boolean;
  /** Records have a field more than the description shows. Default: `false`. */
  readonly addsFields?: boolean;
  /** `{ max, windowSeconds }`. More operations from one address get 429 with `Retry-After`. Default: none. */
  readonly throttle?: SandboxThrottle;
  /** How long each response takes, in milliseconds. Default: 0. */
  readonly delayMs?: number;
}

type WithoutDefault = "tokenThrottle" | "onRequest" | "onResponse";
/** The options with their defaults. */
export type SandboxSettings = Required<Omit<SandboxOptions, WithoutDefault | "credentials">> &
  Pick<SandboxOptions, WithoutDefault> & { readonly credentials: SandboxCredentials };

/** @throws {ConfigError} if an option is wrong. */
export function toSettings(given: SandboxOptions): SandboxSettings {
  const options: SandboxOptions = parseOptions(sandboxOptions, given, "the sandbox's options", refuse);
  const { credentials, quirks } = options;
  const assertPart = (name: string, table: Readonly<Record<string, Check<unknown>>>, part: unknown) => {
    if (part !== undefined) parseOptions(table, part, "it", (message) => refuse(`${name}: ${message}`));
  };
  assertPart("credentials", credentialOptions, credentials);
  assertPart("tokenThrottle", throttleOptions, options.tokenThrottle);
  assertPart("quirks", quirkOptions, quirks);
  assertPart("throttle", throttleOptions, quirks?.throttle);
  return {
    ...{ tokenLifetimeSeconds: 300, refreshTokenLifetimeSeconds: 1800, rotateRefreshTokens: false },
    ...{ maxSize: 100, defaultSize: 20, fee: "0", senderAmountScale: 2, requireAccounts: false },
    ...{ signedOperations: describedAsSigned, signQuery: false, pagingTokens: "payments", quirks: {}, now: Date.now },
    ...options,
    credentials: { ...defaultCredentials, password: randomBytes(12).toString("base64url"), ...credentials },
    basePath: toPathPrefix("basePath", options.basePath),
    authPath: toPathPrefix("authPath", options.authPath),
  };
}

const refuse = (message: string) => new ConfigError(message);
const flag = { accepts: isBoolean, expected: "true or false" };
const text = { accepts: (value: unknown) => typeof value === "string", expected: "a string" };
const secretText = { ...text, isSecret: true } as const;
const object = { accepts: isPlainObject, expected: "an object" };
const aFunction = { accepts: isFunction, expected: "a function" };
const atLeast = (least: number) => ({ accepts: isWholeFrom(least), expected: `a whole number of at least ${least}` });
const oneOf = (...values: readonly unknown[]) => ({
  accepts: (value: unknown) => values.includes(value),
  expected: values.map((value) => JSON.stringify(value)).join(" or "),
});

export const sandboxOptions: CheckTable<SandboxOptions> = {
  credentials: object,
  basePath: text,
  authPath: text,
  tokenLifetimeSeconds: atLeast(1),
  refreshTokenLifetimeSeconds: atLeast(1),
  rotateRefreshTokens: flag,
  tokenThrottle: object,
  maxSize: atLeast(1),
  defaultSize: atLeast(1),
  fee: {
    accepts: (value) => isFunction(value) || (typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value)),
    expected: 'a decimal numeral of at least 0, such as "1.50", or a function',
  },
  senderAmountScale: atLeast(0),
  requireAccounts: flag,
  signedOperations: {
    accepts: (value) => Array.isArray(value) && value.every((name) => operations.has(name)),
    expected: 'an array of operations, such as "payments.create"',
  },
  signQuery: flag,
  pagingTokens: oneOf("payments", "all", "none"),
  quirks: object,
  now: aFunction,
  onRequest: aFunction,
  onResponse: aFunction,
};
const credentialOptions: CheckTable<SandboxCredentials> = {
  realm: text,
  clientId: text,
  clientSecret: secretText,
  username: text,
  password: secretText,
};
const throttleOptions: CheckTable<SandboxThrottle> = {
  max: { ...atLeast(0), isRequired: true },
  windowSeconds: { ...atLeast(1), isRequired: true },
};
const quirkOptions: CheckTable<SandboxQuirks> = {
  inclusiveBounds: oneOf("none", "after", "before", "both"),
  newestFirst: flag,
  textTokens: flag,
  listedAfterMs: atLeast(0),
  normalizesAmounts: flag,
  addsFields: flag,
  throttle: object,
  delayMs: atLeast(0),
};

const defaultCredentials = { realm: "sandbox", clientId: "sandbox", clientSecret: "", username: "gateway" };
const describedAsSigned = [...operations.values()].flatMap(({ signed, name }) =>
  signed ? [name as OperationName] : [],
);

function toPathPrefix(option: string, value = ""): string {
  const prefix = value.replace(/\/+$/, "");
  if (/^(?:\/[^/?#]+)*$/.test(prefix)) return prefix;
  throw refuse(`${option} must be a path such as "/gateway/v1", or empty`);
}

/**
 * An address without the sandbox's own path at its end.
 *
 * @throws {ConfigError} if it has another path: the signed path would differ from the one that the sandbox serves.
 */
export function withoutPath(option: "baseUrl" | "authUrl", address: string, path: string): string {
  if (!URL.canParse(address)) throw refuse(`${option} must be a full URL, such as https://host`);
  const { origin, pathname } = new URL(address);
  const found = pathname.replace(/\/+$/, "");
  if (found === "" || found === path) return origin;
  throw refuse(`${option} must have no path but the sandbox's own, which is "${path}"`);
}
