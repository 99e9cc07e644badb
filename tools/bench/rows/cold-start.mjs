import { tmpdir } from "node:os";
import { join } from "node:path";
import { client, yardstick } from "../contenders.mjs";
import { spread } from "../measure.mjs";
import { commitBefore } from "../packages.mjs";
import { probe } from "../processes.mjs";
import { clientProject, placeReleaseBefore } from "../setup.mjs";

const cacheFolder = join(tmpdir(), "cross-border-payments-bench", "compile-cache");

const rival = "stripe";

/** From the start of a process: to the end of the import, and to the first answer. Interleaved, a process each. */
export async function coldStart({ node, server, starts }) {
  const times = { [client]: [], [rival]: [], [yardstick]: [] };
  const late = { [client]: [], [yardstick]: [] };
  const cached = [];
  const firstCall = async (name, options) => (await probe(node, "first-call.mjs", [name, server.origin], options)).ms;
  const withCache = () => firstCall(client, { env: { NODE_COMPILE_CACHE: cacheFolder } });
  await withCache();
  const projects = { now: clientProject, before: placeReleaseBefore(node) };
  const loads = ["import", "require"].map((how) => ({ how, now: [], before: [] }));
  for (let round = 0; round < starts; round++) {
    for (const load of loads) {
      for (const [when, project] of Object.entries(projects)) {
        load[when].push((await probe(node, "start-import.mjs", [project, load.how])).ms);
      }
    }
    for (const name of [client, rival, yardstick]) times[name].push(await firstCall(name));
    for (const name of [client, yardstick])
      late[name].push((await probe(node, "late-call.mjs", [name, server.origin])).ms);
    cached.push(await withCache());
  }
  const { opened } = await probe(node, "start-idle.mjs", [server.origin]);
  const first = Object.fromEntries([client, rival, yardstick].map((name) => [name, spread(times[name])]));
  const later = Object.fromEntries([client, yardstick].map((name) => [name, spread(late[name])]));
  const ms = ({ median, least, most }) => `${median.toFixed(1)} ms (${least.toFixed(1)}–${most.toFixed(1)})`;
  return [
    ...loads.map(({ how, ...found }) => {
      const [now, before] = [spread(found.now), spread(found.before)];
      return {
        work: `${how} of the main entry`,
        goal: "",
        found: `${ms(now)}; ${commitBefore} ${ms(before)}`,
      };
    }),
    {
      work: "process start to first answered call",
      goal: `≤ 2 × ${yardstick}`,
      found: `${ms(first[client])}; ${rival} ${ms(first[rival])}; ${yardstick} ${ms(first[yardstick])}`,
      met: first[client].median <= 2 * first[yardstick].median,
    },
    {
      work: "login and first call, one second after the client was made",
      goal: `≤ 1.1 × ${yardstick}`,
      found: `${ms(later[client])}; ${yardstick} ${ms(later[yardstick])}`,
      met: later[client].median <= 1.1 * later[yardstick].median,
    },
    {
      work: "from process start with Node's compile cache",
      goal: "",
      found: ms(spread(cached)),
    },
    {
      work: "client built, nothing called",
      goal: "no timer, socket or listener",
      found: opened.length === 0 ? "none" : opened.join(", "),
      met: opened.length === 0,
    },
  ];
}
