import { clientContender } from "../client.mjs";
import { sample, spread } from "../measure.mjs";
import { unobserved } from "../observers.mjs";

/** CPU of the calls of a client that nobody watches, with sockets and signatures, in µs. `unobserved.mjs ORIGIN ROUNDS BUDGET_MS`. */
const [, , origin, rounds, budgetMs] = process.argv;

const rows = {
  get: { work: "get", atOnce: 64 },
  sign: { work: "sign", atOnce: 64 },
  page: { work: "records", size: 100 },
};
const client = await clientContender(origin, unobserved);
const results = {};
for (const [name, row] of Object.entries(rows)) {
  await sample(client, row, Number(budgetMs));
  const spent = [];
  for (let round = 0; round < rounds; round++) spent.push((await sample(client, row, Number(budgetMs))).cpuUs);
  // A call of a list brings a whole page.
  results[name] = spread(spent).median * (row.size ?? 1);
}
process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
