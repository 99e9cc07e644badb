import type { CrossBorderError } from "cross-border-payments";
import { expect } from "vitest";

/** What work rejects with; work that resolves fails the test. */
export function errorOf<E = CrossBorderError>(work: PromiseLike<unknown>): Promise<E> {
  return Promise.resolve(work).then(
    (value) => expect.unreachable(`it did not fail, and returned ${JSON.stringify(value)}`),
    (error) => error,
  );
}
