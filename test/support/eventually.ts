import { vi } from "vitest";
import { patienceMs } from "./patience.js";

/** Waits until it no longer throws, and gives what it returns. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, patienceMs);
}

/** Asks again until the answer is such a one, and gives that. */
export function until<T>(ask: () => T | Promise<T>, isSo: (answer: T) => boolean = Boolean): Promise<T> {
  return eventually(async () => {
    const answer = await ask();
    if (!isSo(answer)) throw new Error("it has not come to be so");
    return answer;
  });
}
