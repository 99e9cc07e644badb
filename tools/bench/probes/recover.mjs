import { assertPaid, gatewayId, newKey, openFlow, openJournal, print } from "../flows.mjs";
import { intentRequest } from "../record.mjs";

/**
 * Recovers abandoned flows, in turns over a journal with nothing else in it and over one with settled and quoted flows:
 * `recover.mjs ORIGIN PLACE_ALONE PLACE_BESIDE SETTLED QUOTED ABANDONED ROUNDS`. The settled ones are copies of one that was really made.
 */
const [, , origin, placeAlone, placeBeside, settled, quoted, abandoned, rounds] = process.argv;

async function open(place) {
  const bank = { isAway: false };
  const takeFunds = ({ key }) => {
    if (bank.isAway) throw new Error("the bank is away");
    return { senderGatewayTransactionId: `TX-${key}`, replayed: false };
  };
  const journal = await openJournal(place);
  const { flow } = await openFlow(origin, journal, { takeFunds });
  return { journal, flow, bank };
}

async function atOnce(count, work) {
  let begun = 0;
  const line = async () => {
    while (begun++ < count) await work();
  };
  await Promise.all(Array.from({ length: 64 }, line));
}

async function addSettled({ journal, flow }, count) {
  const pattern = newKey();
  await assertPaid(flow.run(pattern, intentRequest));
  const { phase, data, evidence } = await journal.read(pattern);
  const scope = { service: origin, gateway: gatewayId };
  await atOnce(count, () => {
    const lease = { owner: "bench", leaseMs: 1000, nonce: newKey() };
    return journal.begin(newKey(), scope, { phase, settled: true, data, evidence }, lease);
  });
}

/** How long it takes to recover `count` flows whose owner is gone. */
async function timeToRecover({ flow, bank }, count) {
  bank.isAway = true;
  await atOnce(count, () => flow.run(newKey(), intentRequest).catch(() => {}));
  bank.isAway = false;
  let paid = 0;
  const from = performance.now();
  for await (const outcome of flow.recover()) {
    await assertPaid(outcome);
    paid += 1;
  }
  if (paid !== count) throw new Error(`${paid} of ${count} flows were recovered`);
  return performance.now() - from;
}

const alone = await open(placeAlone);
const beside = await open(placeBeside);
await addSettled(beside, Number(settled));
await atOnce(Number(quoted), () => beside.flow.quote(newKey(), intentRequest));
for (const each of [alone, beside]) await timeToRecover(each, 100);
const taken = { alone: [], beside: [] };
for (let round = 0; round < Number(rounds); round++) {
  taken.alone.push(await timeToRecover(alone, Number(abandoned)));
  taken.beside.push(await timeToRecover(beside, Number(abandoned)));
}
print(taken);
