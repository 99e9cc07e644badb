import { describe, expect, it } from "vitest";
import { toOutcome } from "../../src/flows/flow-outcome.js";
import type { Claim, OperatorDecision, OutcomeState, ServiceFact } from "../../src/flows/state/flow-state.js";
import type { PaymentIntent } from "../../src/resources/payment-intents.js";
import type { Payment } from "../../src/resources/payments.js";
import { request } from "./flow-fixture.js";

const intent = { id: "intent-1" } as PaymentIntent;
const payment = { id: "payment-1" } as Payment;
const refusal = { by: "service", status: 400, code: "refused", message: "refused" } as const;
const claim: Claim = { path: "/payments", body: "{}", signature: "s", epoch: 1, claimedAtMs: 1, sendByMs: 2 };
const decisions: readonly OperatorDecision[] = [{ action: "release", by: "Ada", why: "the bank says so", atMs: 1 }];
const reliedOn: readonly ServiceFact[] = ["singleUseIntents"];
const lookalike = { id: "payment-2" } as Payment;
const looks = [{ atMs: 3, claims: 1, seen: 1, complete: true, lookalike }];
const senderGatewayTransactionId = "TX-1";
const reason = "nobody knows";

const begun = { request, intent, since: null, senderGatewayTransactionId, claims: [], looks: [], decisions: [] };

describe("an outcome has what is known of the flow, and no field for what is not:", () => {
  const least: readonly (readonly [OutcomeState, object])[] = [
    [
      { ...begun, phase: "paid", payment },
      { status: "paid", key: "k", intent, payment, decisions: [] },
    ],
    [
      { request, intent, phase: "declined" },
      { status: "declined", key: "k", intent },
    ],
    [
      { request, phase: "rejected", refusal },
      { status: "rejected", key: "k", refusal, decisions: [] },
    ],
    [
      { ...begun, phase: "held", reason },
      { status: "held", key: "k", intent, senderGatewayTransactionId, reason, claims: [], looks: [], decisions: [] },
    ],
  ];

  it.each(least)("the least of $phase", (state, outcome) => {
    expect(toOutcome("k", state)).toStrictEqual(outcome);
  });

  const response = { status: 500 };
  const more = { claims: [claim], looks, decisions, reliedOn };
  const most: readonly (readonly [OutcomeState, object])[] = [
    [
      { ...begun, ...more, phase: "paid", payment },
      { status: "paid", key: "k", intent, payment, looks, decisions, reliedOn },
    ],
    [
      { request, intent, phase: "declined", reason },
      { status: "declined", key: "k", intent, reason },
    ],
    [
      { ...begun, ...more, phase: "rejected", refusal },
      { status: "rejected", key: "k", refusal, decisions, intent, senderGatewayTransactionId, looks, reliedOn },
    ],
    [
      { ...begun, ...more, phase: "held", reason, response, claim },
      { status: "held", key: "k", intent, senderGatewayTransactionId, reason, response, claim, lookalike, ...more },
    ],
  ];

  it.each(most)("all of $phase", (state, outcome) => {
    expect(toOutcome("k", state)).toStrictEqual(outcome);
  });
});
