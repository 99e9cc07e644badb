import { assertPaid, gatewayId, newKey, openFlow, openJournal, print } from "../flows.mjs";
import { intentRequest } from "../record.mjs";

/**
 * Recovers abandoned flows, beside settled ones: `recover.mjs ORIGIN PLACE SETTLED ABANDONED`. The settled ones are copies of one that
 * was really made.
 */
const [, , origin, place, settled, abandoned] = process.argv;
const journal = await openJournal(place);
let isBankAway = true;
const takeFunds = ({ key }) => {
  if (isBankAway) throw new Error("the bank is away");
  return { senderGatewayTransactionId: `TX-${key}`, replayed: false };
};
const { flow } = await openFlow(origin, journal, { takeFunds });

async function atOnce(count, work) {
  let begun = 0;
  const line = async () => {
    while (begun++ < count) await work();
  };
  await Promise.all(Array.from({ length: 64 }, line));
}

await atOnce(Number(abandoned), () => flow.run(newKey(), intentRequest).catch(() => {}));
isBankAway = false;
const pattern = newKey();
await assertPaid(flow.run(pattern, intentRequest));
const { phase, data, evidence } = await journal.read(pattern);
const scope = { service: origin, gateway: gatewayId };
await atOnce(Number(settled), () =>
  journal.begin(
    newKey(),
    scope,
    { phase, settled: true, data, evidence },
    { owner: "bench", leaseMs: 1000, nonce: newKey() },
  ),
);
let paid = 0;
const from = performance.now();
for await (const outcome of flow.recover()) {
  await assertPaid(outcome);
  paid += 1;
}
print({ tookMs: performance.now() - from, paid });
