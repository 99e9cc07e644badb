import assert from "node:assert/strict";
import { clock } from "../core/clock.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isFunction, isPlainObject } from "../core/parse.js";
import { type FlowFunds, type ReleaseFundsByKey, readFlowFunds, type TakeFundsByKey } from "../flows/funds.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { Laws, times } from "./laws.js";

export interface FundsFunctions {
  /** As given to `PaymentFlow`. */
  readonly takeFunds: TakeFundsByKey;
  /** As given to `PaymentFlow`. */
  readonly releaseFunds: ReleaseFundsByKey;
  /** An intent that its sender accepts, from an account with enough money to pay it seven times. */
  readonly intent: PaymentIntent;
  /** An intent that `takeFunds` declines, and what makes its sender accept it from then on: a deposit, or a limit that is raised. */
  readonly declined?: { readonly intent: PaymentIntent; readonly accept: () => Promise<void> | void };
  /**
   * The balance of the sender's account, in any form that `assert.deepEqual` compares, and without what is reserved where `takeFunds`
   * reserves. Without it only the ids are compared, and money that is taken twice under one id goes unnoticed.
   */
  readonly ledger?: () => unknown;
}

/** By how much a flow lets the bank's clock be off, by default. */
const skewMs = 3_600_000;

const aFunction = { accepts: isFunction, wanted: "a function" };
const anObject = { accepts: isPlainObject, wanted: "an object" };
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
 * Checks that `takeFunds` and `releaseFunds` are idempotent by their key, and that their first answer is final, as `PaymentFlow` needs:
 * after a crash it calls them again with the same key, and two processes may do so at once.
 *
 * It takes money and gives all of it back: run it against a test system. Each run uses new keys.
 *
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 */
export async function verifyFundsFunctions(functions: FundsFunctions): Promise<FundsReport> {
  const refuse = (message: string) => new InvalidArgumentError(`verifyFundsFunctions: ${message}`);
  assertOptions(fundsFunctions, functions, "its argument", refuse);
  const check = new FundsCheck(functions);
  const before = await check.balance();
  const first = `verify-funds-${globalThis.crypto.randomUUID()}`;
  const second = `verify-funds-${globalThis.crypto.randomUUID()}`;
  const third = second.toUpperCase();
  // Alike to a column that trims, or is too short for them.
  const odd = [`${second} `, ...["a", "b"].map((end) => `${second}${"-".repeat(500)}${end}`)];
  const startedAtMs = clock.wallMs();
  const { senderGatewayTransactionId: taken } = await check.law(
    "takeFunds returns an id, and replayed: false",
    async () => {
      const funds = await check.take(first);
      assert.equal(funds.replayed, false, "replayed in the first call with a key");
      return funds;
    },
  );
  const afterOne = await check.balance();
  if (functions.ledger !== undefined) {
    await check.law("takeFunds takes money, and the ledger shows it", async () => {
      assert.notDeepEqual(afterOne, before, "the ledger is the same as before takeFunds was called");
    });
  }
  await check.law("takeFunds returns the same id for the same key, and takes no more", async () => {
    const again = await check.take(first);
    // A flow whose journal was lost asks with another intent, which may be refused.
    const anew = await check.takeOrDecline(first, { ...functions.intent, id: "another" }).catch(() => again);
    assert.equal(again.senderGatewayTransactionId, taken);
    assert.equal(anew?.senderGatewayTransactionId, taken, "the same key, with another intent");
    assert.deepEqual(await check.balance(), afterOne);
  });
  await check.law("takeFunds says replayed: true and the same takenAtMs each time it is called again", async () => {
    const [again, later] = [await check.take(first), await check.take(first)];
    assert.ok(again.replayed);
    assert.ok(again.takenAtMs > startedAtMs - skewMs, "takenAtMs is long before takeFunds was called");
    assert.deepEqual(later, again);
  });
  const atOnce = await check.law("takeFunds returns one id to all who call it with one key at once", () =>
    check.takeAtOnce(second),
  );
  await check.law("takeFunds says replayed: false to one of all who call it at once", async () => {
    assert.equal(atOnce.firsts, 1, `${atOnce.firsts} of 8 calls were the first one`);
  });
  const ids = new Map([
    [first, taken],
    [second, atOnce.id],
  ]);
  await check.law("takeFunds returns another id for another key", async () => {
    // A ledger may refuse an odd key, and a call that others get in the way of: each is called again alone.
    await Promise.allSettled([third, ...odd].map((key) => check.take(key)));
    ids.set(third, (await check.take(third)).senderGatewayTransactionId);
    for (const key of odd) {
      const funds = await check.take(key).catch(() => undefined);
      if (funds !== undefined) ids.set(key, funds.senderGatewayTransactionId);
    }
    const differ = "that differ in case, by a space at their end, or in their last character alone";
    assert.equal(new Set(ids.values()).size, ids.size, `ids of ${ids.size} keys, ${differ}`);
  });
  await check.law("concurrent calls take the money once, and give it back once: the balance is restored", async () => {
    const twice = [...ids, ...ids];
    const released = await Promise.allSettled(twice.map(([key, id]) => check.release(key, id)));
    for (const [index, [key, id]] of twice.entries()) {
      if (released[index]?.status === "rejected") await check.release(key, id);
    }
    assert.deepEqual(await check.balance(), before);
  });
  await check.law("releaseFunds gives nothing more when it is called again", async () => {
    await check.release(first, taken);
    await Promise.all(times(4, () => check.release(second, atOnce.id)));
    assert.deepEqual(await check.balance(), before);
  });
  await check.law("takeFunds takes nothing and returns null after releaseFunds", async () => {
    assert.equal(await check.takeOrDecline(first), null);
    await check.assertDeclinedAtOnce(second);
    assert.deepEqual(await check.balance(), before);
  });
  await check.declined();
  return check.report();
}

class FundsCheck extends Laws {
  readonly #functions: FundsFunctions;

  constructor(functions: FundsFunctions) {
    super();
    this.#functions = functions;
  }

  /** Skipped where no intent is known to be declined. */
  async declined(): Promise<void> {
    const { declined } = this.#functions;
    if (declined === undefined) return;
    const { intent, accept } = declined;
    const key = `verify-funds-${globalThis.crypto.randomUUID()}`;
    await this.law("takeFunds returns null where the sender declines", async () => {
      await this.assertDeclinedAtOnce(key, intent);
    });
    await accept();
    const before = await this.balance();
    await this.law(
      "takeFunds returns null for a key that was declined, also when the sender would accept now",
      async () => {
        assert.equal(await this.takeOrDecline(key, intent), null);
        assert.deepEqual(await this.balance(), before);
        const accepted = `verify-funds-${globalThis.crypto.randomUUID()}`;
        const { senderGatewayTransactionId } = await this.take(accepted, intent);
        await this.release(accepted, senderGatewayTransactionId, intent);
      },
    );
  }

  async take(key: string, intent = this.#functions.intent): Promise<FlowFunds> {
    const funds = await this.takeOrDecline(key, intent);
    assert.ok(funds !== null, "takeFunds declined; use an intent that its sender accepts");
    return funds;
  }

  async takeOrDecline(key: string, intent = this.#functions.intent): Promise<FlowFunds | null> {
    const returned: unknown = await this.#functions.takeFunds({ key, intent });
    return readFlowFunds(returned, clock.wallMs() + skewMs);
  }

  async takeAtOnce(key: string): Promise<{ readonly id: string; readonly firsts: number }> {
    const all = await Promise.all(times(8, () => this.take(key)));
    const ids = new Set(all.map(({ senderGatewayTransactionId }) => senderGatewayTransactionId));
    const [id] = ids;
    assert.equal(ids.size, 1, `${ids.size} ids for one key`);
    assert.ok(id);
    return { id, firsts: all.filter(({ replayed }) => !replayed).length };
  }

  async assertDeclinedAtOnce(key: string, intent = this.#functions.intent): Promise<void> {
    const all = await Promise.all(times(8, () => this.takeOrDecline(key, intent)));
    assert.deepEqual(new Set(all), new Set([null]));
  }

  async release(key: string, senderGatewayTransactionId: string, intent = this.#functions.intent): Promise<void> {
    const { releaseFunds } = this.#functions;
    const refusal = {
      by: "operator",
      code: "verification",
      message: "verifyFundsFunctions gives back what it took",
    } as const;
    const returned: unknown = await releaseFunds({ key, intent, senderGatewayTransactionId, refusal });
    assert.notEqual(returned, false, "releaseFunds returned false, which says that the money was not given back");
  }

  async balance(): Promise<unknown> {
    return await this.#functions.ledger?.();
  }

  report(): FundsReport {
    const { ledger, declined } = this.#functions;
    const notChecked = [
      ...(ledger === undefined ? ["the money itself: needs ledger"] : []),
      ...(declined === undefined ? ["that a decline is final: needs declined"] : []),
      "that keys are known for ever, and to other processes: needs thousands of them, and restarts",
    ];
    return { held: this.held, notChecked };
  }
}
