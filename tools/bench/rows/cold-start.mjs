import { client, yardstick } from "../contenders.mjs";
import { spread } from "../measure.mjs";
import { probe } from "../processes.mjs";

const rival = "stripe";

/** From the start of a process: to the end of the import, and to the first answer. Interleaved, a process each. */
export async function coldStart({ node, server, starts }) {
  const times = { bare: [], imported: [], [client]: [], [rival]: [], [yardstick]: [] };
  for (let round = 0; round < starts; round++) {
    times.bare.push((await probe(node, "start-bare.mjs")).ms);
    times.imported.push((await probe(node, "start-import.mjs")).ms);
    for (const name of [client, rival, yardstick]) {
      times[name].push((await probe(node, "first-call.mjs", [name, server.origin])).ms);
    }
  }
  const { opened } = await probe(node, "start-idle.mjs", [server.origin]);
  const above = spread(times.imported.map((ms, round) => ms - times.bare[round]));
  const first = Object.fromEntries([client, rival, yardstick].map((name) => [name, spread(times[name])]));
  const ms = ({ median, least, most }) => `${median.toFixed(1)} ms (${least.toFixed(1)}–${most.toFixed(1)})`;
  return [
    { work: "import of the main entry", goal: "≤ 10 ms above bare Node", found: ms(above), met: above.median <= 10 },
    {
      work: "process start to first answered call",
      goal: `≤ ${rival}`,
      found: `${ms(first[client])}; ${rival} ${ms(first[rival])}; ${yardstick} ${ms(first[yardstick])}`,
      met: first[client].median <= first[rival].median,
    },
    {
      work: "client built, nothing called",
      goal: "no timer, socket or listener",
      found: opened.length === 0 ? "none" : opened.join(", "),
      met: opened.length === 0,
    },
  ];
}
