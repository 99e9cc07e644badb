import type { CrossBorderClient, RequestOptions } from "cross-border-payments";
import type { Kind } from "./expectations.js";

export const intent = {
  senderGatewayId: "alpha",
  senderCurrency: "EUR",
  senderAccount: "DE-1000-2000",
  receiverGatewayId: "beta",
  receiverAccount: "KE-3000-4000",
  receiverCurrency: "KES",
  receiverAmount: "150.00",
  memo: "rent",
};

export const payment = {
  ...intent,
  senderAmount: "1.00",
  senderName: "Ada Sender",
  receiverName: "Baraka Receiver",
  receivingGatewayFee: "0",
  senderGatewayTransactionId: "transaction-1",
};

const provider = { firstName: "Ada", lastName: "Lovelace", email: "ada@example.com" };

export type ClientCall = (client: CrossBorderClient, options: RequestOptions) => PromiseLike<unknown>;

/** One call of each kind. Token requests are observed through a read that needs a token first. */
export const calls: Readonly<Record<Kind, ClientCall>> = {
  read: (client, options) => client.paymentIntents.get("intent-1", options),
  update: (client, options) => client.liquidityProviders.update("provider-1", provider, options),
  create: (client, options) => client.liquidityProviders.create(provider, options),
  intent: (client, options) => client.paymentIntents.create(intent, options),
  payment: (client, options) => client.payments.create(payment, options),
  login: (client, options) => client.paymentIntents.get("intent-1", options),
  refresh: (client, options) => client.paymentIntents.get("intent-1", options),
};

/** Works through a list, `atOnce` items at a time. */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
