import { expect, it } from "vitest";
import { CrossBorderError, type Effect } from "../../src/errors/errors.js";
import type { FlowOutcome, HeldFlow, PaidFlow } from "../../src/flows/flow-outcome.js";
import type { Payment } from "../../src/resources/payments.js";
import { Choices } from "../../src/simulation/choices.js";
import { drawProfile } from "../../src/simulation/profile.js";
import { type CallKind, type Law, Truth } from "../../src/simulation/truth.js";
import { World } from "../../src/simulation/world.js";

const key = "flow 1";

/** What happens to one flow, as the world tells it to the truth. */
class Story {
  readonly truth: Truth;
  readonly #world: World;

  constructor() {
    const choices = Choices.replay([]);
    this.#world = new World(choices, drawProfile(choices, { flows: 1, processes: 1, hasFalseFacts: false }), false);
    this.truth = new Truth(this.#world);
  }

  call(kind: CallKind = "run", withoutProof = false) {
    return this.truth.began(key, kind, withoutProof);
  }

  take(): void {
    const replayed = this.truth.of(key).transactionId !== undefined;
    this.truth.asked(key, { senderGatewayTransactionId: "transaction-1", replayed });
  }

  /** @param listedInMs when the service lists the payment. */
  pay(id = "payment-1", sending = this.truth.sent(key), listedInMs = 0): void {
    this.truth.paid({ id, key, intentId: "intent-1", sending, listedAtMs: this.#world.nowMs + listedInMs });
  }

  tell(status: FlowOutcome["status"], id = "payment-1"): void {
    // Of an outcome, the truth compares these fields only.
    const outcome: Partial<Omit<PaidFlow, "status"> & Omit<HeldFlow, "status">> = {
      key,
      reason: "a reason",
      payment: { id } as Payment,
    };
    this.truth.told(key, { ...outcome, status } as FlowOutcome);
  }

  fail(effect: Effect, code: "flow_paused" | "quote_changed" = "flow_paused"): void {
    const call = this.call();
    this.truth.failed(call, new CrossBorderError("it failed", { code, effect }));
    call.isOver = true;
  }

  end(phase: string | undefined, isSettled = true): void {
    this.truth.assertEnded(this.truth.of(key), phase, isSettled);
  }

  get law(): Law | undefined {
    return this.truth.violation?.law;
  }
}

it.each([
  ["breaks a law", false, "told"],
  ["is what may happen once the journal has lost the refusal", true, undefined],
] as const)("a payment after its confirmation was refused %s", (_, isLost, law) => {
  const story = new Story();
  const call = story.truth.began(key, "confirm", false, "intent-1");
  story.truth.failed(call, new CrossBorderError("it has expired", { code: "quote_expired", effect: "none" }));
  call.isOver = true;
  if (isLost) story.truth.of(key).lose();
  story.take();
  story.pay();
  expect(story.law).toBe(law);
});

const lies: readonly [string, Law, (story: Story) => void][] = [
  [
    "a second payment",
    "once",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.pay("payment-2");
    },
  ],
  [
    "a second payment after a resend, when the first was listed",
    "once",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.call("resend");
      story.pay("payment-2");
    },
  ],
  [
    "two payments after one resend",
    "once",
    (story) => {
      story.call();
      story.take();
      story.truth.sent(key);
      story.call("resend", true);
      story.pay("payment-1");
      story.pay("payment-2");
    },
  ],
  [
    "money given back for a payment",
    "release",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.truth.released(key);
    },
  ],
  [
    "a payment after the money was given back",
    "release",
    (story) => {
      story.call();
      story.take();
      const sending = story.truth.sent(key);
      story.truth.released(key);
      story.pay("payment-1", sending);
    },
  ],
  [
    "money that was forgotten",
    "funds",
    (story) => {
      story.call();
      story.take();
      story.end("declined");
    },
  ],
  [
    "a payment for which no money was taken",
    "funds",
    (story) => {
      story.call();
      story.pay();
    },
  ],
  [
    "money taken for a quote",
    "told",
    (story) => {
      story.call("quote");
      story.take();
    },
  ],
  ["a quote that was confirmed too late", "told", (story) => story.truth.confirmed({ key, isExpired: true })],
  ["money that another gateway was asked for", "told", (story) => story.truth.touched(key)],
  ["paid, when it was not", "told", (story) => story.tell("paid")],
  [
    "paid by somebody else's payment",
    "told",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.tell("paid", "payment-of-another");
    },
  ],
  [
    "paid, and in the end held",
    "told",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.tell("paid");
      story.end("held");
    },
  ],
  [
    "rejected while the money is taken",
    "told",
    (story) => {
      story.call();
      story.take();
      story.tell("rejected");
    },
  ],
  [
    "effect none while the money is taken",
    "told",
    (story) => {
      story.call().isOver = true;
      story.take();
      story.fail("none");
    },
  ],
  [
    "effect none, and then the money is taken",
    "told",
    (story) => {
      story.fail("none");
      story.take();
    },
  ],
  ["effect done, when nothing was", "told", (story) => story.fail("done")],
  ["a flow that never settles", "settled", (story) => story.end("unknown", false)],
  [
    "a worker's error that names no flow",
    "told",
    (story) => story.truth.workerFailed(new CrossBorderError("it failed", { code: "flow_unreadable" })),
  ],
  ["a worker's error that is none of the library's", "told", (story) => story.truth.workerFailed(new RangeError())],
];

it.each(lies)("notices %s", (_, law, happens) => {
  const story = new Story();
  happens(story);
  expect(story.law).toBe(law);
});

const truths: readonly [string, (story: Story) => void][] = [
  [
    "a payment that is told of, again and again",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.tell("paid");
      story.tell("paid");
      story.end("paid");
    },
  ],
  [
    "one request that a proxy delivers twice",
    (story) => {
      story.call();
      story.take();
      const sending = story.truth.sent(key);
      story.pay("payment-1", sending);
      story.pay("payment-2", sending);
      story.end("paid");
    },
  ],
  [
    "a second payment after a resend, when the first was not listed yet",
    (story) => {
      story.call();
      story.take();
      story.pay("payment-1", story.truth.sent(key), 1000);
      story.call("resend");
      story.pay("payment-2");
    },
  ],
  [
    "money given back as an operator decided against the rules",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.call("release", true);
      story.truth.released(key);
      story.tell("rejected");
    },
  ],
  [
    "effect none, and another call that takes the money",
    (story) => {
      story.fail("none");
      story.call();
      story.take();
    },
  ],
  [
    "a quote that is another by now",
    (story) => {
      story.call().isOver = true;
      story.take();
      story.pay();
      story.fail("none", "quote_changed");
    },
  ],
  [
    "a worker whose journal fails",
    (story) => story.truth.workerFailed(new CrossBorderError("it failed", { code: "journal_failed" })),
  ],
  [
    "a flow that never settles because another's row was copied over its own",
    (story) => {
      story.call();
      story.take();
      story.truth.of(key).isMisplaced = true;
      story.end("unknown", false);
    },
  ],
  [
    "a payment that is held",
    (story) => {
      story.call();
      story.take();
      story.pay();
      story.tell("held");
      story.end("held");
    },
  ],
];

it.each(truths)("does not mind %s", (_, happens) => {
  const story = new Story();
  happens(story);
  expect(story.truth.violation).toBeUndefined();
});
