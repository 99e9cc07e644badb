/**
 * Payments in Lambda functions: `lambda/payment-handlers.ts` has the handlers. As it is, three instances of them run here, over a
 * journal and a token store in memory; in production these are a `PostgresJournal` and a `PostgresTokenStore` or `RedisTokenStore`.
 */
import { CrossBorderClient, MemoryTokenStore } from "cross-border-payments";
import { MemoryJournal, PaymentFlow, type TakeFundsByKey } from "cross-border-payments/flow";
import { type LambdaContext, paymentHandlers } from "./lambda/payment-handlers.js";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
const { sandbox } = practice.server;
const earlier = sandbox.tokenRequests.length;

const journal = new MemoryJournal();
const tokenStore = new MemoryTokenStore();
const ledger = new Map<string, number | "released">();
let isBankAway = false;

const takeFunds: TakeFundsByKey = ({ key }) => {
  if (isBankAway) throw new Error("the bank is away");
  const takenAtMs = ledger.get(key);
  if (takenAtMs === "released") return null;
  const senderGatewayTransactionId = `TX-${key}`;
  if (takenAtMs !== undefined) return { senderGatewayTransactionId, replayed: true, takenAtMs };
  ledger.set(key, Date.now());
  return { senderGatewayTransactionId, replayed: false };
};

/** What an instance does once, outside of its handlers: its next invocations use the same connections and token. */
function startInstance() {
  const client = new CrossBorderClient({ ...practice.options, tokenStore, tokenLeewayMs: 0 });
  const releaseFunds = ({ key }: { readonly key: string }) => void ledger.set(key, "released");
  return paymentHandlers(new PaymentFlow({ client, journal, takeFunds, releaseFunds }));
}

const context: LambdaContext = { getRemainingTimeInMillis: () => 30_000 };
const request = {
  senderGatewayId: "alpha-bank",
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "",
};

const [one, other, scheduled] = [startInstance(), startInstance(), startInstance()];
console.log((await one.pay({ key: "1", request }, context)).body);
console.log((await one.pay({ key: "1", request }, context)).body);
isBankAway = true;
console.log((await other.pay({ key: "2", request }, context)).body);
isBankAway = false;
console.log(await scheduled.finish({}, context));
console.log(`payments: ${sandbox.payments.length}, logins: ${sandbox.tokenRequests.length - earlier}`);
