import assert from "node:assert/strict";
import { assertFundsTaken, type ReleaseFundsByKey, type TakeFundsByKey } from "../flows/funds-functions.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { BrokenLawError } from "./broken-law-error.js";

export interface FundsFunctions {
  /** As given to `PaymentFlow`. */
  readonly takeFunds: TakeFundsByKey;
  /** As given to `PaymentFlow`. */
  readonly releaseFunds: ReleaseFundsByKey;
  /** An intent that its sender accepts, from an account with enough money to pay it seven times. */
  readonly intent: PaymentIntent;
  /**
   * The balance of the sender's account, in any form that `assert.deepEqual` compares. Without it only the ids are compared, and
   * money that is taken twice under one id goes unnoticed.
   */
  readonly ledger?: () => unknown;
}

/** What `verifyFundsFunctions` found when no law is broken. */
export interface FundsReport {
  readonly held: readonly string[];
  readonly notChecked: readonly string[];
}

/**
 * Checks that `takeFunds` and `releaseFunds` are idempotent by their key, as `PaymentFlow` needs: after a crash it calls them again with
 * the same key, and two processes may do so at once.
 *
 * It takes money and gives all of it back: run it against a test system. Each run uses new keys.
 *
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 */
export async function verifyFundsFunctions(functions: FundsFunctions): Promise<FundsReport> {
  const check = new FundsCheck(functions);
  const before = await check.balance();
  const first = `verify-funds-${globalThis.crypto.randomUUID()}`;
  const second = `verify-funds-${globalThis.crypto.randomUUID()}`;
  const third = `verify-funds-${globalThis.crypto.randomUUID()}`;
  const taken = await check.law("takeFunds returns an id", () => check.take(first));
  const afterOne = await check.balance();
  await check.law("takeFunds returns the same id for the same key, and takes no more", async () => {
    assert.equal(await check.take(first), taken);
    assert.deepEqual(await check.balance(), afterOne);
  });
  const other = await check.law("takeFunds returns one id to all who call it with one key at once", () =>
    check.takeAtOnce(second),
  );
  const last = await check.law("takeFunds returns another id for another key", async () => {
    const id = await check.take(third);
    assert.equal(new Set([taken, other, id]).size, 3, "ids of three keys");
    return id;
  });
  await check.law("concurrent calls take the money once: giving each key back once restores the balance", async () => {
    await check.release(first, taken);
    await check.release(second, other);
    await check.release(third, last);
    assert.deepEqual(await check.balance(), before);
  });
  await check.law("releaseFunds gives nothing more when it is called again", async () => {
    await check.release(first, taken);
    await Promise.all([1, 2, 3, 4].map(() => check.release(second, other)));
    assert.deepEqual(await check.balance(), before);
  });
  return check.report();
}

class FundsCheck {
  readonly #functions: FundsFunctions;
  readonly #held: string[] = [];

  constructor(functions: FundsFunctions) {
    this.#functions = functions;
  }

  async law<T>(law: string, keeps: () => Promise<T>): Promise<T> {
    try {
      const result = await keeps();
      this.#held.push(law);
      return result;
    } catch (error) {
      throw new BrokenLawError(law, error);
    }
  }

  async take(key: string): Promise<string> {
    const { intent, takeFunds } = this.#functions;
    const funds: unknown = await takeFunds({ key, intent });
    assertFundsTaken(funds, "if the money was taken, give it back");
    assert.ok(funds !== null, "takeFunds declined; use an intent that its sender accepts");
    return funds.senderGatewayTransactionId;
  }

  async takeAtOnce(key: string): Promise<string> {
    const ids = new Set(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => this.take(key))));
    const [id] = ids;
    assert.equal(ids.size, 1, `${ids.size} ids for one key`);
    assert.ok(id);
    return id;
  }

  async release(key: string, senderGatewayTransactionId: string): Promise<void> {
    const { intent, releaseFunds } = this.#functions;
    const refusal = {
      by: "operator",
      code: "verification",
      message: "verifyFundsFunctions gives back what it took",
    } as const;
    await releaseFunds({ key, intent, senderGatewayTransactionId, refusal });
  }

  async balance(): Promise<unknown> {
    return await this.#functions.ledger?.();
  }

  report(): FundsReport {
    const hasLedger = this.#functions.ledger !== undefined;
    return { held: this.#held, notChecked: hasLedger ? [] : ["the money itself: needs ledger"] };
  }
}
