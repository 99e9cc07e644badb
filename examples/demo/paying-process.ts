/** A gateway's process, as the demo starts and kills it: runs one payment through the durable flow, or recovers. */
import { text } from "node:stream/consumers";
import { type ClientOptions, CrossBorderClient, type PaymentIntentRequest } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";

/** What the process reads from its standard input. */
export interface PayingProcessInput {
  readonly options: ClientOptions;
  readonly journal: string;
  readonly order: PaymentIntentRequest;
  readonly leaseMs: number;
}

const { options, journal, order, leaseMs } = JSON.parse(await text(process.stdin)) as PayingProcessInput;

await using client = new CrossBorderClient(options);
const opened = await SqliteJournal.open(journal);

const flow = new PaymentFlow({
  client,
  journal: opened,
  leaseMs,
  readBackDelayMs: 200,
  // A real one looks into the bank's ledger whether this key's money was taken before.
  takeFunds: ({ key }) => ({ senderGatewayTransactionId: `${key}-TX`, replayed: false }),
  releaseFunds: () => {},
});

if (process.argv[2] === "recover") {
  for await (const { key, status } of flow.recover()) console.log(`${key}: ${status}`);
} else {
  console.log((await flow.run("order-42", order)).status);
}
await opened.close();
