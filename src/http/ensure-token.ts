import { parsePathTemplate } from "../api/path.js";
import type { RequestOptions } from "../api/request-options.js";
import type { CrossBorderError } from "../errors/errors.js";
import { clock } from "../timing/clock.js";
import { Deadline } from "../timing/deadline.js";
import type { CallContext } from "./call-context.js";
import { toError } from "./call-error.js";
import { reportFailure } from "./call-report.js";
import { failureOfThrown } from "./failure.js";

/** How a token that belongs to no call goes by, in errors and in events. */
export const tokenRequest = { name: "accessToken", verb: "get" } as const;

/** See `ApiClient.ensureToken`. */
export async function ensureToken(
  client: CallContext,
  validForMs: number,
  { timeoutMs = client.timeoutMs, maxRetries = client.maxRetries, signal }: RequestOptions,
): Promise<void> {
  const startMs = clock.monotonicMs();
  const deadline = new Deadline({ timeoutMs, signal });
  try {
    const { tokens } = client;
    if (tokens.ensure !== undefined) await tokens.ensure(validForMs, deadline, maxRetries);
    // A source that fails now would fail the call too.
    else await tokens.current(deadline, maxRetries);
  } catch (thrown) {
    const error = toTokenFailure(client, thrown);
    reportFailure(client.reporter, { operation: tokenRequest.name }, error, startMs);
    throw error;
  } finally {
    deadline.finish();
  }
}

function toTokenFailure({ origin }: CallContext, thrown: unknown): CrossBorderError {
  return toError(failureOfThrown(thrown), {
    operation: { ...tokenRequest, method: "GET", path: parsePathTemplate("") },
    kind: "read",
    origin,
    basePath: "",
    attempts: 0,
    effect: "none",
    isSent: false,
    secrets: [],
  });
}
