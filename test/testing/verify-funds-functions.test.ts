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

/** A gateway's ledger; each switch is a mistake. */
function gateway(
  mistakes: {
    looksFirst?: boolean;
    oneId?: boolean;
    releasesAgain?: boolean;
    takesAgain?: boolean;
    declines?: boolean;
    returnsText?: boolean;
  } = {},
) {
  const taken = new Map<string, string>();
  const released = new Set<string>();
  let balance = 1_000;
  const functions: FundsFunctions = {
    intent,
    takeFunds: async ({ key }) => {
      if (mistakes.declines) return null;
      const present = taken.get(key);
      if (mistakes.looksFirst) await new Promise((resolve) => setImmediate(resolve));
      if (mistakes.takesAgain || present === undefined) balance -= 10;
      const senderGatewayTransactionId = present ?? (mistakes.oneId ? "transaction" : `transaction-${taken.size + 1}`);
      taken.set(key, senderGatewayTransactionId);
      if (mistakes.returnsText) return senderGatewayTransactionId as never;
      return { senderGatewayTransactionId };
    },
    releaseFunds: async ({ key }) => {
      if (released.has(key) && !mistakes.releasesAgain) return;
      released.add(key);
      balance += 10;
    },
    ledger: () => balance,
  };
  return functions;
}

it("accepts functions that are idempotent by their key", async () => {
  const report = await verifyFundsFunctions(gateway());
  expect(report.held).toHaveLength(6);
  expect(report.notChecked).toEqual([]);
});

it("says that the money itself was not checked without a ledger", async () => {
  const { ledger: _, ...functions } = gateway({ takesAgain: true });
  expect((await verifyFundsFunctions(functions)).notChecked).toEqual(["the money itself: needs ledger"]);
});

it.each([
  ["take money again under the same id", { takesAgain: true }, /takes no more/],
  ["look first and take afterwards", { looksFirst: true }, /at once/],
  ["return one id for all keys", { oneId: true }, /another id for another key/],
  ["give money back twice", { releasesAgain: true }, /called again/],
  ["decline", { declines: true }, /returns an id/],
  ["return the id alone", { returnsText: true }, /returns an id/],
] as const)("finds functions that %s", async (_, mistakes, law) => {
  const found: unknown = await verifyFundsFunctions(gateway(mistakes)).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law) });
});
