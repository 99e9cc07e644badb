import assert from "node:assert/strict";
import { clock } from "../core/clock.js";
import { type CheckTable, isPlainObject } from "../core/parse.js";
import { type FlowFunds, type ReleaseFundsByKey, readFlowFunds, type TakeFundsByKey } from "../flows/funds.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { aFunction, assertGiven, checkLaws, type Laws, notChecked, times } from "./laws.js";

export interface FundsFunctions {
  /** As given to `PaymentFlow`. */
  readonly takeFunds: TakeFundsByKey;
  /** As given to `PaymentFlow`. */
  readonly releaseFunds: ReleaseFundsByKey;
  /** An intent that its sender accepts, from an account with enough money to pay it seven times. */
  readonly intent: PaymentIntent;
  /** An intent that `takeFunds` declines, and a function that makes its sender acceptable, such as a deposit or a higher limit. */
  readonly declined?: { readonly intent: PaymentIntent; readonly accept: () => Promise<void> | void };
  /**
   * The balance of the sender's account, in any form that `assert.deepEqual` compares, and without what is reserved where `takeFunds`
   * reserves. Without it only the ids are compared, and money that is taken twice under one id goes unnoticed.
   */
  readonly ledger?: () => unknown;
}

/** By how much a flow lets the bank's clock be off, by default. */
const skewMs = 3_600_000;

const anObject = { accepts: isPlainObject, expected: "an object" };
const fundsFunctions: CheckTable<FundsFunctions> = {
  takeFunds: { ...aFunction, isRequired: true },
  releaseFunds: { ...aFunction, isRequired: true },
  intent: { ...anObject, isRequired: true },
  declined: anObject,
  ledger: aFunction,
};

/** What `verifyFundsFunctions` found when no law is broken. */
export interface FundsReport {
  readonly held: readonly string[];
  readonly notChecked: readonly string[];
}

/**
 * Checks that `takeFunds` and `releaseFunds` are idempotent by key and that their first answer is final. `PaymentFlow` calls them
 * again with the same key after a crash, and two processes may do so at once.
 *
 * It takes money and returns all of it, so run it against a test system. Each run uses new keys.
 *
 * @throws {BrokenLawError} The first law that is broken. `cause` shows what was expected.
 */
export async function verifyFundsFunctions(functions: FundsFunctions): Promise<FundsReport> {
  assertGiven("verifyFundsFunctions", fundsFunctions, functions, "its argument");
  const { declined, ledger } = functions;
  const bank = bankOf(functions, await ledger?.());
  const laws = { ...fundsLaws, ...(declined && declineLaw(declined)) };
  const held = await checkLaws(laws, () => bank);
  const needs = { ledger: "the money itself", declined: "that a decline is final" };
  const rest = "that keys are known for ever, and to other processes: needs thousands of them, and restarts";
  return { held, notChecked: notChecked(functions, needs, rest) };
}

/** The laws of both functions. Each continues with the money that the laws before it took. */
const fundsLaws: Laws<Bank> = {
  async "takeFunds returns an id with replayed: false, and the ledger shows that it took money"(bank) {
    const { replayed } = await bank.take(bank.first);
    assert.equal(replayed, false, "replayed in the first call with a key");
    if (!bank.hasLedger) return;
    assert.notDeepEqual(await bank.balance(), bank.before, "the ledger is the same as before takeFunds was called");
  },
  async "takeFunds, called again, returns the same id, replayed: true, and the same takenAtMs, and takes no more"(
    bank,
  ) {
    const balance = await bank.balance();
    const id = bank.ids.get(bank.first);
    const [again, later] = [await bank.take(bank.first), await bank.take(bank.first)];
    assert.ok(again.replayed);
    assert.ok(again.takenAtMs > bank.startedAtMs - skewMs, "takenAtMs is long before takeFunds was called");
    assert.deepEqual(later, again);
    // A flow that lost its journal asks with another intent, which may be refused.
    const intent = { ...bank.intent, id: "another" };
    const other = await bank.takeOrDecline(bank.first, intent).catch(() => again);
    for (const funds of [again, other]) assert.equal(funds?.senderGatewayTransactionId, id);
    assert.deepEqual(await bank.balance(), balance);
  },
  async "takeFunds returns one id to all who call it with one key at once, and replayed: false to one of them"(bank) {
    const all = await Promise.all(times(8, () => bank.take(bank.second)));
    const ids = new Set(all.map(({ senderGatewayTransactionId }) => senderGatewayTransactionId));
    assert.equal(ids.size, 1, `${ids.size} ids for one key`);
    const firsts = all.filter(({ replayed }) => !replayed).length;
    assert.equal(firsts, 1, `${firsts} of 8 calls were the first one`);
  },
  async "takeFunds returns another id for another key"(bank) {
    // Alike to a column that ignores case, trims, or is too short for them.
    const { second, ids } = bank;
    const keys = [second.toUpperCase(), `${second} `, ...["a", "b"].map((end) => `${second}${"-".repeat(500)}${end}`)];
    // A ledger may refuse an odd key or a concurrent call, so each is called again alone.
    await Promise.allSettled(keys.map((key) => bank.take(key)));
    for (const key of keys) await bank.take(key).catch(() => {});
    const differ = "that differ in case, by a space at their end, or in their last character alone";
    assert.equal(new Set(ids.values()).size, ids.size, `ids of ${ids.size} keys, ${differ}`);
  },
  async "releaseFunds gives the money back once, however often it is called: the balance is restored"(bank) {
    const keys = [...bank.ids.keys()];
    await Promise.allSettled([...keys, ...keys].map((key) => bank.release(key)));
    // Others may have been in the way of a call.
    for (const key of keys) await bank.release(key);
    await bank.assertRestored();
  },
  async "takeFunds takes nothing and returns null after releaseFunds"(bank) {
    await bank.assertDeclined(bank.first);
    await bank.assertRestored();
  },
};

const declineLaw = ({ intent, accept }: NonNullable<FundsFunctions["declined"]>): Laws<Bank> => ({
  async "takeFunds returns null if the sender declines, and again for that key if the sender would accept now"(bank) {
    const key = newKey();
    await bank.assertDeclined(key, intent);
    await accept();
    const balance = await bank.balance();
    await bank.assertDeclined(key, intent);
    assert.deepEqual(await bank.balance(), balance);
    const accepted = newKey();
    await bank.take(accepted, intent);
    await bank.release(accepted, intent);
  },
});

const newKey = () => `verify-funds-${globalThis.crypto.randomUUID()}`;

type Bank = ReturnType<typeof bankOf>;

function bankOf({ takeFunds, releaseFunds, intent: accepted, ledger }: FundsFunctions, before: unknown) {
  /** Of what was taken, by key. */
  const ids = new Map<string, string>();
  const balance = async (): Promise<unknown> => await ledger?.();
  const takeOrDecline = async (key: string, intent = accepted): Promise<FlowFunds | null> =>
    readFlowFunds(await takeFunds({ key, intent }), clock.wallMs() + skewMs);
  return {
    before,
    ids,
    balance,
    takeOrDecline,
    intent: accepted,
    hasLedger: ledger !== undefined,
    startedAtMs: clock.wallMs(),
    first: newKey(),
    second: newKey(),
    async take(key: string, intent = accepted): Promise<FlowFunds> {
      const funds = await takeOrDecline(key, intent);
      assert.ok(funds !== null, "takeFunds declined; use an intent that its sender accepts");
      ids.set(key, funds.senderGatewayTransactionId);
      return funds;
    },
    async assertDeclined(key: string, intent = accepted): Promise<void> {
      const all = await Promise.all(times(8, () => takeOrDecline(key, intent)));
      assert.deepEqual(new Set(all), new Set([null]));
    },
    async release(key: string, intent = accepted): Promise<void> {
      const message = "verifyFundsFunctions gives back what it took";
      const refusal = { by: "operator", code: "verification", message } as const;
      const senderGatewayTransactionId = ids.get(key) ?? "";
      const returned: unknown = await releaseFunds({ key, intent, senderGatewayTransactionId, refusal });
      assert.notEqual(returned, false, "releaseFunds returned false, which says that the money was not given back");
    },
    assertRestored: async () => assert.deepEqual(await balance(), before),
  };
}
