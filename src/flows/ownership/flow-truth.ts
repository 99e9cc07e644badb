import { CrossBorderError, type ErrorCode } from "../../errors/errors.js";
import type { FlowPhase } from "../../events/flow-event.js";
import type { FlowContext } from "../flow-context.js";
import { FlowPausedError } from "../flow-paused-error.js";
import { isUnstorable } from "./journal-failure.js";
import { fence } from "./own-flow.js";

/**
 * What to throw when a call failed that has written nothing that takes money. Others may have: only where there is no flow, or one that
 * takes no money unless somebody confirms it, is what failed the whole truth.
 */
export async function truthOf(context: FlowContext, key: string, error: unknown): Promise<unknown> {
  if (isTruth(error)) return error;
  try {
    const found = await context.journal.read(key);
    // What an earlier call handed to the journal, and still comes, finds another quote.
    const entry = found?.phase === "quoted" ? await fence(context, found) : found;
    if (entry === undefined) return withoutEffect(error);
    // Read whole: what was copied from another flow says nothing of this one.
    if (moneyless.has(entry.phase) && (await context.codec.decode(entry))) return withoutEffect(error);
  } catch {
    // Then nobody can tell.
  }
  return new FlowPausedError(key, { cause: error });
}

/**
 * Checks what is asked for before the journal is asked: what a wrong request says is the whole truth, and of what others have done a client
 * that is closed says nothing.
 */
export async function checked(context: FlowContext, key: string, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    throw isUnstorable(error) ? error : await truthOf(context, key, error);
  }
}

/** The service may have made an intent all the same, which moves nothing: of the payment that says nothing. */
function withoutEffect(error: unknown): unknown {
  if (!(error instanceof CrossBorderError) || error.effect === "none") return error;
  const { code, operation, attempts, requestId, status, serviceCode, serviceMessage } = error;
  const what = [operation, code].filter(Boolean).join(": ");
  const message = `nothing was stored that takes money, and the same key can be used again (${what})`;
  return new CrossBorderError(message, {
    ...{ code, operation, attempts, requestId, status, serviceCode, serviceMessage },
    cause: error,
  });
}

const moneyless: ReadonlySet<string> = new Set<FlowPhase>(["quoted", "declined"]);

/** From the first write on the flow owns the payment, whatever fails. @throws {FlowPausedError} */
export async function ownedByFlow<T>(key: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw isTruth(cause) ? cause : new FlowPausedError(key, { cause });
  }
}

/** Errors that say themselves what they say about the flow. */
export function isTruth(error: unknown): boolean {
  return error instanceof FlowPausedError || (error instanceof CrossBorderError && truths.has(error.code));
}

const truths: ReadonlySet<ErrorCode> = new Set([
  "flow_approval_needed",
  "flow_confirmed",
  "flow_foreign",
  "flow_key_reused",
  "flow_moved_on",
  "flow_not_held",
  "flow_not_proposed",
  "flow_payment_found",
  "flow_payment_not_found",
  "flow_payment_unseen",
  "flow_proposed",
  "flow_pruned",
  "flow_same_person",
  "flow_too_many_proposals",
  "flow_unknown",
  "quote_changed",
  "quote_expired",
]);
