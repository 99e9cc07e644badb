import { generateSigningKeyPair } from "../../signing/keys.js";
import { signRequest } from "../../signing/signer.js";
import { NoAnswer } from "./no-answer.js";
import { type Asked, codeOf, type Payments } from "./payments.js";
import type { Question } from "./question.js";
import { describe, isRefused, settled } from "./responses.js";

/** Asked first: how the others sign follows from it. */
export const signedPath: Question = {
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
      basePath: hasBase ? which(whole, bare) : "there is none",
      query: which(withIt, without),
    };
    return { value, says: `base path: ${value.basePath}; query: ${value.query}`, trials: hasBase ? 4 : 3 };
  },
};

async function isTaken(payments: Payments, twist: Parameters<Payments["pay"]>[1]): Promise<boolean> {
  const { seen, payment } = await payments.pay(await payments.makeIntent(), twist);
  if (payment === undefined && !isRefused(seen)) throw new NoAnswer(`a payment responded with ${describe(seen)}`);
  return payment !== undefined;
}

function which(isSigned: boolean, isLeftOut: boolean): string {
  if (isSigned && isLeftOut) return "either way";
  return isSigned ? "signed" : isLeftOut ? "left out" : "refused either way";
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
    const word = ({ seen }: Asked) => `${describe(settled(seen))}${codeOf(seen)}`;
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

export const signatureQuestions: readonly Question[] = [signedPath, wrongSignature];
