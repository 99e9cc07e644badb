import { clock } from "../core/clock.js";
import {
  AbortedError,
  ApiError,
  CrossBorderError,
  InvalidArgumentError,
  TimeoutError,
  TokenError,
} from "../core/errors.js";
import type { Call } from "./call.js";
import { classifyResponse, type FailureClass } from "./decision.js";

/** What `client.check()` found. It holds no secret and no record: it can be the response of a health endpoint. */
export interface HealthReport {
  /** Whether a read would succeed now: the service responds, and accepts the token. */
  readonly ok: boolean;
  /**
   * - `responding`: it responded as described.
   * - `failing`: the response isn't the service's own: a 5xx, a redirect, a proxy's page.
   * - `unreachable`: no response arrived in time.
   * - `not_asked`: there was nothing to ask it with.
   */
  readonly service: "responding" | "failing" | "unreachable" | "not_asked";
  /**
   * - `accepted`: by the service.
   * - `refused`: the service responded with 401. The next call renews it.
   * - `unavailable`: the client got none; `error` says why.
   * - `unknown`: the service did not say.
   */
  readonly token: "accepted" | "refused" | "unavailable" | "unknown";
  /** From the start of the request to the end of its response; absent if none arrived. */
  readonly latencyMs?: number;
  /** The whole check, including a token request if one was needed, and the connection. */
  readonly durationMs: number;
  /** What failed, unless the status is `ok`. */
  readonly error?: CrossBorderError;
}

/** How long a check takes at most, unless the caller says so or the client's own time is shorter. */
export const checkTimeoutMs = 5000;

/**
 * @param open makes the call: a read that needs a token and nothing else.
 * @throws {AbortedError} when the caller's signal ended it; {InvalidArgumentError} when the call can't be made of its options.
 */
export async function checkHealth(open: () => Call): Promise<HealthReport> {
  const startMs = clock.monotonicMs();
  const { error, report } = await outcomeOf(open);
  const found = error === undefined ? healthy : findingOf(error, report?.response !== undefined);
  const latencyMs = report?.latencyMs;
  const durationMs = clock.monotonicMs() - startMs;
  const isHealthy = found.token === "accepted";
  return {
    ok: isHealthy,
    ...found,
    ...(latencyMs === undefined ? undefined : { latencyMs }),
    durationMs,
    ...(isHealthy || error === undefined ? undefined : { error }),
  };
}

async function outcomeOf(open: () => Call): Promise<{ error?: CrossBorderError; report?: Call["report"] }> {
  let call: Call | undefined;
  try {
    call = open();
    await call.run();
    return { report: call.report };
  } catch (thrown) {
    const isOperational = !(thrown instanceof AbortedError || thrown instanceof InvalidArgumentError);
    if (!(thrown instanceof CrossBorderError && isOperational)) throw thrown;
    return { error: thrown, ...(call === undefined ? undefined : { report: call.report }) };
  }
}

type Finding = Pick<HealthReport, "service" | "token">;

const healthy: Finding = { service: "responding", token: "accepted" };

function findingOf(error: CrossBorderError, hasResponse: boolean): Finding {
  if (!hasResponse) {
    if ((error.attempts ?? 0) > 0) return { service: "unreachable", token: "unknown" };
    const isOfToken = error instanceof TokenError || error instanceof TimeoutError;
    return { service: "not_asked", token: isOfToken ? "unavailable" : "unknown" };
  }
  // Only a 401 makes a call request another token.
  if (error instanceof TokenError) return { service: "responding", token: "refused" };
  const failureClass = error instanceof ApiError ? classifyResponse(error.response) : undefined;
  const service = ownWords.has(failureClass) ? "responding" : "failing";
  if (failureClass === "unauthorized") return { service, token: "refused" };
  // The service knows a client that it forbids to read this list.
  const isKnown = failureClass === "refused" && error instanceof ApiError && error.status === 403;
  return { service, token: isKnown ? "accepted" : "unknown" };
}

/** Failures that the service itself reported. */
const ownWords: ReadonlySet<FailureClass | undefined> = new Set(["unauthorized", "refused", "throttled"]);
