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

type FundsContext = Parameters<FundsFunctions["takeFunds"]>[0];
interface Taken {
  readonly senderGatewayTransactionId: string;
  readonly takenAtMs: number;
}
type Mistake =
  | "looksFirst"
  | "releasesAgain"
  | "takesAgain"
  | "declines"
  | "takesAfterRelease"
  | "returnsIdAfterRelease"
  | "reconsiders"
  | "neverDeclines"
  | "takesNothing"
  | "returnsWhetherItGave"
  | "writesWhatItRead"
  | "writesWhatItReadOnRelease"
  | "looksBeforeItReleases"
  | "declinesLate";
interface Mistakes extends Partial<Record<Mistake, boolean>> {
  readonly keyOf?: (context: FundsContext) => string;
  readonly idOf?: () => string;
  readonly replyOf?: (taken: Taken, isFirst: boolean) => unknown;
}

const rightReply = ({ senderGatewayTransactionId, takenAtMs }: Taken, isFirst: boolean) =>
  isFirst
    ? { senderGatewayTransactionId, replayed: false as const }
    : { senderGatewayTransactionId, replayed: true as const, takenAtMs };

/** A gateway's ledger; each switch is a mistake. */
function gateway(mistakes: Mistakes = {}) {
  const taken = new Map<string, Taken>();
  const released = new Set<string>();
  const declinedKeys = new Set<string>();
  let balance = 1_000;
  let limit = 100;
  const newTaken = (): Taken => ({
    senderGatewayTransactionId: mistakes.idOf?.() ?? `transaction-${taken.size + 1}`,
    takenAtMs: Date.now(),
  });
  /** As others come in between where a ledger reads in one statement, and writes in another one. */
  const otherStatement = () => new Promise((resolve) => setImmediate(resolve));
  const book = async (amount: number, isSlow: boolean | undefined) => {
    const read = balance;
    if (isSlow) await otherStatement();
    if (!mistakes.takesNothing) balance = (isSlow ? read : balance) + amount;
  };
  const keyOf = mistakes.keyOf ?? (({ key }: FundsContext) => key);
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
        const known = taken.get(key);
        if (known !== undefined) return rightReply(known, false);
        taken.set(key, newTaken());
        await otherStatement();
      }
      const isDeclined = (declinedKeys.has(key) && !mistakes.reconsiders) || Number(senderAmount) > limit;
      if (isDeclined && !mistakes.neverDeclines) {
        declinedKeys.add(key);
        return null;
      }
      const known = taken.get(key);
      if (mistakes.looksFirst) await otherStatement();
      const present = known ?? newTaken();
      taken.set(key, present);
      if (mistakes.takesAgain || !known) await book(-Number(senderAmount), mistakes.writesWhatItRead);
      return (mistakes.replyOf ?? rightReply)(present, !known) as ReturnType<typeof rightReply>;
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

let ticks = 0;
const later = (change: (takenAtMs: number) => unknown): Mistakes => ({
  replyOf: (taken, isFirst) => ({ ...rightReply(taken, isFirst), takenAtMs: change(taken.takenAtMs) }),
});

it.each<[string, Mistakes, RegExp]>([
  ["take money again under the same id", { takesAgain: true }, /takes no more/],
  ["look first and take afterwards", { looksFirst: true }, /at once/],
  ["return one id for all keys", { idOf: () => "transaction" }, /another id for another key/],
  ["give money back twice", { releasesAgain: true }, /back once/],
  ["decline", { declines: true }, /returns an id/],
  [
    "do not say whether the money had been taken before",
    { replyOf: ({ senderGatewayTransactionId }) => ({ senderGatewayTransactionId }) },
    /returns an id/,
  ],
  ["always say that it had been taken before", { replyOf: (taken) => rightReply(taken, false) }, /returns an id/],
  ["never say that it had been taken before", { replyOf: (taken) => rightReply(taken, true) }, /replayed: true/],
  ["say another time of the same taking at each call", later((ms) => ms - ticks++), /same takenAtMs/],
  ["say when by a text", later((ms) => new Date(ms).toISOString()), /takes no more/],
  ["say when in microseconds", later((ms) => ms * 1000), /takes no more/],
  ["say when in seconds", later((ms) => Math.round(ms / 1000)), /same takenAtMs/],
  ["take money again after it was given back", { takesAfterRelease: true }, /after releaseFunds/],
  ["return the old id after it was given back", { returnsIdAfterRelease: true }, /after releaseFunds/],
  ["accept what they declined before", { reconsiders: true }, /declines/],
  ["take what is to be declined", { neverDeclines: true }, /declines/],
  ["take nothing", { takesNothing: true }, /the ledger shows/],
  ["return false where there was nothing left to give back", { returnsWhetherItGave: true }, /back once/],
  ["read the balance, and write it then", { writesWhatItRead: true }, /back once/],
  ["read the balance, and write it then, when they give back", { writesWhatItReadOnRelease: true }, /back once/],
  ["look first and give back afterwards", { looksBeforeItReleases: true }, /back once/],
  ["store the taking, and decline it afterwards", { declinesLate: true }, /declines/],
  ["take money again for another intent", { keyOf: ({ key, intent: { id } }) => key + id }, /takes no more/],
  ["cut keys", { keyOf: ({ key }) => key.slice(0, 255) }, /another id for another key/],
  ["trim keys", { keyOf: ({ key }) => key.trim() }, /another id for another key/],
  ["ignore the case of keys", { keyOf: ({ key }) => key.toLowerCase() }, /another id for another key/],
  ["take the time for an id", { idOf: () => String(Date.now()) }, /another id for another key/],
])("finds functions that %s", async (_, mistakes, law) => {
  const found: unknown = await verifyFundsFunctions(gateway(mistakes)).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law) });
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
