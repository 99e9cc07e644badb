import { BrokenLawError, type FundsFunctions, verifyFundsFunctions } from "cross-border-payments/testing";
import { expect, it } from "vitest";

const intent: FundsFunctions["intent"] = {
  id: "intent-1",
  senderGatewayId: "sender",
  senderAmount: "10.00",
  senderCurrency: "EUR",
  senderAccount: "account-1",
  senderName: "Sam Sender",
  receiverGatewayId: "receiver",
  receiverAmount: "11.00",
  receiverCurrency: "USD",
  receiverAccount: "account-2",
  receiverName: "Rea Receiver",
  receivingGatewayFee: "0.10",
  memo: "",
  extras: null,
};

type Mistake =
  | "looksFirst"
  | "oneId"
  | "releasesAgain"
  | "takesAgain"
  | "declines"
  | "returnsText"
  | "saysNothing"
  | "forgetsWhen"
  | "tellsText"
  | "alwaysFirst"
  | "neverFirst"
  | "takesAfterRelease"
  | "returnsIdAfterRelease"
  | "reconsiders"
  | "neverDeclines"
  | "takesNothing"
  | "tellsMicroseconds"
  | "tellsSeconds"
  | "returnsWhetherItGave"
  | "writesWhatItRead"
  | "writesWhatItReadOnRelease"
  | "looksBeforeItReleases"
  | "declinesLate"
  | "knowsIntents"
  | "trimsKeys";
type Mistakes = Partial<Record<Mistake, boolean>> & { readonly cutsKeys?: number; readonly idOf?: () => string };

type FundsContext = Parameters<FundsFunctions["takeFunds"]>[0];

/** A gateway's ledger; each switch is a mistake. */
function gateway(mistakes: Mistakes = {}) {
  const takenAt = new Map<string, number>();
  const taken = new Map<string, string>();
  const released = new Set<string>();
  const declinedKeys = new Set<string>();
  let balance = 1_000;
  let limit = 100;
  const nextId = () => mistakes.idOf?.() ?? (mistakes.oneId ? "transaction" : `transaction-${taken.size + 1}`);
  /** As others come in between where a ledger reads in one statement, and writes in another one. */
  const otherStatement = () => new Promise((resolve) => setImmediate(resolve));
  const book = async (amount: number, isSlow: boolean | undefined) => {
    const read = balance;
    if (isSlow) await otherStatement();
    if (!mistakes.takesNothing) balance = (isSlow ? read : balance) + amount;
  };
  const keyOf = ({ key, intent: { id } }: FundsContext) => {
    const known = mistakes.knowsIntents ? `${key} ${id}` : key;
    return mistakes.trimsKeys ? known.trim() : known.slice(0, mistakes.cutsKeys);
  };
  const isFirst = (isNew: boolean) => !mistakes.neverFirst && (isNew || mistakes.alwaysFirst === true);
  const functions = {
    intent,
    takeFunds: async (context: FundsContext) => {
      const { senderAmount } = context.intent;
      const key = keyOf(context);
      if (mistakes.declines) return null;
      if (released.has(key) && mistakes.takesAfterRelease) {
        released.delete(key);
        taken.delete(key);
      }
      if (released.has(key) && !mistakes.returnsIdAfterRelease) return null;
      if (mistakes.declinesLate && !declinedKeys.has(key) && Number(senderAmount) > limit) {
        if (taken.has(key))
          return { senderGatewayTransactionId: taken.get(key) ?? "", replayed: true as const, takenAtMs: Date.now() };
        taken.set(key, nextId());
        await otherStatement();
      }
      const isDeclined = (declinedKeys.has(key) && !mistakes.reconsiders) || Number(senderAmount) > limit;
      if (isDeclined && !mistakes.neverDeclines) {
        declinedKeys.add(key);
        return null;
      }
      let present = taken.get(key);
      if (mistakes.looksFirst) await otherStatement();
      const isNew = present === undefined;
      present ??= nextId();
      taken.set(key, present);
      if (mistakes.takesAgain || isNew) await book(-Number(senderAmount), mistakes.writesWhatItRead);
      if (mistakes.returnsText) return present as never;
      if (mistakes.saysNothing) return { senderGatewayTransactionId: present } as never;
      const takenAtMs = takenAt.get(key) ?? Date.now();
      takenAt.set(key, mistakes.forgetsWhen ? takenAtMs + 1 : takenAtMs);
      const at = takenAtMs * (mistakes.tellsMicroseconds ? 1000 : 1) * (mistakes.tellsSeconds ? 0.001 : 1);
      const when = mistakes.tellsText ? new Date(takenAtMs).toISOString() : Math.round(at);
      if (isFirst(isNew)) return { senderGatewayTransactionId: present, replayed: false as const };
      return { senderGatewayTransactionId: present, replayed: true as const, takenAtMs: when as number };
    },
    releaseFunds: async (context: FundsContext): Promise<void> => {
      const { senderAmount } = context.intent;
      const key = keyOf(context);
      const nothingLeft = mistakes.returnsWhetherItGave ? (false as never) : undefined;
      if (released.has(key) && !mistakes.releasesAgain) return nothingLeft;
      if (mistakes.looksBeforeItReleases) await otherStatement();
      released.add(key);
      await book(Number(senderAmount), mistakes.writesWhatItReadOnRelease);
    },
    ledger: () => balance,
    declined: {
      intent: { ...intent, senderAmount: "200.00" },
      accept: () => {
        limit = 500;
      },
    },
  } satisfies FundsFunctions;
  return functions;
}

it("accepts functions that are idempotent by their key", async () => {
  const report = await verifyFundsFunctions(gateway());
  expect(report.held).toHaveLength(7);
  expect(report.notChecked).toEqual([expect.stringContaining("known for ever")]);
});

it("says what was not checked", async () => {
  const { ledger: _, declined: __, ...functions } = gateway({ takesAgain: true, reconsiders: true });
  expect((await verifyFundsFunctions(functions)).notChecked).toEqual([
    "the money itself: needs ledger",
    "that a decline is final: needs declined",
    expect.stringContaining("known for ever"),
  ]);
});

it.each([
  ["take money again under the same id", { takesAgain: true }, /takes no more/],
  ["look first and take afterwards", { looksFirst: true }, /at once/],
  ["return one id for all keys", { oneId: true }, /another id for another key/],
  ["give money back twice", { releasesAgain: true }, /back once/],
  ["decline", { declines: true }, /returns an id/],
  ["return the id alone", { returnsText: true }, /returns an id/],
  ["do not say whether the money had been taken before", { saysNothing: true }, /returns an id/],
  ["say another time of the same taking at each call", { forgetsWhen: true }, /same takenAtMs/],
  ["say when by a text", { tellsText: true }, /takes no more/],
  ["always say that it had been taken before", { neverFirst: true }, /returns an id/],
  ["never say that it had been taken before", { alwaysFirst: true }, /replayed: true/],
  ["take money again after it was given back", { takesAfterRelease: true }, /after releaseFunds/],
  ["return the old id after it was given back", { returnsIdAfterRelease: true }, /after releaseFunds/],
  ["accept what they declined before", { reconsiders: true }, /declines/],
  ["take what is to be declined", { neverDeclines: true }, /declines/],
  ["take nothing", { takesNothing: true }, /the ledger shows/],
  ["say when in microseconds", { tellsMicroseconds: true }, /takes no more/],
  ["say when in seconds", { tellsSeconds: true }, /same takenAtMs/],
  ["return false where there was nothing left to give back", { returnsWhetherItGave: true }, /back once/],
  ["read the balance, and write it then", { writesWhatItRead: true }, /back once/],
  ["read the balance, and write it then, when they give back", { writesWhatItReadOnRelease: true }, /back once/],
  ["look first and give back afterwards", { looksBeforeItReleases: true }, /back once/],
  ["store the taking, and decline it afterwards", { declinesLate: true }, /declines/],
  ["take money again for another intent", { knowsIntents: true }, /takes no more/],
  ["cut keys", { cutsKeys: 255 }, /another id for another key/],
  ["trim keys", { trimsKeys: true }, /another id for another key/],
  ["take the time for an id", { idOf: () => String(Date.now()) }, /another id for another key/],
] as const)("finds functions that %s", async (_, mistakes, law) => {
  const found: unknown = await verifyFundsFunctions(gateway(mistakes)).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law) });
});

it("finds functions that take two keys for one which differ in case alone", async () => {
  const { takeFunds, releaseFunds, ...rest } = gateway();
  const lower = (context: FundsContext) => ({ ...context, key: context.key.toLowerCase() });
  const functions = {
    ...rest,
    takeFunds: (context: FundsContext) => takeFunds(lower(context)),
    releaseFunds: (context: FundsContext) => releaseFunds(lower(context)),
  };
  await expect(verifyFundsFunctions(functions)).rejects.toMatchObject({
    law: "takeFunds returns another id for another key",
  });
});

it("accepts functions that refuse long keys, and calls that others get in the way of", async () => {
  const { takeFunds, releaseFunds, ...rest } = gateway();
  const busy = new Set<string>();
  const alone = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    if (key.length > 255) throw new Error("value too long");
    if (busy.size > 0 && !busy.has(key)) throw new Error("could not serialize access");
    busy.add(key);
    await new Promise((resolve) => setImmediate(resolve));
    return work().finally(() => busy.delete(key));
  };
  const { held } = await verifyFundsFunctions({
    ...rest,
    takeFunds: (context: FundsContext) => alone(context.key, () => takeFunds(context)),
    releaseFunds: (context: FundsContext) => alone(context.key, () => releaseFunds(context)),
  });
  expect(held).toHaveLength(7);
});

it("finds a ledger that shows nothing of what is taken", async () => {
  const account = { balance: 1_000 };
  const functions = { ...gateway(), ledger: () => account };
  await expect(verifyFundsFunctions(functions)).rejects.toMatchObject({
    law: expect.stringMatching(/ledger shows/),
  });
});

it("finds functions that tell more than one of several calls at once that it is the first", async () => {
  const { takeFunds, ...functions } = gateway();
  const seen = new Set<string>();
  const startedAtMs = Date.now();
  const found: unknown = await verifyFundsFunctions({
    ...functions,
    // It notes that a key was seen only when its first call is over.
    takeFunds: async (context) => {
      const isFirst = !seen.has(context.key);
      const funds = await takeFunds(context);
      seen.add(context.key);
      if (funds === null) return null;
      const { senderGatewayTransactionId } = funds;
      if (isFirst) return { senderGatewayTransactionId, replayed: false };
      return { senderGatewayTransactionId, replayed: true, takenAtMs: startedAtMs };
    },
  }).catch((error: unknown) => error);
  expect(found).toMatchObject({ law: expect.stringMatching(/to one of them/) });
});
