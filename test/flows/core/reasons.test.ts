import { expect, it } from "vitest";
import { isSamePerson } from "../../../src/flows/core/owner.js";
import { heldReason, openReason } from "../../../src/flows/core/reasons.js";
import type { Flow, Held } from "../../../src/flows/core/state.js";
import { type HistoryStep, isOpen, withStep } from "../../../src/flows/core/steps.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../../src/resources/payment-intents.js";
import type { Payment } from "../../../src/resources/payments.js";

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
  [
    { why: "unauthorized", said: { status: 401, code: "http_401", message: "" } },
    "The service refused the access token or the signature again and again for some 20 minutes (401). Nothing was paid by these requests.",
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
  [{ ...begun, phase: "funds-requested" }, "Waits for takeFunds. Then the payment is signed and sent."],
  [
    { phase: "quoted", request: begun.request, intent: begun.intent },
    "Waits for confirm, cancel, or the end of the quote.",
  ],
  [{ ...begun, phase: "claimed", signed }, "The signed payment is stored, and may be sent at any moment."],
  [{ ...begun, phase: "unknown", signed }, "The payment may have been made. The flow searches for it in the list."],
  [held, "The process that sent the payment stopped before it stored a response."],
  [
    { ...held, why: "money-gone" },
    "The payment may have been made, but takeFunds returned null: the bank no longer has its money.",
  ],
  [{ phase: "declined", request: begun.request, intent: begun.intent }, undefined],
  [{ ...begun, phase: "paid", payment: {} as Payment }, undefined],
  [{ phase: "rejected", request: begun.request, refusal }, undefined],
])("says what an open flow waits for: %#", (flow, reason) => {
  expect(openReason(flow)).toBe(reason);
});

it.each<[Flow, isOpen: boolean, why: string | undefined]>([
  [{ phase: "quoted", request: begun.request, intent: begun.intent }, false, undefined],
  [{ ...begun, phase: "funds-requested" }, true, undefined],
  [{ ...begun, phase: "unknown", signed, said: { code: "timeout", message: "" } }, true, "timeout"],
  [{ ...begun, phase: "refused", signed, refusal }, true, "no_account"],
  [held, false, "not-found"],
  [{ phase: "declined", request: begun.request, intent: begun.intent, reason: "too dear" }, false, "too dear"],
])("tells an open flow, and why it is where it is: %#", (flow, open, why) => {
  expect(isOpen(flow)).toBe(open);
  expect(withStep([], flow, 0)).toEqual([{ atMs: 0, phase: flow.phase, ...(why && { why }) }]);
});

it.each([
  ["Ann", " ann", true],
  ["\uff21nn", "ann", true],
  ["ann", "anna", false],
])("takes %j and %j for one person: %s", (one, other, isSame) => {
  expect(isSamePerson(one, other)).toBe(isSame);
});

it("keeps the first and the newest 63 steps of a history", () => {
  let history: HistoryStep[] = [];
  for (let atMs = 0; atMs < 100; atMs++) history = withStep(history, held, atMs, "p1");
  expect(history).toHaveLength(64);
  expect(history[0]).toEqual({ atMs: 0, phase: "held", why: "not-found", by: "p1" });
  expect(history[1]?.atMs).toBe(37);
  expect(history[63]?.atMs).toBe(99);
});
