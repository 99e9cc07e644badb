import type { PaymentIntent, PaymentIntentRequest } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import type { Decision, Flow, Refusal, Signed } from "./core/state.js";

/** What release 0.3.0 stored of a flow that was settled or held. */
export interface EarlierFlow {
  readonly phase: string;
  readonly request: PaymentIntentRequest;
  readonly intent?: PaymentIntent;
  readonly senderGatewayTransactionId?: string;
  readonly claims?: readonly (Pick<Signed, "path" | "body" | "signature"> & { readonly isRefused?: true })[];
  readonly decisions?: readonly (Decision & { readonly step?: string })[];
  readonly payment?: Payment;
  readonly refusal?: Refusal;
  /** Why it was held, or its quote cancelled. */
  readonly reason?: string;
}

/** The same flow as it is stored now; `undefined` if it is open, or held without a claim: release 0.3.0 must finish it. */
export function fromEarlier(earlier: EarlierFlow, begunAtMs: number): Flow | undefined {
  const { phase, request, intent, payment, refusal, reason = "", claims = [] } = earlier;
  const signed = signedOf(earlier);
  const decisions = (earlier.decisions ?? []).filter(({ step }) => step === undefined || step === "approved");
  const kept = { ...(signed && { signed }), ...(decisions.length > 0 && { decisions }) };
  if (phase === "rejected" && refusal) return { phase, request, refusal, ...(intent && { intent }), ...kept };
  if (intent === undefined) return undefined;
  if (phase === "declined") return { phase, request, intent, ...(reason && { reason }) };
  const tries = { open: Math.max(1, claims.length), unauthorized: 0, throttled: 0, unread: 0, repeated: 0 };
  const begun = { request, intent, begunAtMs, tries, ...kept };
  if (phase === "paid" && payment) return { ...begun, phase, payment };
  if (phase !== "held" || signed === undefined) return undefined;
  return { ...begun, signed, phase, why: "not-found", said: { code: "outcome_unknown", message: reason } };
}

function signedOf({ senderGatewayTransactionId, claims = [] }: EarlierFlow): Signed | undefined {
  const claim = claims.findLast(({ isRefused }) => isRefused !== true) ?? claims.at(-1);
  if (senderGatewayTransactionId === undefined || claim === undefined) return undefined;
  const { path, body, signature } = claim;
  return { senderGatewayTransactionId, path, body, signature };
}
