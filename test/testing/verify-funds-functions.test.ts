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

interface Mistakes {
  readonly looksFirst?: boolean;
  readonly oneId?: boolean;
  readonly releasesAgain?: boolean;
  readonly takesAgain?: boolean;
  readonly declines?: boolean;
  readonly returnsText?: boolean;
  readonly saysNothing?: boolean;
  readonly forgetsWhen?: boolean;
  readonly tellsText?: boolean;
  readonly alwaysFirst?: boolean;
  readonly neverFirst?: boolean;
  readonly takesAfterRelease?: boolean;
  readonly returnsIdAfterRelease?: boolean;
  readonly reconsiders?: boolean;
  readonly neverDeclines?: boolean;
}

type FundsContext = Parameters<FundsFunctions["takeFunds"]>[0];

/** A gateway's ledger; each switch is a mistake. */
function gateway(mistakes: Mistakes = {}) {
  const takenAt = new Map<string, number>();
  const taken = new Map<string, string>();
  const released = new Set<string>();
  const declinedKeys = new Set<string>();
  let balance = 1_000;
  let limit = 100;
  const nextId = () => (mistakes.oneId ? "transaction" : `transaction-${taken.size + 1}`);
  const isFirst = (isNew: boolean) => !mistakes.neverFirst && (isNew || mistakes.alwaysFirst === true);
  const functions = {
    intent,
    takeFunds: async ({ key, intent: { senderAmount } }: FundsContext) => {
      if (mistakes.declines) return null;
      if (released.has(key) && mistakes.takesAfterRelease) {
        released.delete(key);
        taken.delete(key);
      }
      if (released.has(key) && !mistakes.returnsIdAfterRelease) return null;
      const isDeclined = declinedKeys.has(key) ? !mistakes.reconsiders : Number(senderAmount) > limit;
      if (isDeclined && !mistakes.neverDeclines) {
        declinedKeys.add(key);
        return null;
      }
      let present = taken.get(key);
      if (mistakes.looksFirst) await new Promise((resolve) => setImmediate(resolve));
      const isNew = present === undefined;
      if (mistakes.takesAgain || isNew) balance -= Number(senderAmount);
      present ??= nextId();
      taken.set(key, present);
      if (mistakes.returnsText) return present as never;
      if (mistakes.saysNothing) return { senderGatewayTransactionId: present } as never;
      const takenAtMs = takenAt.get(key) ?? Date.now();
      takenAt.set(key, mistakes.forgetsWhen ? takenAtMs + 1 : takenAtMs);
      const when = mistakes.tellsText ? new Date(takenAtMs).toISOString() : takenAtMs;
      return { senderGatewayTransactionId: present, replayed: !isFirst(isNew), takenAtMs: when as number };
    },
    releaseFunds: async ({ key, intent: { senderAmount } }: FundsContext) => {
      if (released.has(key) && !mistakes.releasesAgain) return;
      released.add(key);
      balance += Number(senderAmount);
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
  expect(report.held).toHaveLength(12);
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
  ["give money back twice", { releasesAgain: true }, /called again/],
  ["decline", { declines: true }, /returns an id/],
  ["return the id alone", { returnsText: true }, /returns an id/],
  ["do not say whether the money had been taken before", { saysNothing: true }, /returns an id/],
  ["say another time of the same taking at each call", { forgetsWhen: true }, /same takenAtMs/],
  ["say when by a text", { tellsText: true }, /returns an id/],
  ["always say that it had been taken before", { neverFirst: true }, /replayed: false$/],
  ["never say that it had been taken before", { alwaysFirst: true }, /replayed: true/],
  ["take money again after it was given back", { takesAfterRelease: true }, /after releaseFunds/],
  ["return the old id after it was given back", { returnsIdAfterRelease: true }, /after releaseFunds/],
  ["accept what they declined before", { reconsiders: true }, /for a key that was declined/],
  ["take what is to be declined", { neverDeclines: true }, /where the sender declines/],
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

it("finds functions that tell more than one of several calls at once that it is the first", async () => {
  const { takeFunds, ...functions } = gateway();
  const seen = new Set<string>();
  const found: unknown = await verifyFundsFunctions({
    ...functions,
    // It notes that a key was seen only when its first call is over.
    takeFunds: async (context) => {
      const isFirst = !seen.has(context.key);
      const funds = await takeFunds(context);
      seen.add(context.key);
      return funds && { ...funds, replayed: !isFirst };
    },
  }).catch((error: unknown) => error);
  expect(found).toMatchObject({ law: expect.stringMatching(/to one of all/) });
});
