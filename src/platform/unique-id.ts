/**
 * An id that nobody else draws, in this process or another. Not `randomUUID`, which Node makes of random bytes that it keeps: those are in a
 * startup snapshot, and all processes that start from it draw the same ids.
 */
export function uniqueId(): string {
  return globalThis.crypto.getRandomValues(new Uint32Array(4)).join("-");
}
