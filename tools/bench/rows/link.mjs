import { client, peers } from "../contenders.mjs";
import { spread } from "../measure.mjs";
import { probe, startLink } from "../processes.mjs";

const records = 10_000;
const size = 1000;
const megabits = 100;
const roundTripMs = 40;

/** Stripe's has no base path, by which the server knows what to send. */
const comparable = peers.filter((name) => name !== "stripe");

/** A whole list over a link that is narrower than the machine, where compression counts. */
export async function overLink({ node, server, linkRuns, tell }) {
  const link = await startLink(node, server.origin, megabits, roundTripMs);
  const measure = async (name, path) => {
    const args = [name, server.origin, `${path}/of/${records}`, link.origin, records, size, linkRuns];
    // The link is the same for all; what comes on top of the best run is the machine's.
    const { least } = spread(await probe(node, "link.mjs", args));
    tell(`  ${name}${path === "/full" ? ", without compression" : ""}: ${least.toFixed(0)} ms`);
    return least;
  };
  const work = `${records.toLocaleString("en-US")} payments, ${size.toLocaleString("en-US")} a page, over ${megabits} Mbit/s and ${roundTripMs} ms`;
  try {
    const own = await measure(client, "/full/gzip");
    const without = await measure(client, "/full");
    const others = [];
    for (const name of comparable) others.push([name, await measure(name, "/full/gzip")]);
    const [best, least] = others.sort(([, one], [, other]) => one - other)[0];
    return [
      {
        work,
        goal: "time ≤ 1.00 × the best peer",
        found: `${(own / least).toFixed(2)}: ${own.toFixed(0)} ms, the best (${best}) ${least.toFixed(0)} ms`,
        met: own <= least,
      },
      {
        work,
        goal: "≥ 4 × faster than without compression",
        found: `${(without / own).toFixed(1)}: ${own.toFixed(0)} against ${without.toFixed(0)} ms`,
        met: without >= 4 * own,
      },
    ];
  } finally {
    link.stop();
  }
}
