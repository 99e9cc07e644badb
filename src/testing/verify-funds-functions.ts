import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ReleaseFundsByKey, TakeFundsByKey } from "../flows/flow-steps.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { BrokenLawError } from "./broken-law-error.js";

export interface FundsFunctions {
  /** As given to `PaymentFlow`. */
  readonly takeFunds: TakeFundsByKey;
  /** As given to `PaymentFlow`. */
  readonly releaseFunds: ReleaseFundsByKey;
  /** An intent that its sender accepts, of an account with money enough for it seven times. */
  readonly intent: PaymentIntent;
  /**
   * What the sender's account holds, in any form that `assert.deepEqual` compares. Without it only the ids are compared: money
   * that is taken twice under one id stays unseen.
   */
  readonly ledger?: () => unknown;
}

/** What `verifyFundsFunctions` found, where no law is broken. */
export interface FundsReport {
  readonly held: readonly string[];
  readonly notChecked: readonly string[];
}

/**
 * Tries whether `takeFunds` and `releaseFunds` are idempotent by their key, as `PaymentFlow` needs: after a crash it calls them again with
 * the same key, and two processes may do so at once.
 *
 * It takes money and gives all of it back: run it against a test system. Its keys are new in each run.
 *
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 */
export async function verifyFundsFunctions(functions: FundsFunctions): Promise<FundsReport> {
  const bench = new FundsBench(functions);
  const before = await bench.balance();
  const first = `verify-funds-${randomUUID()}`;
  const second = `verify-funds-${randomUUID()}`;
  const third = `verify-funds-${randomUUID()}`;
  const taken = await bench.law("takeFunds gives an id", () => bench.take(first));
  const afterOne = await bench.balance();
  await bench.law("takeFunds gives the same id for the same key, and takes no more", async () => {
    assert.equal(await bench.take(first), taken);
    assert.deepEqual(await bench.balance(), afterOne);
  });
  const other = await bench.law("takeFunds gives one id to all who ask for one key at once", () =>
    bench.takeAtOnce(second),
  );
  const last = await bench.law("takeFunds gives another id for another key", async () => {
    const id = await bench.take(third);
    assert.equal(new Set([taken, other, id]).size, 3, "ids of three keys");
    return id;
  });
  await bench.law(
    "what was taken at once was taken once: giving each key back once leaves what was there",
    async () => {
      await bench.release(first, taken);
      await bench.release(second, other);
      await bench.release(third, last);
      assert.deepEqual(await bench.balance(), before);
    },
  );
  await bench.law("releaseFunds gives nothing more when it is called again", async () => {
    await bench.release(first, taken);
    await Promise.all([1, 2, 3, 4].map(() => bench.release(second, other)));
    assert.deepEqual(await bench.balance(), before);
  });
  return bench.report();
}

class FundsBench {
  readonly #functions: FundsFunctions;
  readonly #held: string[] = [];

  constructor(functions: FundsFunctions) {
    this.#functions = functions;
  }

  async law<T>(law: string, check: () => Promise<T>): Promise<T> {
    try {
      const result = await check();
      this.#held.push(law);
      return result;
    } catch (error) {
      throw new BrokenLawError(law, error);
    }
  }

  async take(key: string): Promise<string> {
    const { intent, takeFunds } = this.#functions;
    const id = await takeFunds({ key, intent });
    assert.notEqual(id, null, "takeFunds declined; use an intent that its sender accepts");
    assert.ok(typeof id === "string" && id !== "", "takeFunds must give a text that is not empty");
    return id;
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
