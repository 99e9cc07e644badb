import { InvalidArgumentError } from "../core/errors.js";
import { type Check, type CheckTable, hasMethods, isPlainObject, isWholeFrom, parseOptions } from "../core/parse.js";
import type { AnyOperation } from "./operation.js";

/** The last argument of every method. */
export interface RequestOptions {
  /** Ends the call. A request that was sent may still take effect. See the error's `effect`. */
  readonly signal?: AbortSignal | undefined;
  /** Total time of the call in milliseconds, with token, signature, connection, waits, and retries. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** How often a safe failure is retried. 0 means never. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** Further headers. Those that the client sets itself are refused. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The response around the data. */
export interface ResponseInfo {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `x-request-id`, if the service or a proxy in front of it sends one. */
  readonly requestId?: string;
}

export interface WithResponse<T> {
  readonly data: T;
  readonly response: ResponseInfo;
}

/** A promise of the data that also gives the response around it. */
export interface ApiPromise<T> extends Promise<T> {
  /** The same call, with status and headers. Nothing is sent again. */
  withResponse(): Promise<WithResponse<T>>;
}

export const timeoutMsOption: Check = {
  accepts: (value) => typeof value === "number" && value > 0 && value <= 2 ** 31 - 1,
  expected: "a number of milliseconds above 0 and up to 2147483647",
};

export const maxRetriesOption: Check = {
  accepts: isWholeFrom(0),
  expected: "a whole number, 0 or more",
};

export const requestOptions: CheckTable<RequestOptions> = {
  signal: {
    accepts: (value) => hasMethods(value, "addEventListener", "removeEventListener"),
    expected: "an AbortSignal",
  },
  timeoutMs: timeoutMsOption,
  maxRetries: maxRetriesOption,
  // `checkHeaders` checks names and values.
  headers: { accepts: isPlainObject, expected: 'an object such as { "x-name": "value" }' },
};

export interface ParsedOptions extends RequestOptions {
  readonly query?: object;
}

/** A single read takes the query parameters that the description declares for it. */
const getOptions: CheckTable<ParsedOptions> = {
  ...requestOptions,
  query: {
    accepts: isPlainObject,
    expected: "an object of the record's fields",
  },
};

/**
 * A copy of the options, headers included, in which each was read once.
 *
 * @throws {InvalidArgumentError} that names the option.
 */
export function parseRequestOptions(
  { name, verb }: Pick<AnyOperation, "name" | "verb">,
  options: RequestOptions | undefined,
): ParsedOptions {
  if (options === undefined) return {};
  const refuse = (message: string) => new InvalidArgumentError(`${name}: ${message}`);
  const parsed = parseOptions(verb === "get" ? getOptions : requestOptions, options, "the options", refuse);
  if (parsed.headers !== undefined) parsed.headers = { ...(parsed.headers as object) };
  return parsed;
}
