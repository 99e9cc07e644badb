import { counted } from "../../errors/counted.js";
import { decimalNumeral, exact } from "../../money.js";
import { paymentGateways } from "../../resources/payment-gateways.js";
import { generateSigningKeyPair } from "../../signing/keys.js";
import { signRequest } from "../../signing/sign-request.js";
import { clock } from "../../timing/clock.js";
import { knownFilters, roundedUp, sort } from "./list-questions.js";
import { NoAnswer } from "./no-answer.js";
import { type Asked, codeOf, type Made, type Payments } from "./payments.js";
import type { Probe } from "./probe.js";
import type { Seen } from "./prober.js";
import type { Question } from "./question.js";
import { describe, isRefused, type Row, rowsOf } from "./responses.js";

/** Asked first: how the others sign follows from it. */
const signedPath: Question = {
  id: "signature.path",
  asks: "Is the base path part of what is signed, and the query?",
  measuredBy: "payments that are signed with and without each",
  requests: 16,
  makes: { intents: 4, payments: 4 },
  async ask({ payments }) {
    const whole = await isTaken(payments, { signedPath: payments.path });
    const hasBase = payments.path !== "/payments";
    const bare = hasBase ? await isTaken(payments, { signedPath: "/payments" }) : whole;
    payments.isBaseSigned = whole || !bare;
    if (!whole && !bare) throw new NoAnswer("no payment was taken, signed with the base path or without it");
    const path = payments.isBaseSigned ? payments.path : "/payments";
    const query = { probe: "1" };
    const without = await isTaken(payments, { signedPath: path, query });
    const withIt = await isTaken(payments, { signedPath: `${path}?probe=1`, query });
    const value = {
      basePath: hasBase ? which(whole, bare, "signed", "left out") : "there is none",
      query: which(withIt, without, "signed", "left out"),
    };
    return { value, says: `base path: ${value.basePath}; query: ${value.query}`, trials: hasBase ? 4 : 3 };
  },
};

async function isTaken(payments: Payments, twist: Parameters<Payments["pay"]>[1]): Promise<boolean> {
  const { seen, payment } = await payments.pay(await payments.makeIntent(), twist);
  if (payment === undefined && !isRefused(seen)) throw new NoAnswer(`a payment responded with ${describe(seen)}`);
  return payment !== undefined;
}

function which(one: boolean, other: boolean, ifOne: string, ifOther: string): string {
  return one && other ? "either way" : one ? ifOne : other ? ifOther : "refused either way";
}

const wrongSignature: Question = {
  id: "signature.wrong",
  asks: "Is a wrong signature told from a wrong key, and from none?",
  measuredBy: "a payment signed over other bytes, one by another key, and one without a signature",
  requests: 9,
  makes: { intents: 1, payments: 3 },
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    const intent = await payments.makeIntent();
    const { privateKey: key } = await generateSigningKeyPair();
    const other = await payments.pay(intent, { sign: (path) => payments.sign(path, "{}") });
    const stranger = await payments.pay(intent, { sign: (path, body) => signRequest({ key, path, body }) });
    const none = await payments.pay(intent, { sign: async () => null });
    const word = ({ seen }: Asked) => `${describe(seen)}${codeOf(seen)}`;
    const value = { wrong: word(other), wrongKey: word(stranger), missing: word(none) };
    const isTold = value.wrong !== value.wrongKey;
    const taken = [other, stranger, none].some(({ payment }) => payment !== undefined);
    const says = taken
      ? "a payment was taken with a signature that is wrong"
      : isTold
        ? "they are told apart"
        : "they are not told apart";
    return {
      value,
      says: `${says}; wrong: ${value.wrong}; wrong key: ${value.wrongKey}; none: ${value.missing}`,
      trials: 1,
    };
  },
};

const listed: Question = {
  id: "payments.listed",
  asks: "How long after its response is a payment listed, by every machine?",
  measuredBy: "payments that are looked for until they are there in five reads, one after the other",
  requests: 40,
  makes: { intents: 1, payments: 1 },
  isPerTrial: true,
  isChanged: (before, now) =>
    Object(before).disappears !== Object(now).disappears ||
    Number(Object(now).slowestMs) > 3 * Number(Object(before).slowestMs) + 1000,
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
  const isListed = (rows: readonly Row[], { id }: Row) => rows.some((row) => row.id === id);
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
    if (!(await has(sort, field, "kept to"))) continue;
    return async (payment) => isListed(await probe.list({ _sort: `${field}.desc`, _size: "10" }), payment);
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
      if (inARow === 0 && wasAbsent) listedAfterMs = Math.ceil(sinceMs);
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
  isChanged: (before, now) =>
    ["aheadMs", "apartMs"].some((name) => Math.abs(Number(Object(before)[name]) - Number(Object(now)[name])) > 2000),
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    for (let index = 0; index < 4; index += 1) {
      // Two requests a payment would reach every second machine only, where they respond in turn.
      if (index % 2 === 1) await probe.list({ _size: "1" });
      await payments.makePayment();
    }
    const middles = payments.clocks.map(({ fromMs, toMs }) => (fromMs + toMs) / 2).sort((one, other) => one - other);
    const widest = Math.max(...payments.clocks.map(({ fromMs, toMs }) => toMs - fromMs));
    const aheadMs = Math.round(middles[Math.floor(middles.length / 2)] ?? 0);
    const spread = Math.round((middles.at(-1) ?? 0) - (middles[0] ?? 0));
    const apartMs = spread > widest ? spread : 0;
    const says = `${Math.abs(aheadMs)} ms ${aheadMs < 0 ? "behind" : "ahead of"} it; ${apartMs === 0 ? "one clock explains all of them" : `clocks ${apartMs} ms apart`}`;
    return {
      ...{ value: { aheadMs, apartMs }, says, trials: middles.length },
      ...(apartMs > 0 && { settings: { flow: { clockSkewMs: roundedUp(2 * apartMs) } } }),
    };
  },
};

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
    const first = await payments.pay(intent);
    if (first.payment === undefined) throw new NoAnswer(`the first payment was not made: ${describe(first.seen)}`);
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
    const first = await payments.pay(await payments.makeIntent());
    if (first.payment === undefined) throw new NoAnswer(`the first payment was not made: ${describe(first.seen)}`);
    const value = outcomeOf(await payments.payAgain(first), first);
    return { value, says: value, trials: 1 };
  },
};

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
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments, prober } = probe;
    const madeAtMs = clock.monotonicMs();
    const intents = [
      await payments.makeIntent(),
      await payments.makeIntent(),
      await payments.makeIntent(),
      await payments.makeIntent(),
    ];
    let payable = 0;
    for (const [index, intent] of intents.entries()) {
      const ageMs = (prober.patienceMs * (index + 1)) / intents.length;
      await prober.pause(Math.max(0, madeAtMs + ageMs - clock.monotonicMs()));
      const { seen, payment } = await payments.pay(intent);
      if (payment === undefined && !isRefused(seen)) throw new NoAnswer(`a payment responded with ${describe(seen)}`);
      if (payment === undefined) {
        return {
          value: { payableMs: payable, refusedMs: ageMs },
          says: `one was paid after ${payable / 1000} s, and one refused after ${ageMs / 1000} s${codeOf(seen)}`,
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

const createFields: Question = {
  id: "creates.fields",
  asks: "Which fields do an intent and a payment need?",
  measuredBy: "intents without each of their fields, and payments without those that the service has made itself",
  requests: 22,
  makes: { intents: 14, payments: 6 },
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    const [intentFields, paymentFields]: [string[], string[]] = [[], []];
    for (const field of Object.keys(payments.intent)) {
      const { seen, intent } = await payments.tryIntent((body) => without(body, field));
      if (intent === undefined && needed(seen)) intentFields.push(field);
    }
    for (const field of ["id", "extras", "memo", "senderName", "receiverName", "receivingGatewayFee"]) {
      const intent = await payments.makeIntent();
      if (!(field in intent)) continue;
      const { seen, payment } = await payments.pay(intent, { change: (body) => without(body, field) });
      if (payment === undefined && needed(seen)) paymentFields.push(field);
    }
    const value = { intent: intentFields, payment: paymentFields };
    const words = (fields: readonly string[]) => (fields.length === 0 ? "none of them" : fields.join(", "));
    return { value, says: `intent: ${words(intentFields)}; payment: ${words(paymentFields)}`, trials: 1 };
  },
};

function without(body: Row, field: string): Row {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
}

function needed(seen: Seen): boolean {
  if (isRefused(seen)) return true;
  throw new NoAnswer(`a create responded with ${describe(seen)}`);
}

const amountDigits: Question = {
  id: "amounts.digits",
  asks: "How many digits of an amount are kept?",
  measuredBy: "intents of the amount with more and more digits after the point; nothing is paid",
  requests: 9,
  makes: { intents: 9 },
  async ask({ payments }) {
    const [whole = "1"] = payments.intent.receiverAmount.split(".");
    let [kept, beyond, sender] = [-1, "not known", 0];
    for (let digits = 0; digits <= 8; digits += 1) {
      const receiverAmount = digits === 0 ? whole : `${whole}.${"123456789".slice(0, digits)}`;
      const { seen, intent } = await payments.tryIntent((body) => ({ ...body, receiverAmount }));
      if (intent === undefined) {
        beyond = needed(seen) ? "refused" : "";
        break;
      }
      sender = Math.max(sender, digitsOf(intent.senderAmount));
      if (!isSameAmount(intent.receiverAmount, receiverAmount)) {
        beyond = "rounded";
        break;
      }
      kept = digits;
    }
    if (kept < 0) throw new NoAnswer(`not even ${whole} is kept as it is`);
    const says = `${kept === 8 ? "at least 8" : kept} of a receiver amount (more: ${beyond}); a sender amount has up to ${sender}`;
    return { value: { receiver: kept, beyond, sender }, says, trials: kept + 2 };
  },
};

function digitsOf(amount: unknown): number {
  return String(amount).split(".")[1]?.length ?? 0;
}

function isSameAmount(one: unknown, other: string): boolean {
  return typeof one === "string" && decimalNumeral.test(one) && exact(one).eq(other);
}

const memo: Question = {
  id: "memo",
  asks: "Which characters, and how many, can a memo have?",
  measuredBy: "intents with memos; nothing is paid",
  requests: 16,
  makes: { intents: 15 },
  async ask({ payments }) {
    const comesBack = async (text: string) => {
      const { seen, intent } = await payments.tryIntent((body) => ({ ...body, memo: text }));
      if (intent === undefined) return needed(seen) ? "refused" : "";
      return intent.memo === text ? "kept" : "changed";
    };
    const characters: Record<string, string> = {};
    for (const [name, text] of Object.entries({ ascii: "probe", accents: "pröbe", emoji: "probe 🙂", line: "a\nb" })) {
      characters[name] = await comesBack(text);
    }
    let [kept, failing, beyond] = [0, longestMemo + 1, "not known"];
    let length = longestMemo;
    while (failing - kept > 1) {
      const outcome = await comesBack("m".repeat(length));
      if (outcome === "kept") kept = length;
      else [failing, beyond] = [length, outcome];
      length = Math.floor((kept + failing) / 2);
    }
    const most = kept === longestMemo ? `at least ${kept}` : `${kept} characters (more: ${beyond})`;
    const says = Object.entries(characters).map(([name, outcome]) => `${name}: ${outcome}`);
    return { value: { longest: kept, beyond, ...characters }, says: `${most}; ${says.join(", ")}`, trials: 1 };
  },
};

const longestMemo = 1024;

const extras: Question = {
  id: "extras",
  asks: "What comes back of a payment's extras?",
  measuredBy: "a payment with an object of texts, numbers and a list, as its response has it",
  requests: 3,
  makes: { intents: 1, payments: 1 },
  async ask(probe) {
    await probe.answer(signedPath);
    const { payments } = probe;
    const sent = { probe: { text: "é", count: 12, list: [1, null, true] } };
    const { seen, payment } = await payments.pay(await payments.makeIntent(), {
      change: (body) => ({ ...body, extras: sent }),
    });
    if (payment === undefined) return { value: needed(seen) ? "refused" : "", says: "they are refused", trials: 1 };
    const value = isDeepSame(payment.extras, sent)
      ? "kept"
      : Object.keys(Object(payment.extras)).length === 0
        ? "lost"
        : "changed";
    return { value, says: value, trials: 1 };
  },
};

function isDeepSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  const [ones, others] = [Object.entries(one), Object.entries(other)];
  return ones.length === others.length && others.every(([name, value]) => isDeepSame(Reflect.get(one, name), value));
}

const updates: Question = {
  id: "updates",
  asks: "What does an update do to fields that it leaves out?",
  measuredBy: "an update of one's own gateway with all fields but one, which is read and then put back",
  requests: 7,
  makes: { updates: 1 },
  async ask(probe) {
    const own = await ownGateway(probe);
    const path = `/payment-gateways/${encodeURIComponent(String(own.id))}`;
    const fields = Object.keys(paymentGateways.update.body?.fields ?? {}).filter((name) => name in own);
    const whole = Object.fromEntries(fields.map((name) => [name, own[name]]));
    const field = ["website", "email", "feeStructure"].find(
      (name) => typeof own[name] === "string" && own[name] !== "",
    );
    if (field === undefined)
      throw new NoAnswer("the gateway has no website, email or feeStructure that could be left out");
    const noted: Made = { kind: "update", id: String(own.id), state: "unknown" };
    const undo = async () => {
      const undone = await probe.prober.sendLast({ method: "PUT", path, body: JSON.stringify(whole) });
      if (undone?.status === 200) noted.state = "undone";
    };
    try {
      const request = { method: "PUT", path, body: JSON.stringify(without(whole, field)) } as const;
      const put = await probe.payments.change(noted, request);
      if (put.status !== 200) {
        return { value: needed(put) ? "refused" : "", says: `it is refused without ${field}${codeOf(put)}`, trials: 1 };
      }
      const after = Object((await probe.prober.send({ path })).json) as Row;
      const value = after[field] === own[field] ? "left alone" : "emptied";
      return { value, says: `${field} was ${value}`, trials: 1 };
    } finally {
      await undo();
    }
  },
};

/** @throws {NoAnswer} where it is not listed, or an update would write what a mask stands for. */
async function ownGateway(probe: Probe): Promise<Row> {
  const { senderGatewayId } = probe.payments.intent;
  const isOwn = (row: Row) => row.institutionId === senderGatewayId || row.id === senderGatewayId;
  const byFilter = await probe.prober.send({ path: "/payment-gateways", query: { institutionId: senderGatewayId } });
  const own = (rowsOf(byFilter) ?? (await probe.list({}, "/payment-gateways"))).find(isOwn);
  if (typeof own?.id !== "string") throw new NoAnswer(`no gateway ${senderGatewayId} is listed`);
  if (Object.values(own).some((value) => typeof value === "string" && /^[*•.x]{3,}$/i.test(value))) {
    throw new NoAnswer("the service masks a field of the gateway, which an update would overwrite");
  }
  return own;
}

export const writeQuestions: readonly Question[] = [
  ...[signedPath, wrongSignature, intentTwice, sameBytes, createFields, amountDigits, memo, extras],
  ...[updates, listed, createdAt, intentLifetime],
];
