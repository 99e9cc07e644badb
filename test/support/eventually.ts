import { vi } from "vitest";
import { patienceMs } from "./patience.js";

/** Waits until it no longer throws, and gives what it returns. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, patienceMs);
}
