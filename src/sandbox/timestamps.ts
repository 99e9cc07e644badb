/**
 * Gives ISO 8601 timestamps in UTC with six sub-second digits, each later than the one before it: records that are
 * created within one millisecond keep their order.
 */
export function timestamps(now: () => number): () => string {
  let lastMicros = -Infinity;
  return () => {
    lastMicros = Math.max(Math.floor(now() * 1000), lastMicros + 1);
    const millis = Math.floor(lastMicros / 1000);
    const rest = String(lastMicros - millis * 1000).padStart(3, "0");
    return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`;
  };
}
