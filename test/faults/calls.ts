import type { CrossBorderClient, RequestOptions } from "cross-border-payments";
import { intent, payment } from "../http/scripted-transport.js";

export { intent, payment };

import { accounts, bearer } from "./canaries.js";
import type { Kind } from "./expectations.js";

const provider = { firstName: "Ada", lastName: "Lovelace", email: "ada@example.com" };

export type ClientCall = (client: CrossBorderClient, options: RequestOptions) => PromiseLike<unknown>;

/** One call of each kind. Token requests are observed through a read that needs a token first. */
export const calls: Readonly<Record<Kind, ClientCall>> = {
  read: (client, options) => client.paymentIntents.get("intent-1", { ...options, query: accounts }),
  update: (client, options) => client.liquidityProviders.update("provider-1", provider, options),
  create: (client, options) => client.paymentGateways.create({ institutionId: "alpha", ...bearer }, options),
  intent: (client, options) => client.paymentIntents.create({ ...intent, ...accounts }, options),
  payment: (client, options) => client.payments.create({ ...payment, ...accounts }, options),
  login: (client, options) => client.paymentIntents.get("intent-1", options),
  refresh: (client, options) => client.paymentIntents.get("intent-1", options),
};

/** For all cells of the matrix, on a machine that has much else to do. */
export const playLimitMs = 3_000_000;

/**
 * Plays all cells, many at once, since most of them wait. Those that fail, on a machine that was too busy for so many, are played again
 * beside fewer others, and by themselves at last, when each has to succeed.
 */
export async function playAll<T>(cells: readonly T[], play: (cell: T) => Promise<void>): Promise<void> {
  let left = cells;
  for (const atOnce of [32, 6, 1]) {
    const failed: T[] = [];
    const queue = left.values();
    const worker = async (): Promise<void> => {
      for (const cell of queue) {
        try {
          await play(cell);
        } catch (error) {
          if (atOnce === 1) throw error;
          failed.push(cell);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    left = failed;
  }
}
