import { onTestFinished } from "vitest";
import type { Timestamp } from "../../src/core/clock.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { WireFailure } from "../../src/wire/transport.js";

/** A deadline that is finished when the test is. */
export function within(timeoutMs = 5000, signal?: AbortSignal, sendBy?: Timestamp): Deadline {
  const deadline = new Deadline({ timeoutMs, signal, sendBy });
  onTestFinished(() => deadline.finish());
  return deadline;
}

/** What an exchange fails with; one that succeeds fails the test. */
export async function failureOf(exchange: Promise<unknown>): Promise<WireFailure | Ended> {
  const failure: unknown = await exchange.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof WireFailure || failure instanceof Ended) return failure;
  throw new Error(`expected a WireFailure or Ended; got ${String(failure)}`);
}
