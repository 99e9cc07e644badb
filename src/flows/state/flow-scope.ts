import { type Effect, InvalidArgumentError } from "../../errors/errors.js";
import type { PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { FlowContext } from "../flow-context.js";
import { FlowPausedError } from "../flow-paused-error.js";
import type { FlowScope, JournalEntry } from "../journal.js";
import { assertScope } from "../journal-arguments.js";
import { outdatedEntry } from "./flow-codec.js";
import type { FlowState } from "./flow-state.js";

/** What reading a flow needs of a `PaymentFlow`. */
type OwnFlows = Pick<FlowContext, "codec" | "scope">;

/** What telling one's own key from another needs of a `PaymentFlow`. */
export interface KeyHolder extends Pick<FlowContext, "scope"> {
  readonly client: Pick<FlowContext["client"], "signingKeyId">;
}

/** Whose flow the one of a request is. */
export function scopeOf(
  { scope: { service } }: Pick<OwnFlows, "scope">,
  { senderGatewayId }: PaymentIntentRequest,
): FlowScope {
  return { service, gateway: senderGatewayId };
}

/** @throws {InvalidArgumentError} for a request that another gateway has to make. */
export function assertOwnRequest(context: FlowContext, request: PaymentIntentRequest): void {
  const { gateway } = context.scope;
  if (gateway !== undefined && request.senderGatewayId !== gateway) {
    throw new InvalidArgumentError(
      "the request's senderGatewayId is not the gatewayId of this PaymentFlow: each gateway needs a PaymentFlow of its own",
    );
  }
  assertScope(scopeOf(context, request));
}

/**
 * The state of a flow of this scope. The scope is compared first: a flow of another one may be encrypted with another cipher.
 *
 * @throws {InvalidArgumentError} `flow_foreign` for a flow of another service or gateway; `flow_pruned` when only a tombstone is left.
 * @throws {CrossBorderError} `flow_unreadable`, or `journal_outdated` for an entry of release 0.1.0.
 */
export async function readState(context: OwnFlows, entry: JournalEntry): Promise<FlowState> {
  assertOwnEntry(context, entry);
  if (entry.prunedAtMs !== undefined) throw pruned(entry);
  return context.codec.decode(entry);
}

/** @throws {InvalidArgumentError} `flow_foreign`; {CrossBorderError} `journal_outdated`. */
export function assertOwnEntry({ scope: own }: Pick<OwnFlows, "scope">, { key, scope }: JournalEntry): void {
  // The types of release 0.2.0 allowed a journal of somebody's own to have none.
  if (scope === undefined) throw outdatedEntry(key);
  const { service, gateway } = scope;
  if (service === own.service && (own.gateway ?? gateway) === gateway) return;
  const whose = service === own.service ? "gateway" : "service";
  throw foreign(
    `the flow of key ${JSON.stringify(key)} belongs to another ${whose}, and only a PaymentFlow of that ${whose} can continue it`,
    "possible",
  );
}

/** This client's key, where a `gatewayId` does not say whose flows it continues and the flow was begun with another one. */
export async function otherKeyId({ client, scope }: KeyHolder, state: FlowState): Promise<string | undefined> {
  if (scope.gateway !== undefined || state.keyId === undefined) return undefined;
  const ownKeyId = await client.signingKeyId();
  return ownKeyId === state.keyId ? undefined : ownKeyId;
}

/**
 * Without a `gatewayId` only the key tells one gateway's process from another's: a flow that was begun with another key may be
 * another gateway's, and neither its money nor its signature is this one's business.
 *
 * @throws {FlowPausedError}, and for a quote, which takes no money, {InvalidArgumentError} `flow_foreign`.
 */
export async function assertOwnKey(context: FlowContext, key: string, state: FlowState): Promise<void> {
  const ownKeyId = await otherKeyId(context, state);
  if (ownKeyId === undefined) return;
  const advice = adviceOnKeys(state.keyId, ownKeyId);
  const flow = `the flow of key ${JSON.stringify(key)} was begun with another signing key`;
  if (state.phase === "quoted") throw foreign(`${flow}. ${advice}`, "none");
  throw new FlowPausedError(key, { phase: state.phase, cause: foreign(flow, "possible"), advice: `${advice}.` });
}

/** What to do about a flow that was begun with another key. */
export function adviceOnKeys(keyId: string | undefined, ownKeyId: string): string {
  return `The process that signs with the key ${keyId} began it, and this client signs with the key ${ownKeyId} (SHA-256 of the public keys). If both keys are the same gateway's, pass its gatewayId to PaymentFlow`;
}

function foreign(message: string, effect: Effect): InvalidArgumentError {
  return new InvalidArgumentError(message, { code: "flow_foreign", effect });
}

function pruned({ key, phase }: JournalEntry): InvalidArgumentError {
  return new InvalidArgumentError(
    `the flow of key ${JSON.stringify(key)} was settled as ${phase} and pruned since: it is not made a second time`,
    { code: "flow_pruned", effect: "possible" },
  );
}
