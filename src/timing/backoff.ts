/** How fast waits grow, and how far. */
export interface Backoff {
  /** The longest first wait. */
  readonly baseMs: number;
  /** The longest wait of all. */
  readonly capMs: number;
}

/**
 * The wait before another attempt, with full jitter: anything from nothing to twice as much as the attempt before could have
 * waited, so that callers which failed together do not come back together.
 *
 * @param attempt how many attempts were waited for before; 0 at first.
 * @param random gives numbers from 0 up to 1, as `Math.random` does.
 */
export function nextDelayMs(
  attempt: number,
  random: () => number,
  backoff: Backoff = { baseMs: 100, capMs: 20_000 },
): number {
  return Math.round(Math.min(backoff.capMs, backoff.baseMs * 2 ** attempt) * random());
}
