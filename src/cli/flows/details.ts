import type { FlowContext } from "../../flows/flow-context.js";
import { type FlowGrounds, groundsOf, toStatus } from "../../flows/flow-status.js";
import type { FlowCipher, FlowStatus, JournalEntry } from "../../flows/index.js";
import { readState } from "../../flows/state/flow-scope.js";
import { isStuck } from "../../flows/state/flow-state.js";
import { parseObject } from "../../wire/parse-json-object.js";

/** A flow with everything that an operator decides by; lists that would be empty are absent. */
export interface FlowDetails extends FlowStatus, Partial<FlowGrounds> {
  /** Whether it is held or stuck, and so waits for an operator. */
  readonly isWaiting: boolean;
  /** What was kept of a flow that was pruned. */
  readonly evidence?: Readonly<Record<string, unknown>>;
}

/** @throws {CrossBorderError} `flow_unreadable`; {InvalidArgumentError} `flow_foreign`. */
export async function flowDetails(
  context: FlowContext,
  entry: JournalEntry,
  cipher: FlowCipher | undefined,
): Promise<FlowDetails> {
  const status = await toStatus(context, entry);
  if (status.prunedAtMs !== undefined) return { ...status, isWaiting: false, ...(await keptEvidence(entry, cipher)) };
  const state = await readState(context, entry);
  return { ...status, isWaiting: state.phase === "held" || isStuck(state), ...withoutEmpty(groundsOf(state)) };
}

function withoutEmpty(grounds: FlowGrounds): Partial<FlowGrounds> {
  const entries = Object.entries(grounds).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(entries);
}

async function keptEvidence(
  { evidence }: JournalEntry,
  cipher: FlowCipher | undefined,
): Promise<Pick<FlowDetails, "evidence">> {
  if (evidence === "") return {};
  const kept = parseObject(cipher === undefined ? evidence : await cipher.decrypt(evidence));
  return kept === undefined ? {} : { evidence: kept };
}
