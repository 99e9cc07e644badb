import { clock } from "../core/clock.js";
import {
  AbortedError,
  ApiError,
  CrossBorderError,
  InvalidArgumentError,
  TokenError,
  traceFrom,
} from "../core/errors.js";
import type { ResponseEvent } from "../events/events.js";
import { classifyResponse, type FailureClass } from "./decision.js";

/** The result of `client.check()`. It contains no secrets and no records, so you can return it from a health endpoint. */
export interface HealthReport {
  /** Whether a read would succeed now, since the service responds and accepts the token. */
  readonly ok: boolean;
  /**
   * - `responding`: it responded as described.
   * - `failing`: the response isn't the service's own, for example a 5xx, a redirect, or a proxy's page.
   * - `unreachable`: no response arrived in time.
   * - `not_asked`: there was nothing to ask it with.
   */
  readonly service: "responding" | "failing" | "unreachable" | "not_asked";
  /**
   * - `accepted`: by the service.
   * - `refused`: the service responded with 401. The next call renews it.
   * - `unavailable`: the client got none. See `error`.
   * - `unknown`: the service didn't say.
   */
  readonly token: "accepted" | "refused" | "unavailable" | "unknown";
  /** From the start of the request to the end of its response. Absent if none arrived. */
  readonly latencyMs?: number;
  /** The whole check, including a token request if one was needed, and the connection. */
  readonly durationMs: number;
  /** Absent if `ok`. */
  readonly error?: CrossBorderError;
}

/** The default limit of a check, unless the client's own is shorter. */
export const checkTimeoutMs = 5000;

/**
 * @param ask makes a read that needs a token and nothing else, and reports its responses.
 * @throws {AbortedError} if your signal ended it, or {InvalidArgumentError} if an option is wrong.
 */
export async function checkHealth(
  ask: (onResponse: (event: ResponseEvent) => void) => Promise<void>,
): Promise<HealthReport> {
  const startMs = clock.monotonicMs();
  let latencyMs: number | undefined;
  let error: CrossBorderError | undefined;
  try {
    await ask(({ durationMs }) => {
      latencyMs = durationMs;
    });
  } catch (thrown) {
    const isCallersOwn = thrown instanceof AbortedError || thrown instanceof InvalidArgumentError;
    if (!(thrown instanceof CrossBorderError) || isCallersOwn) throw traceFrom(thrown);
    error = thrown;
  }
  const { service, token } = findingOf(error, latencyMs !== undefined);
  const ok = token === "accepted";
  const durationMs = clock.monotonicMs() - startMs;
  return {
    ok,
    service,
    token,
    ...(latencyMs !== undefined && { latencyMs }),
    durationMs,
    ...(!ok && error !== undefined && { error }),
  };
}

function findingOf(error: CrossBorderError | undefined, hasResponse: boolean): Pick<HealthReport, "service" | "token"> {
  if (error === undefined) return { service: "responding", token: "accepted" };
  if (!hasResponse) {
    if ((error.attempts ?? 0) > 0) return { service: "unreachable", token: "unknown" };
    const isOfToken = error instanceof TokenError || error.code === "timeout";
    return { service: "not_asked", token: isOfToken ? "unavailable" : "unknown" };
  }
  // Only a 401 makes a call request another token.
  if (error instanceof TokenError) return { service: "responding", token: "refused" };
  const failureClass = error instanceof ApiError ? classifyResponse(error.response) : undefined;
  const service = ownWords.has(failureClass) ? "responding" : "failing";
  if (failureClass === "unauthorized") return { service, token: "refused" };
  // The service knows a client that it forbids to read this list.
  const isKnown = failureClass === "refused" && error.status === 403;
  return { service, token: isKnown ? "accepted" : "unknown" };
}

/** Failures that the service itself reported. */
const ownWords: ReadonlySet<FailureClass | undefined> = new Set(["unauthorized", "refused", "throttled"]);
