import { openFlow, openJournal, payPlainly, print, runFlow, timed } from "../flows.mjs";

/** Flows over a journal and plain payments, in turns: `flows-at-once.mjs ORIGIN PLACE AT_ONCE ROUNDS BUDGET_MS`. */
const [, , origin, place, atOnce, rounds, budgetMs] = process.argv;
const { client, flow } = await openFlow(origin, await openJournal(place));
const works = { plain: () => payPlainly(client), flow: () => runFlow(flow) };

const taken = { plain: [], flow: [] };
for (const work of Object.values(works)) await timed(work, Number(atOnce), 500);
for (let round = 0; round < Number(rounds); round++) {
  const order = round % 2 === 0 ? ["plain", "flow"] : ["flow", "plain"];
  for (const name of order) taken[name].push(await timed(works[name], Number(atOnce), Number(budgetMs)));
}
print(taken);
