/** Testing your own code against the sandbox: a real server on loopback, whose records the test checks. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CrossBorderClient, OutcomeUnknownError } from "cross-border-payments";
import { type PracticeService, startPracticeService } from "./support/practice-service.js";

/** The code under test: pays a school's fees. */
async function paySchoolFees(client: CrossBorderClient, amount: string): Promise<string> {
  const outcome = await client.pay(
    {
      senderGatewayId: "alpha-bank",
      senderCurrency: "EUR",
      senderAccount: "DE-0001",
      receiverGatewayId: "beta-mobile",
      receiverAccount: "KE-7002",
      receiverCurrency: "KES",
      receiverAmount: amount,
      memo: "school fees",
    },
    () => ({ senderGatewayTransactionId: "ALPHA-TX-1" }),
  );
  return outcome.status;
}

let practice: PracticeService;
before(async () => {
  practice = await startPracticeService();
});
after(() => practice.server.close());

test("the fees arrive", async () => {
  await using client = new CrossBorderClient(practice.options);
  assert.equal(await paySchoolFees(client, "15000.00"), "paid");
  assert.equal(practice.server.sandbox.payments.at(-1)?.receiverAmount, "15000.00");
});

test("an amount that is none is refused before anything is sent", async () => {
  await using client = new CrossBorderClient(practice.options);
  const requests = practice.server.sandbox.requests.length;
  await assert.rejects(paySchoolFees(client, "15,000"), { code: "invalid_argument" });
  assert.equal(practice.server.sandbox.requests.length, requests);
});

test("a lost response is told apart from a refusal", async () => {
  await using client = new CrossBorderClient({
    ...practice.options,
    // Every request arrives, and the response to the payment is lost.
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (url.endsWith("/payments")) throw new TypeError("the connection broke");
      return response;
    },
  });
  await assert.rejects(paySchoolFees(client, "1.00"), OutcomeUnknownError);
});
