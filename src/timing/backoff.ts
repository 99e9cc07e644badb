/** How fast waits grow, and how far. */
export interface Backoff {
  /** The longest first wait. */
  readonly baseMs: number;
  /** The longest wait of all. */
  readonly capMs: number;
}

/**
 * The wait before another attempt: twice as long each time, up to the cap. Half of it is jitter, so that callers that failed
 * together don't come back together.
 *
 * @param attempt how many waits came before; 0 at first.
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
