import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";

/** What every method takes as its last argument. */
export interface RequestOptions {
  /** Ends the call. What had been sent by then may still have its effect: see the error's `effect`. */
  readonly signal?: AbortSignal | undefined;
  /** Total time for the call: token, signing, connecting, response, waits and retries. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** How often a safe failure is tried again; 0 means never. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** Further headers. Those that the client sets itself are refused. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The response around the data. */
export interface ResponseInfo {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `x-request-id`, where the service or a proxy before it sends one. */
  readonly requestId?: string;
}

export interface WithResponse<T> {
  readonly data: T;
  readonly response: ResponseInfo;
}

/** A promise of the data that can also give the response around it. */
export interface ApiPromise<T> extends Promise<T> {
  /** The same call, with status and headers. It sends nothing again. */
  withResponse(): Promise<WithResponse<T>>;
}

/**
 * Refuses options that mean nothing, before any I/O.
 *
 * @throws {InvalidArgumentError} that names the option.
 */
export function checkRequestOptions(operation: string, options: RequestOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidArgumentError(`${operation}: the options must be an object such as { timeoutMs: 5000 }`);
  }
  for (const name in options) {
    if (!known.has(name)) {
      throw new InvalidArgumentError(
        `${operation}: there is no option ${JSON.stringify(name)}; there are ${[...known].join(", ")}`,
      );
    }
  }
  const { timeoutMs, maxRetries, signal } = options;
  if (timeoutMs !== undefined)
    checkTimeoutMs(timeoutMs, (message) => new InvalidArgumentError(`${operation}: ${message}`));
  if (maxRetries !== undefined)
    checkMaxRetries(maxRetries, (message) => new InvalidArgumentError(`${operation}: ${message}`));
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new InvalidArgumentError(`${operation}: signal must be an AbortSignal; found ${describeValue(signal)}`);
  }
}

/** A total deadline in milliseconds, as timers can hold it. */
export function checkTimeoutMs(value: unknown, refuse: (message: string) => Error): void {
  if (typeof value !== "number" || !(value > 0 && value <= 2 ** 31 - 1)) {
    throw refuse(`timeoutMs must be a number of milliseconds above 0 and up to 2147483647; found ${String(value)}`);
  }
}

export function checkMaxRetries(value: unknown, refuse: (message: string) => Error): void {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    throw refuse(`maxRetries must be a whole number, 0 or more; found ${String(value)}`);
  }
}

const known: ReadonlySet<string> = new Set(["signal", "timeoutMs", "maxRetries", "headers", "query"]);
