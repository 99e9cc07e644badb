/** How fast waits grow, and how far. */
export interface Backoff {
  /** The longest first wait. */
  readonly baseMs: number;
  /** The longest wait of all. */
  readonly capMs: number;
}

/**
 * The wait before another attempt, twice as long each time, up to the cap. Half of it is jitter, so that callers that failed together
 * don't retry together.
 *
 * @param attempt how many waits there were before, beginning with 0.
 * @param random returns numbers from 0 up to 1, as `Math.random` does.
 */
export function nextDelayMs(
  attempt: number,
  random: () => number,
  { baseMs, capMs }: Backoff = { baseMs: 500, capMs: 20_000 },
): number {
  const halfMs = Math.min(capMs, baseMs * 2 ** attempt) / 2;
  return Math.round(halfMs + halfMs * random());
}

/**
 * Reads a `Retry-After` header, a number of seconds or a date, as milliseconds from `nowMs`. A date in the past means 0. The result is
 * `undefined` if the header is missing or means nothing, such as a negative number.
 *
 * The result is never shortened and can be as large as a safe integer. The caller decides how long is too long.
 */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(Number(text) * 1000));
  // `Date.parse` alone would take "-5" for a date in May.
  const dateMs = /^[A-Z][a-z]{2}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** Automatic waits treat a longer one as a mistake, or a ban. One request an hour harms no service. */
export const maxRetryAfterMs = 3_600_000;
