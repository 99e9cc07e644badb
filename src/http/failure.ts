import { clock } from "../core/clock.js";
import { Ended } from "../core/deadline.js";
import { parseRetryAfterMs } from "../core/retry.js";
import type { BrokenBody, WireResponse } from "../wire/transport.js";
import { WireFailure } from "../wire/wire-failure.js";
import { classifyBroken, classifyFailure, type FailureClass } from "./decision.js";

/** How an attempt failed, as data. `toError` turns it into the error of the call. */
export type Failure = NoStatus | RefusedStatus | UnusableResponse | Thrown;

export interface NoStatus {
  readonly kind: "no-status";
  readonly class: FailureClass;
  readonly reason: string;
  readonly cause: WireFailure | Ended;
}

/** A status other than 2xx. */
export interface RefusedStatus {
  readonly kind: "status";
  readonly class: FailureClass;
  readonly reason: string;
  readonly response: WireResponse;
  readonly retryAfterMs: number | undefined;
}

/** A 2xx that can't be used. */
export interface UnusableResponse {
  readonly kind: "unusable";
  readonly class: FailureClass;
  readonly reason: string;
  readonly response: WireResponse;
  readonly problem: string;
}

/** Something outside of the exchange failed: a token, a signature, or this library. Not to be retried. */
export interface Thrown {
  readonly kind: "thrown";
  readonly error: unknown;
}

/** The failure of an exchange that threw. */
export function failureOfThrown(error: unknown): NoStatus | Thrown {
  if (!(error instanceof WireFailure || error instanceof Ended)) return { kind: "thrown", error };
  const reason = error instanceof WireFailure ? error.reason : endedReasons[error.kind];
  return { kind: "no-status", class: classifyFailure(error), reason, cause: error };
}

export function refusedStatus(failureClass: FailureClass, response: WireResponse): RefusedStatus {
  const retryAfterMs = parseRetryAfterMs(response.headers["retry-after"], clock.wallMs());
  return { kind: "status", class: failureClass, reason: String(response.status), response, retryAfterMs };
}

/** @param isMade it is certainly the record of this create. */
export function unreadable(response: WireResponse, problem: string, isMade = false): UnusableResponse {
  return { kind: "unusable", class: isMade ? "made" : "unreadable", reason: "unreadable", response, problem };
}

export function brokenOff(response: WireResponse, broken: BrokenBody): UnusableResponse {
  const reason = classifyBroken(broken);
  return { kind: "unusable", class: reason, reason, response, problem: brokenTexts[broken] };
}

export const endedReasons = { timeout: "DEADLINE", abort: "ABORTED" } as const;

const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "the response broke off",
  "too-large": "the response is larger than maxResponseBytes allows",
  "not-utf8": "the response is not valid UTF-8",
  encoded: "the response is compressed in a way that can't be read",
  timeout: "the deadline passed before all of it had arrived",
  abort: "the caller's signal ended the call before all of it had arrived",
};
