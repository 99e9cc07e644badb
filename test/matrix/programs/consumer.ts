import { CrossBorderClient, type Payment } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { type PaymentEvent, watchPayments } from "cross-border-payments/reconcile";
import { createSandbox } from "cross-border-payments/sandbox";
import { verifyJournal } from "cross-border-payments/testing";
import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
import { RedisTokenStore } from "cross-border-payments/tokens/redis";

/** Every entry point, for compilers. */
const client = new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: async () => "t" } });
export const status = async (): Promise<Payment["senderGatewayStatus"] | undefined> =>
  (await client.payments.list({ sort: "createdAt.desc" })).items[0]?.senderGatewayStatus;
export const events: AsyncIterable<PaymentEvent> = watchPayments(client);
export const flow = new PaymentFlow({
  client,
  journal: new MemoryJournal(),
  takeFunds: ({ key }) => ({ senderGatewayTransactionId: key, replayed: false }),
  releaseFunds: () => {},
});
export const others: readonly unknown[] = [
  PostgresJournal,
  PostgresTokenStore,
  RedisTokenStore,
  SqliteJournal,
  createSandbox,
  verifyJournal,
];
