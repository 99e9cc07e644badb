import type { Call, Refusal, SearchResult, Signed, Words } from "../../src/flows/core/state.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../src/resources/payment-intents.js";
import type { Payment } from "../../src/resources/payments.js";
import type { EventBody } from "./journal.js";

// What the service, the bank, and the journal answer. Each event is one object, so that it's compared once.

export const request = { memo: "m" } as PaymentIntentRequest;
const payment = { id: "p" } as Payment;
const refusal: Refusal = { by: "service", status: 400, code: "no", message: "" };
const said: Words = { code: "c", message: "" };
export const intentRefused: EventBody = { is: "intentRefused", refusal, failure: { code: "refused", effect: "none" } };
export const stored: EventBody = { is: "stored" };
export const refused: EventBody = { is: "refused" };
export const busy: EventBody = { is: "busy" };
export const noFunds: EventBody = { is: "funds", funds: null };
export const funds: EventBody = { is: "funds", funds: { senderGatewayTransactionId: "t", replayed: false } };
const ids = ["1", "2", "3"] as const;
/** Intents by number. */
export const intents = ids.map((id): EventBody => ({ is: "intent", intent: { id } as PaymentIntent }));
/** The signed payments of intents: their bodies are the intents' ids. */
export const signatures: ReadonlyMap<string, EventBody> = new Map(
  ids.map((id): [string, EventBody] => {
    const signed: Signed = { senderGatewayTransactionId: "t", path: "/payments", body: id, signature: id };
    return [id, { is: "signed", signed }];
  }),
);
export const failed: EventBody = { is: "failed", failure: { code: "failed", effect: "possible" } };
export const done: EventBody = { is: "done" };
export const notSent: EventBody = {
  is: "response",
  response: { is: "notSent", failure: { code: "not_sent", effect: "none" } },
};
export const responses = {
  paid: { is: "response", response: { is: "paid", payment } },
  refused: { is: "response", response: { is: "refused", refusal } },
  unauthorized: { is: "response", response: { is: "unauthorized", said, retryAtMs: 0 } },
  throttled: { is: "response", response: { is: "throttled", said, retryAtMs: 0 } },
  unknown: { is: "response", response: { is: "unknown", said } },
} as const satisfies Record<string, EventBody>;
const results: readonly SearchResult[] = [
  { is: "found", payment },
  { is: "match", payment },
  { is: "absent" },
  { is: "unreadable" },
  { is: "forbidden" },
];
export const searched = Object.fromEntries(results.map((result) => [result.is, { is: "searched", result }])) as Record<
  SearchResult["is"],
  EventBody
>;
export const replayed = [0, 1].map(
  (takenAtMs): EventBody => ({ is: "funds", funds: { senderGatewayTransactionId: "t", replayed: true, takenAtMs } }),
) as [EventBody, EventBody];
export const choices = [
  { action: "found" },
  { action: "release" },
  { action: "release", withoutProof: true },
  { action: "resend" },
  { action: "resend", withoutProof: true },
] as const;

export function describeCall(call: Call): string {
  if (call.kind !== "resolve") return call.kind;
  if (!("decision" in call)) return `${call.step} as ${call.by}`;
  return `${call.step} ${call.decision.action}${call.decision.withoutProof ? " without proof" : ""}`;
}
