import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { betweenClocks, clocksOf, hasMoved, partOf, rangeOf } from "./clocks.js";
import { knownFilters, roundedUp, sort } from "./list-questions.js";
import { NoAnswer } from "./no-answer.js";
import { type Asked, codeOf, type Payments } from "./payments.js";
import type { Probe } from "./probe.js";
import type { Question } from "./question.js";
import { describe, isRefused, type Row } from "./responses.js";
import { signedPath } from "./signature-questions.js";

const listed: Question = {
  id: "payments.listed",
  asks: "How long after its response is a payment listed, by every machine?",
  measuredBy: "payments that are looked for until they are there in five reads, one after the other",
  requests: 40,
  makes: { intents: 1, payments: 1 },
  isPerTrial: true,
  isChanged: (before, now) =>
    Object(before).disappears !== Object(now).disappears ||
    Number(Object(now).slowestMs) > 3 * Number(Object(before).slowestMs) + 2000,
  async ask(probe) {
    await probe.answer(signedPath);
    const look = await lookFor(probe);
    let [slowestMs, disappears] = [0, false];
    for (let trial = 0; trial < probe.trials; trial += 1) {
      const seen = await untilListed(probe, look);
      slowestMs = Math.max(slowestMs, seen.listedAfterMs);
      disappears ||= seen.disappears;
    }
    const again = disappears ? "; it was there, and then not there, as where a replica lags" : "";
    return {
      value: { slowestMs, disappears },
      says: `${slowestMs === 0 ? "at once" : `within ${slowestMs} ms`}, of ${counted(probe.trials, "payment")}${again}`,
      trials: probe.trials,
      settings: { flow: { readBackDelayMs: Math.max(10_000, roundedUp(3 * slowestMs)) } },
      toAsk: `by when is a payment listed at every machine, under load and in trouble too? ${slowestMs} ms were seen; \`listedWithinMs\` takes a promise`,
    };
  },
};

type Look = (payment: Row) => Promise<boolean>;

/** By its transaction id, or among the newest. @throws {NoAnswer} */
async function lookFor(probe: Probe): Promise<Look> {
  const has = async (question: Question, name: string, word: string) => {
    const { value } = await probe.answer(question).catch(() => ({ value: null }));
    return Object(value)[name] === word;
  };
  if (await has(knownFilters, "senderGatewayTransactionId", "filters")) {
    return async (payment) => {
      const { senderGatewayTransactionId } = payment;
      return isListed(await probe.list({ senderGatewayTransactionId: String(senderGatewayTransactionId) }), payment);
    };
  }
  for (const field of ["pagingToken", "createdAt"]) {
    if (await has(sort, field, "kept to")) return amongNewest(probe, field);
  }
  let last: string | undefined;
  return async (payment) => {
    for (let page = 0; page < 20; page += 1) {
      const rows = await probe.list(last === undefined ? {} : { _after: last });
      if (isListed(rows, payment)) return true;
      const token = rows.at(-1)?.pagingToken;
      if (typeof token !== "string" || token === last) return false;
      last = token;
    }
    throw new NoAnswer("the newest payments can't be reached in 20 pages");
  };
}

/** On a page that has none of what was seen before the payment, others may have pushed it off. */
async function amongNewest(probe: Probe, field: string): Promise<Look> {
  const newest = () => probe.list({ _sort: `${field}.desc`, _size: "10" });
  const seen = new Set((await newest()).map(({ id }) => id));
  let [before, last]: [ReadonlySet<unknown>, Row | undefined] = [seen, undefined];
  return async (payment) => {
    if (payment !== last) [before, last] = [new Set(seen), payment];
    const rows = await newest();
    for (const { id } of rows) seen.add(id);
    const isThere = isListed(rows, payment);
    if (isThere || before.size === 0 || rows.some(({ id }) => before.has(id))) return isThere;
    throw new NoAnswer("the newest page has only what others have paid since");
  };
}

function isListed(rows: readonly Row[], { id }: Row): boolean {
  return rows.some((row) => row.id === id);
}

/** So many reads in a row have to show it. */
const readsInARow = 5;

async function untilListed(probe: Probe, look: Look) {
  const { payment, receivedAtMs } = await probe.payments.makePayment();
  let [inARow, listedAfterMs, disappears, wasSeen, wasAbsent] = [0, 0, false, false, false];
  let pauseMs = 0;
  while (inARow < readsInARow) {
    const isThere = await look(payment);
    const sinceMs = clock.monotonicMs() - receivedAtMs;
    if (isThere) {
      // It may have come to be listed within a first read that takes long.
      if (inARow === 0 && (wasAbsent || sinceMs > 1000)) listedAfterMs = Math.ceil(sinceMs);
      inARow += 1;
    } else {
      disappears ||= wasSeen;
      [inARow, wasAbsent] = [0, true];
      pauseMs = Math.min(5000, pauseMs * 1.5 + 50);
    }
    wasSeen ||= isThere;
    if (sinceMs > probe.prober.patienceMs) throw new NoAnswer(`a payment is not listed for good within --patience`);
    if (!isThere) await probe.prober.pause(pauseMs);
  }
  return { listedAfterMs, disappears };
}

const createdAt: Question = {
  id: "payments.createdAt",
  asks: "How far is createdAt from this machine's clock, and how many clocks make it?",
  measuredBy: "createdAt of new payments beside the times of their requests",
  requests: 12,
  makes: { intents: 4, payments: 4 },
  isChanged: hasMoved,
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    for (let index = 0; index < 4; index += 1) {
      // Two requests a payment would reach every second machine only, where they respond in turn.
      if (index % 2 === 1) await probe.list({ _size: "1" });
      await payments.makePayment();
    }
    const { clocks } = payments;
    if (clocks.length === 0) throw new NoAnswer("responses to payments have no createdAt that says its zone");
    // Whole seconds can be cut off, or rounded.
    const isWhole = clocks.every(({ createdMs }) => createdMs % 1000 === 0);
    const [beforeMs, afterMs] = isWhole ? [500, 1000] : [drawnOutMs, drawnOutMs];
    const { aheadMs, apartMs } = betweenClocks(
      clocksOf(clocks.map(({ seen, createdMs }) => rangeOf(seen, createdMs - beforeMs, createdMs + afterMs))),
    );
    const says = `${Math.abs(aheadMs)} ms ${aheadMs < 0 ? "behind" : "ahead of"} it; ${apartMs === 0 ? "one clock explains all of them" : `clocks ${apartMs} ms apart`}`;
    return {
      ...{ value: { aheadMs, apartMs }, says, trials: clocks.length },
      ...(apartMs > 0 && { settings: { flow: { clockSkewMs: roundedUp(2 * apartMs) } } }),
    };
  },
};

/** Clocks are set a little, again and again. */
const drawnOutMs = 50;

const intentTwice: Question = {
  id: "intents.twice",
  asks: "Can an intent be paid twice?",
  measuredBy: "two payments of one intent, with transaction ids of their own",
  requests: 4,
  makes: { intents: 1, payments: 2 },
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    const intent = await payments.makeIntent();
    const first = await firstOf(payments, intent);
    const again = await payments.pay(intent);
    const value = outcomeOf(again, first);
    return {
      value,
      says: value === "refused" ? `the second payment was refused${codeOf(again.seen)}` : `the second one: ${value}`,
      trials: 1,
      ...(value === "refused" && {
        toAsk:
          "is an intent paid once at most, at every machine and at once? One refusal was seen; `singleUseIntents` takes a promise",
      }),
    };
  },
};

const sameBytes: Question = {
  id: "payments.again",
  asks: "What do the same signed bytes come to when they are sent twice?",
  measuredBy: "one payment request, sent twice",
  requests: 4,
  makes: { intents: 1, payments: 2 },
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    const first = await firstOf(payments, await payments.makeIntent());
    const value = outcomeOf(await payments.payAgain(first), first);
    return { value, says: value, trials: 1 };
  },
};

async function firstOf(payments: Payments, intent: Parameters<Payments["pay"]>[0]): Promise<Asked> {
  const first = await payments.pay(intent);
  if (first.payment === undefined) throw new NoAnswer(`the first payment was not made: ${describe(first.seen)}`);
  return first;
}

function outcomeOf({ seen, payment }: Asked, first: Asked): string {
  if (payment !== undefined) return payment.id === first.payment?.id ? "the same payment" : "a further payment";
  if (isRefused(seen)) return "refused";
  throw new NoAnswer(`the second payment responded with ${describe(seen)}`);
}

const intentLifetime: Question = {
  id: "intents.lifetime",
  asks: "How long can an intent be paid?",
  measuredBy: "intents that are made together, and paid after parts of --patience",
  requests: 9,
  makes: { intents: 4, payments: 4 },
  isChanged: (before, now) =>
    partOf(before, "payableMs") !== partOf(now, "payableMs") ||
    (Object(before).refusedMs === null) !== (Object(now).refusedMs === null),
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments, prober } = probe;
    const intents: { intent: Row; askedAtMs: number; madeAtMs: number }[] = [];
    while (intents.length < 4) {
      const askedAtMs = clock.monotonicMs();
      intents.push({ intent: await payments.makeIntent(), askedAtMs, madeAtMs: clock.monotonicMs() });
    }
    let payable = 0;
    for (const [index, { intent, askedAtMs, madeAtMs }] of intents.entries()) {
      const ageMs = (prober.patienceMs * (index + 1)) / intents.length;
      await prober.pause(Math.max(0, madeAtMs + ageMs - clock.monotonicMs()));
      const { seen, payment } = await payments.pay(intent);
      if (payment === undefined && !isRefused(seen)) throw new NoAnswer(`a payment responded with ${describe(seen)}`);
      if (payment === undefined) {
        const refusedMs = Math.ceil(clock.monotonicMs() - askedAtMs);
        const paid = payable === 0 ? "none was paid" : `one was paid after ${payable / 1000} s`;
        return {
          value: { payableMs: payable, refusedMs },
          says: `${paid}, and one refused after ${refusedMs / 1000} s${codeOf(seen)}`,
          trials: index + 1,
          ...(payable > 0 && { settings: { flow: { quoteTtlMs: payable } } }),
        };
      }
      payable = ageMs;
    }
    return {
      value: { payableMs: payable, refusedMs: null },
      says: `at least ${payable / 1000} s`,
      trials: intents.length,
    };
  },
};

/** What payments come to, and when: those that wait are asked last. */
export const paymentQuestions: readonly Question[] = [intentTwice, sameBytes, listed, createdAt, intentLifetime];
