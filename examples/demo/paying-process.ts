/** A gateway's process, as the demo starts and kills it: quotes a payment, confirms it, or recovers. */
import { statSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { type ClientOptions, CrossBorderClient, type PaymentIntentRequest } from "cross-border-payments";
import { type FlowFunds, PaymentFlow } from "cross-border-payments/flow";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";

/** What the process reads from its standard input. */
export interface PayingProcessInput {
  readonly options: ClientOptions;
  readonly journal: string;
  readonly order: PaymentIntentRequest;
  readonly leaseMs: number;
  /** The intent that the sender was shown, to confirm. */
  readonly intentId?: string | undefined;
}

const key = "order-42";
const { options, journal, order, leaseMs, intentId = "" } = JSON.parse(await text(process.stdin)) as PayingProcessInput;

await using client = new CrossBorderClient(options);
const opened = await SqliteJournal.open(journal);

const flow = new PaymentFlow({
  client,
  journal: opened,
  leaseMs,
  readBackDelayMs: 200,
  takeFunds: ({ key }) => bookOnce(key),
  releaseFunds: () => {},
});

switch (process.argv[2]) {
  case "quote": {
    const { intent } = await flow.quote(key, order);
    console.log(JSON.stringify(intent));
    break;
  }
  case "confirm":
    console.log((await flow.confirm(key, { intentId })).status);
    break;
  case "recover":
    for await (const settled of flow.recover()) console.log(`${settled.key}: ${settled.status}`);
}
await flow.close();
await opened.close();

/** The bank's ledger, beside the journal: the process that creates the entry takes the money. */
function bookOnce(key: string): FlowFunds {
  const entry = `${journal}-${key}-taken`;
  const senderGatewayTransactionId = `${key}-TX`;
  try {
    writeFileSync(entry, "", { flag: "wx" });
    return { senderGatewayTransactionId, replayed: false };
  } catch {
    return { senderGatewayTransactionId, replayed: true, takenAtMs: Math.floor(statSync(entry).mtimeMs) };
  }
}
