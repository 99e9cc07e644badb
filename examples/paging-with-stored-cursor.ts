/** A job that reads new payments now and then, and continues where it stopped, whatever happens in between. */
import { CrossBorderClient } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

/** Stands for a row in your database. */
let storedCursor: string | undefined;

await pay(5);
await readNewPayments();
await pay(3);
await readNewPayments();

async function readNewPayments(): Promise<void> {
  let read = 0;
  for await (const page of client.payments.list({ size: 2, after: storedCursor }).pages()) {
    read += page.items.length;
    // Stored after the page's records were processed: a crash in between repeats a page, and loses none.
    // A page without records has no cursor: what was stored holds.
    storedCursor = page.next ?? storedCursor;
  }
  console.log(`${read} new payments`);
}

async function pay(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const request = {
      senderGatewayId: "alpha-bank",
      senderCurrency: "EUR",
      senderAccount: "DE-0001",
      receiverGatewayId: "beta-mobile",
      receiverAccount: "KE-7002",
      receiverCurrency: "KES",
      receiverAmount: "100.00",
      memo: "",
    };
    await client.pay(request, () => ({ senderGatewayTransactionId: crypto.randomUUID() }));
  }
}
