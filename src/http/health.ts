import { clock } from "../core/clock.js";
import { AbortedError, CrossBorderError, InvalidArgumentError, TokenError, traceFrom } from "../core/errors.js";
import type { Call } from "./call.js";
import type { FailureClass } from "./decision.js";

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
 * @param open makes a read that needs a token and nothing else.
 * @throws {AbortedError} if your signal ended it, or {InvalidArgumentError} if an option is wrong.
 */
export async function checkHealth(open: () => Call): Promise<HealthReport> {
  const startMs = clock.monotonicMs();
  let call: Call | undefined;
  let error: CrossBorderError | undefined;
  try {
    call = open();
    await call.run();
  } catch (thrown) {
    const isCallersOwn = thrown instanceof AbortedError || thrown instanceof InvalidArgumentError;
    if (!(thrown instanceof CrossBorderError) || isCallersOwn) throw traceFrom(thrown);
    error = thrown;
  }
  const { failure, received } = call?.report ?? {};
  const token = tokenOf(error, failure);
  const ok = token === "accepted";
  return {
    ok,
    service: serviceOf(error, failure, received !== undefined),
    token,
    ...(received && { latencyMs: received.durationMs }),
    durationMs: clock.monotonicMs() - startMs,
    ...(!ok && error && { error }),
  };
}

function serviceOf(error: unknown, failure: FailureClass | undefined, hasResponse: boolean): HealthReport["service"] {
  if (error === undefined || ownWords.has(failure)) return "responding";
  return hasResponse ? "failing" : failure === undefined ? "not_asked" : "unreachable";
}

/** Failures that the service itself reported. */
const ownWords: ReadonlySet<FailureClass | undefined> = new Set(["unauthorized", "refused", "throttled"]);

function tokenOf(error: CrossBorderError | undefined, failure: FailureClass | undefined): HealthReport["token"] {
  // The service knows a client that it forbids to read this list.
  if (error === undefined || (failure === "refused" && error.status === 403)) return "accepted";
  if (failure === "unauthorized") return "refused";
  const isOfToken = error instanceof TokenError || error.code === "timeout";
  return failure === undefined && isOfToken ? "unavailable" : "unknown";
}
