import { spread } from "../measure.mjs";
import { observers } from "../observers.mjs";
import { probe } from "../processes.mjs";

const titles = { get: "GET one record", sign: "signed payment", page: "page of 100" };

/** What is to cost nothing: who writes nothing and records nothing, and what was reported once. */
const off = [
  "of a service with two fields that are not described",
  ...["with a logger of empty methods", "with pino at info", "with OpenTelemetry without an SDK"],
];

/** What a logger, hooks and OpenTelemetry add to a call, on and off. */
export async function observing(settings) {
  const { node, server, rounds, budgetMs, tell } = settings;
  const unwatched = await probe(node, "unobserved.mjs", [server.origin, rounds, budgetMs]);
  const found = [];
  for (const name of Object.keys(observers)) {
    tell(`  ${name}`);
    found.push(toRow(name, await addedBy(name, settings), unwatched));
  }
  return found;
}

/** In some processes one after the other, since two that do the same differ by more than their rounds do. */
async function addedBy(name, { node, processes, rounds, observerTurns }) {
  const added = Object.fromEntries(Object.keys(titles).map((work) => [work, []]));
  for (let process = 0; process < processes; process++) {
    const results = await probe(node, "observers.mjs", [name, rounds, observerTurns]);
    for (const work of Object.keys(titles)) added[work].push(...results[work]);
  }
  return added;
}

/** The added time is measured without sockets, signatures and long pages, and set against a call that has them. */
function toRow(name, added, unwatched) {
  const figures = Object.entries(titles).map(([work, title]) => {
    const { median, least, most } = spread(added[work]);
    const ratio = 1 + median / unwatched[work];
    const range = `${median.toFixed(1)} µs (${least.toFixed(1)}–${most.toFixed(1)})`;
    return { ratio, text: `${title} ${ratio.toFixed(3)}: ${range} on ${unwatched[work].toFixed(0)}` };
  });
  const isOff = off.includes(name);
  return {
    work: name === "none" ? "the same client twice: how far off these rows are" : `client ${name}, 64 calls at once`,
    goal: isOff ? "CPU ≤ 1.02 × without" : "",
    found: figures.map(({ text }) => text).join("; "),
    met: isOff ? figures.every(({ ratio }) => ratio <= 1.02) : undefined,
  };
}
