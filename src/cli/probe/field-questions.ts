import { equalAmounts } from "../../money.js";
import { paymentGateways } from "../../resources/payment-gateways.js";
import { NoAnswer } from "./no-answer.js";
import { codeOf, type Made } from "./payments.js";
import type { Probe } from "./probe.js";
import type { Seen } from "./prober.js";
import type { Question } from "./question.js";
import { describe, isCached, isRefused, type Row, rowsOf } from "./responses.js";
import { signedPath } from "./signature-questions.js";

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
      if (!equalAmounts(intent.receiverAmount, receiverAmount)) {
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
  requests: 8,
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
      let value = "left alone";
      // Again, since a replica may lag.
      for (let reads = 0; reads < 3 && value === "left alone"; reads += 1) {
        if (reads > 0) await probe.prober.pause(Math.min(1000, probe.prober.patienceMs));
        const read = await probe.prober.send({ path });
        const after = Object(read.json) as Row;
        if (after.id !== own.id || isCached(read)) throw new NoAnswer(`it can't be read afterwards: ${describe(read)}`);
        if (after[field] !== own[field]) value = "emptied";
      }
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

/** What the fields of records may hold. */
export const fieldQuestions: readonly Question[] = [createFields, amountDigits, memo, extras, updates];
