import { CrossBorderError } from "../../errors/errors.js";
import type { FlowPhase } from "../../events/flow-event.js";
import { parseJsonObject } from "../../wire/parse-json-object.js";
import type { FlowScope, JournalEntry, JournalState } from "../journal.js";
import { withoutRecord } from "./decision-chain.js";
import { type FlowState, hasOutcome, isSettled, type OperatorDecision } from "./flow-state.js";
import { fromStored, type StoredState, toStored } from "./stored-state.js";
import { writeJson } from "./write-json.js";

/** Encrypts what a journal stores. Both functions may be asynchronous; `decrypt` must return exactly what `encrypt` was given. */
export interface FlowCipher {
  encrypt(text: string): Promise<string> | string;
  decrypt(text: string): Promise<string> | string;
}

/** Turns states into what a journal stores, and back. */
export class FlowCodec {
  readonly #cipher: FlowCipher | undefined;
  readonly #quoteTtlMs: number;

  constructor(cipher: FlowCipher | undefined, quoteTtlMs: number) {
    this.#cipher = cipher;
    this.#quoteTtlMs = quoteTtlMs;
  }

  /** Key and scope are part of what is encrypted, so that no row's text passes for another's. */
  async encode(key: string, scope: FlowScope, state: FlowState): Promise<JournalState> {
    const { service, gateway } = scope;
    const text = writeJson({ version, key, scope: { service, gateway }, state: toStored(state) });
    const kept = hasOutcome(state) ? evidenceOf(key, state) : "";
    const cipher = this.#cipher;
    const data = cipher === undefined ? text : await cipher.encrypt(text);
    const evidence = cipher === undefined || kept === "" ? kept : await cipher.encrypt(kept);
    const stored = { phase: state.phase, settled: isSettled(state), data, evidence };
    return state.phase === "quoted" ? { ...stored, quoteTtlMs: this.#quoteTtlMs } : stored;
  }

  /**
   * @throws {CrossBorderError} `flow_unreadable` when the entry is not what this version of the library stored under its key;
   *   `journal_outdated` when release 0.1.0 stored it.
   */
  async decode(entry: Pick<JournalEntry, "key" | "scope" | "phase" | "data">): Promise<FlowState> {
    const { key, scope, phase } = entry;
    if (scope === undefined) throw outdatedEntry(key);
    const stored: Stored = parseJsonObject(await this.#decrypt(key, entry.data));
    if (stored.version === 1) throw outdatedEntry(key);
    if (stored.state?.phase === phase && isOwn(stored, entry)) {
      const state = fromStored(stored.state);
      if (state !== undefined) return state;
    }
    throw unreadable(key);
  }

  /** What was kept of a flow that was pruned; `undefined` where nothing was. */
  async decodeEvidence({ key, evidence }: Pick<JournalEntry, "key" | "evidence">): Promise<KeptEvidence | undefined> {
    if (evidence === "") return undefined;
    const kept: KeptEvidence = parseJsonObject(await this.#decrypt(key, evidence));
    if (kept.key !== key) throw unreadable(key);
    return kept;
  }

  async #decrypt(key: string, data: string): Promise<string> {
    if (this.#cipher === undefined) return data;
    try {
      return await this.#cipher.decrypt(data);
    } catch (cause) {
      throw unreadable(key, cause);
    }
  }
}

const version = 2;

interface Stored {
  readonly version?: number;
  readonly key?: string;
  readonly scope?: FlowScope;
  readonly state?: StoredState & { readonly phase: FlowPhase };
}

/** What was stored in another row, or for another gateway, is not this flow. */
function isOwn(stored: Stored, { key, scope }: Pick<JournalEntry, "key" | "scope">): boolean {
  const isOfScope = stored.scope?.service === scope.service && stored.scope.gateway === scope.gateway;
  return isOfScope && stored.version === version && stored.key === key;
}

/** Release 0.1.0 stored neither keys nor scopes. A journal of somebody's own may still have such an entry. */
export function outdatedEntry(key: string): CrossBorderError {
  return new CrossBorderError(
    `the journal's entry for key ${JSON.stringify(key)} is of release 0.1.0, which this release does not read: finish that flow with release 0.2.0 first`,
    { code: "journal_outdated", effect: "possible" },
  );
}

function unreadable(key: string, cause?: unknown): CrossBorderError {
  return new CrossBorderError(
    `the journal's entry for key ${JSON.stringify(key)} can't be read: it was written with another cipher, by another program, by a later version of this library, or for another key`,
    { code: "flow_unreadable", effect: "possible", cause },
  );
}

/** What `evidenceOf` wrote. */
export interface KeptEvidence {
  readonly key?: string;
  readonly decisions?: readonly OperatorDecision[];
  readonly [name: string]: unknown;
}

/** What stays of a flow that was pruned: nothing personal of those who pay and are paid, and enough to recognise its payment. */
function evidenceOf(key: string, state: FlowState): string {
  const {
    intent,
    senderGatewayTransactionId,
    claims,
    payment,
    decisions = [],
  } = state as Partial<Extract<FlowState, { phase: "paid" }>>;
  const {
    id: intentId,
    senderGatewayId,
    senderAmount,
    senderCurrency,
    receiverAmount,
    receiverCurrency,
  } = intent ?? {};
  return writeJson({
    version,
    key,
    phase: state.phase,
    intentId,
    senderGatewayId,
    senderGatewayTransactionId,
    senderAmount,
    senderCurrency,
    receiverAmount,
    receiverCurrency,
    paymentId: payment?.id,
    signatures: claims?.map(({ signature }) => signature),
    ...(decisions.length > 0 && { decisions: decisions.map(withoutRecord) }),
  });
}
