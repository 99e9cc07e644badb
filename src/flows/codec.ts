import { CrossBorderError } from "../core/errors.js";
import type { PaymentIntent, PaymentIntentRequest } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import { parseJsonObject } from "../wire/response.js";
import type { Decision, Flow, Phase, Refusal, Signed } from "./core/state.js";
import { type HistoryStep, isOpen } from "./core/steps.js";
import { type FlowScope, isIn, type JournalEntry, type JournalState } from "./journal.js";

/** Encrypts what a journal stores. Both functions may be asynchronous. `decrypt` must return exactly the input of `encrypt`. */
export interface FlowCipher {
  encrypt(text: string): Promise<string> | string;
  decrypt(text: string): Promise<string> | string;
}

/** A flow as it is stored, and what it went through. */
export interface StoredFlow {
  readonly flow: Flow;
  readonly history: readonly HistoryStep[];
}

/** Every phase, in the order in which a flow can go through them. */
export const allPhases = [
  "quoted",
  "funds-requested",
  "declined",
  "claimed",
  "unknown",
  "held",
  "paid",
  "refused",
  "rejected",
] as const satisfies readonly Phase[];

/** Turns flows into what a journal stores, and back. */
export class FlowCodec {
  readonly #cipher: FlowCipher | undefined;
  readonly #quoteTtlMs: number;

  constructor(cipher: FlowCipher | undefined, quoteTtlMs: number) {
    this.#cipher = cipher;
    this.#quoteTtlMs = quoteTtlMs;
  }

  /** Key and scope are part of what is encrypted, so that no row's text passes for another's. */
  async encode(key: string, { service, gateway }: FlowScope, { flow, history }: StoredFlow): Promise<JournalState> {
    const { phase } = flow;
    const text = JSON.stringify({ version, key, scope: { service, gateway }, flow, history });
    const data = this.#cipher === undefined ? text : await this.#cipher.encrypt(text);
    return { phase, settled: !isOpen(flow), data, quoteTtlMs: phase === "quoted" ? this.#quoteTtlMs : undefined };
  }

  /** @throws {CrossBorderError} `flow_unreadable` if the entry isn't what this version of the library stored under its key. */
  async decode(entry: JournalEntry): Promise<StoredFlow> {
    const { key, scope, phase } = entry;
    const stored: Stored = parseJsonObject(await this.#decrypt(key, entry.data));
    const { state, flow, history } = stored;
    if (stored.version === earlierVersion && stored.key === key && state?.phase === phase) {
      const earlier = fromEarlier(state, entry.createdAtMs);
      if (earlier !== undefined) return { flow: earlier, history: [] };
    }
    const isOwn =
      stored.version === version && stored.key === key && stored.scope !== undefined && isIn(scope, stored.scope);
    const isKnown = flow?.phase === phase && allPhases.includes(flow.phase);
    if (isOwn && isKnown && Array.isArray(history)) return { flow, history };
    throw unreadable(key);
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

const version = 3;
/** Entries of release 0.3.0, which used base URLs as scopes. */
const earlierVersion = 2;

interface Stored extends Partial<StoredFlow> {
  readonly version?: number;
  readonly key?: string;
  readonly scope?: FlowScope;
  readonly state?: EarlierFlow;
}

function unreadable(key: string, cause?: unknown): CrossBorderError {
  return new CrossBorderError(
    `the journal's entry for key ${JSON.stringify(key)} can't be read: it was written with another cipher, by another program, by another version of this library, or for another key`,
    { code: "flow_unreadable", effect: "possible", cause },
  );
}

/** What release 0.3.0 stored of a flow that was settled or held. */
interface EarlierFlow {
  readonly phase: string;
  readonly request: PaymentIntentRequest;
  readonly intent?: PaymentIntent;
  readonly senderGatewayTransactionId?: string;
  readonly takenAtMs?: number;
  readonly claims?: readonly (Pick<Signed, "path" | "body" | "signature"> & { readonly isRefused?: true })[];
  readonly decisions?: readonly (Decision & { readonly step?: string })[];
  readonly payment?: Payment;
  readonly refusal?: Refusal;
  /** Why it was held, or its quote cancelled. */
  readonly reason?: string;
}

/** The same flow in today's form, or `undefined` if it is open or held without a claim. Release 0.3.0 must finish those. */
function fromEarlier(earlier: EarlierFlow, createdAtMs: number): Flow | undefined {
  const { phase, request, intent, payment, refusal, reason, claims = [], takenAtMs = createdAtMs } = earlier;
  const signed = signedOf(earlier);
  const decisions = earlier.decisions?.filter(({ step }) => step === undefined || step === "approved");
  const kept = { signed, decisions };
  if (phase === "rejected" && refusal) return { phase, request, refusal, intent, ...kept };
  if (intent === undefined) return undefined;
  if (phase === "declined") return { phase, request, intent, reason };
  const tries = { open: Math.max(1, claims.length), unauthorized: 0, throttled: 0, unread: 0, repeated: 0 };
  // The money may have been taken before the entry began, by a clock that is an hour off.
  const begunAtMs = Math.min(createdAtMs, takenAtMs) - 3_600_000;
  const begun = { request, intent, begunAtMs, tries, ...kept };
  if (phase === "paid" && payment) return { ...begun, phase, payment };
  if (phase !== "held" || signed === undefined) return undefined;
  return { ...begun, signed, phase, why: "not-found", said: { code: "outcome_unknown", message: reason ?? "" } };
}

function signedOf({ senderGatewayTransactionId, claims = [] }: EarlierFlow): Signed | undefined {
  const claim = claims.findLast(({ isRefused }) => isRefused !== true) ?? claims.at(-1);
  if (senderGatewayTransactionId === undefined || claim === undefined) return undefined;
  const { path, body, signature } = claim;
  return { senderGatewayTransactionId, path, body, signature };
}
