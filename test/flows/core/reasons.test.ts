import { expect, it } from "vitest";
import { heldReason, openReason } from "../../../src/flows/core/reasons.js";
import type { Flow, Held } from "../../../src/flows/core/state.js";
import { type HistoryStep, withStep } from "../../../src/flows/core/steps.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../../src/resources/payment-intents.js";

const signed = { senderGatewayTransactionId: "t", path: "/payments", body: "{}", signature: "s" };
const tries = { open: 1, unauthorized: 0, throttled: 0, unread: 2, repeated: 0 };
const begun = { request: {} as PaymentIntentRequest, intent: {} as PaymentIntent, begunAtMs: 0, tries };
const held: Held = { ...begun, phase: "held", signed, why: "not-found" };
const refusal = { by: "service", status: 400, code: "no_account", message: "No such account." } as const;

it.each<[Partial<Held>, string]>([
  [
    { said: { code: "timeout", message: "" }, searches: { times: 2, last: "absent" } },
    "No response from the service (timeout). Searched twice; the payment isn't listed.",
  ],
  [
    { said: { status: 502, code: "bad_gateway", message: "" }, searches: { times: 1, last: "forbidden" } },
    "The service's response doesn't say whether the payment was made (502 bad_gateway). Searched once; the service refuses to list payments.",
  ],
  [
    { searches: { times: 3, last: "unreadable" } },
    "The process that sent the payment stopped before it stored a response. Searched 3 times; the list couldn't be read.",
  ],
  [
    { why: "refused-after-repeat", said: refusal },
    "The service refused a request that had been sent before (400 no_account: No such account.). The payment may have been made by the earlier request.",
  ],
])("says why a flow is held: %#", (more, reason) => {
  expect(heldReason({ ...held, ...more })).toBe(reason);
});

it.each<[Flow, string | undefined]>([
  [
    { ...begun, phase: "funds-requested", notBeforeMs: 1 },
    "Waits before the list of payments is read again. It couldn't be read (2 of 8 times).",
  ],
  [
    { ...begun, phase: "funds-requested", notBeforeMs: 1, said: { status: 429, code: "busy", message: "" } },
    "Waits before the payment is sent again: the service said 429 busy.",
  ],
  [
    { ...begun, phase: "refused", signed, refusal },
    "The payment was not made (400 no_account: No such account.). The money must be given back.",
  ],
  [{ phase: "declined", request: begun.request, intent: begun.intent }, undefined],
])("says what an open flow waits for: %#", (flow, reason) => {
  expect(openReason(flow)).toBe(reason);
});

it("keeps the first and the newest 63 steps of a history", () => {
  let history: HistoryStep[] = [];
  for (let atMs = 0; atMs < 100; atMs++) history = withStep(history, held, atMs, "p1");
  expect(history).toHaveLength(64);
  expect(history[0]).toEqual({ atMs: 0, phase: "held", why: "not-found", by: "p1" });
  expect(history[1]?.atMs).toBe(37);
  expect(history[63]?.atMs).toBe(99);
});
