import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isTokenStore, type TokenStore } from "../auth/token-store.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isFunction, isPositiveInteger } from "../core/parse.js";
import { Laws } from "./broken-law-error.js";
import { tokenStoreLaws } from "./token-store-laws.js";

export interface VerifyTokenStoreOptions {
  /** Another handle of the same store, as another process would have. Without it, one handle plays both. */
  readonly second?: TokenStore;
  /** How long locks and values last whose end is waited for, in milliseconds. It must be longer than the slowest call. Default: 250. */
  readonly shortMs?: number;
  /** Lets time pass, for a store with a clock of its own. Default: waits. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How many workers compete. Default: 20. */
  readonly workers?: number;
}

const aCount = { accepts: isPositiveInteger, wanted: "a whole number above 0" };
const storeOptions: CheckTable<VerifyTokenStoreOptions> = {
  second: { accepts: isTokenStore, wanted: "a token store: an object with the methods read, lock, unlock and write" },
  shortMs: aCount,
  wait: { accepts: isFunction, wanted: "a function" },
  workers: aCount,
};

/** What `verifyTokenStore` found when no law is broken. */
export interface TokenStoreReport {
  /** The laws that held, in the order in which they were checked. */
  readonly held: readonly string[];
  /** What could not be checked, and what it needs. */
  readonly notChecked: readonly string[];
}

/**
 * Checks every law of the interface `TokenStore` on a store of your own, with any test runner or none. Keys are new ones in each run,
 * so it may run beside real tokens; what it leaves behind is gone after ten minutes.
 *
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 *
 * @example
 * await verifyTokenStore(new MyTokenStore(connection), { second: new MyTokenStore(anotherConnection) });
 */
export async function verifyTokenStore(
  store: TokenStore,
  options: VerifyTokenStoreOptions = {},
): Promise<TokenStoreReport> {
  assertOptions(
    storeOptions,
    options,
    "the options",
    (message) => new InvalidArgumentError(`verifyTokenStore: ${message}`),
  );
  const { second = store, shortMs = 250, wait = sleep, workers = 20 } = options;
  const laws = new Laws();
  // Clocks of databases tick apart from timers.
  const outlive = async (): Promise<void> => {
    await wait(shortMs + 50);
  };
  for (const [law, check] of tokenStoreLaws) {
    const key = `verify-${randomUUID()}`;
    await laws.law(law, () => check({ store, second, key, otherKey: `${key}-other`, shortMs, outlive, workers }));
  }
  return { held: laws.held, notChecked: notChecked(options) };
}

function notChecked({ second }: VerifyTokenStoreOptions): string[] {
  return [
    ...(second === undefined ? ["two handles of one store: needs second"] : []),
    "that values are encrypted, and bound to their keys",
    "what a failover or a restored backup of the store loses",
  ];
}
