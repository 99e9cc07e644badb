import { expect } from "vitest";
import type { CrossBorderError } from "../../src/errors/errors.js";

/** What work rejects with; work that resolves fails the test. */
export function errorOf<E = CrossBorderError>(work: Promise<unknown>): Promise<E> {
  return work.then(
    (value) => expect.unreachable(`it did not fail, and returned ${JSON.stringify(value)}`),
    (error) => error,
  );
}

/** All items, in order. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
