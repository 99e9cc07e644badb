import { onTestFinished } from "vitest";
import type { Timestamp } from "../../src/core/clock.js";
import { Deadline } from "../../src/core/deadline.js";
import type { WireRequest } from "../../src/wire/transport.js";

export function post(origin: string, body = '{"amount":"1.00"}'): WireRequest {
  return {
    method: "POST",
    origin,
    path: "/gw/payments?a=%27",
    headers: { "content-type": "application/json", "x-service-signature-base64": "c2ln" },
    body,
    maxResponseBytes: 1000,
  };
}

export function get(origin: string): WireRequest {
  return { method: "GET", origin, path: "/gw/payments", headers: {}, body: undefined, maxResponseBytes: 1000 };
}

/** A deadline that is finished when the test is. */
export function within(timeoutMs = 5000, signal?: AbortSignal, sendBy?: Timestamp): Deadline {
  const deadline = new Deadline({ timeoutMs, signal, sendBy });
  onTestFinished(() => deadline.finish());
  return deadline;
}

export { errorOf as failureOf } from "../support/error-of.js";

/** Lets undici see that a connection is idle. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}
