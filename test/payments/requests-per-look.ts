import { FlowCall } from "../../src/flows/flow-call.js";
import { lookForPayment, type Sought } from "../../src/flows/looking/look-for-payment.js";
import type { Mark } from "../../src/flows/state/flow-state.js";
import type { PaymentIntent } from "../../src/resources/payment-intents.js";
import { Alarm } from "../../src/timing/alarm.js";
import { lookContext } from "../flows/look-context.js";
import { listedService, madeAt, paymentsFrom } from "./listed-service.js";

/** `npx tsx test/payments/requests-per-look.ts`: how many requests looks make for a payment that is not listed. */

const call = new FlowCall(undefined, new Alarm(), undefined);
const intent = { senderGatewayId: "alpha" } as PaymentIntent;
const claims = [{ body: "{}", signature: "" }];

/** @param looks how many flows look at the same time. */
async function requests(count: number, flow: Partial<Sought>, looks = 1): Promise<number> {
  const service = listedService(paymentsFrom(1, count));
  const context = lookContext(service.client);
  const sought = { intent, senderGatewayTransactionId: "tx-own", claims, since: null, ...flow };
  await Promise.all(Array.from({ length: looks }, () => lookForPayment(context, call, sought, "decides")));
  return service.requested.length;
}

const markAt = (token: number): { since: Mark; isTakenSince: true } => ({
  since: { id: `p-${token}`, token: String(token) },
  isTakenSince: true,
});

const rows: readonly (readonly [string, Promise<number>])[] = [
  ["no payment, no mark", requests(0, { since: { none: true } })],
  ["1 payment, no mark", requests(1, {})],
  ["15 payments, no mark", requests(15, {})],
  ["5,000 payments, to a mark among the newest (60 s of skew at one a second)", requests(5000, markAt(4990))],
  ["5,000 payments, to a mark 150 payments ago", requests(5000, markAt(4850))],
  ["5,000 payments, to the end", requests(5000, {})],
  [
    "5,000 payments, to the bank's time an hour and a minute ago",
    requests(5000, { takenAtMs: Date.parse(madeAt(4940)) }),
  ],
  ["5,000 payments, to the end, 50 flows at once", requests(5000, {}, 50)],
];
for (const [what, count] of rows) console.log(String(await count).padStart(6), what);
