import { spread } from "../measure.mjs";
import { openPlaces } from "../places.mjs";
import { probe } from "../processes.mjs";

const free = { free: true };
const range = ({ median, least, most }, digits = 2) =>
  `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
/** In the pairs that were measured one after the other. */
const ratios = (ours, theirs, name) => spread(ours.map((one, index) => one[name] / theirs[index][name]));
const medianOf = (samples, name) => spread(samples.map((sample) => sample[name])).median;

/** Flows over each kind of journal beside plain payments. */
export async function flows(settings) {
  const places = openPlaces();
  try {
    return [
      ...(await overSqlite(settings, places)),
      ...(await overPostgres(settings, places)),
      ...(await oneAtATime(settings, places)),
    ];
  } finally {
    places.close();
  }
}

async function atOnce({ node, server, rounds, flowBudgetMs }, place, count = 64) {
  const { plain, flow } = await probe(
    node,
    "flows-at-once.mjs",
    [server.origin, place, count, rounds, flowBudgetMs],
    free,
  );
  const text = (samples) =>
    `${medianOf(samples, "perSecond").toFixed(0)} a second, ${medianOf(samples, "cpuUs").toFixed(0)} µs, p99 ${medianOf(samples, "p99Ms").toFixed(0)} ms`;
  return {
    speed: ratios(flow, plain, "perSecond"),
    cpu: ratios(flow, plain, "cpuUs"),
    p99: ratios(flow, plain, "p99Ms"),
    text: `${text(flow)}; plain ${text(plain)}`,
  };
}

async function overSqlite(settings, places) {
  const work = "flows over SQLite, 64 at once, the server on the same two cores";
  const { speed, cpu, p99, text } = await atOnce(settings, `sqlite:${places.file("at-once")}`);
  return [
    { work, goal: "≥ 0.65 × plain pay()", found: `${range(speed)}: ${text}`, met: speed.median >= 0.65 },
    { work, goal: "CPU ≤ 1.5 × plain pay()", found: range(cpu), met: cpu.median <= 1.5 },
    { work, goal: "p99 ≤ 2 × plain pay()", found: range(p99), met: p99.median <= 2 },
  ];
}

async function overPostgres(settings, places) {
  const work = "flows over PostgreSQL, 64 at once, both servers on the same two cores";
  const place = places.schema("at_once");
  if (place === undefined) return [withoutServer(work)];
  const { speed, cpu, text } = await atOnce(settings, place);
  return [
    { work, goal: "≥ 0.6 × plain pay()", found: `${range(speed)}: ${text}`, met: speed.median >= 0.6 },
    { work, goal: "CPU of the client's process ≤ 1.5 × plain pay()", found: range(cpu), met: cpu.median <= 1.5 },
  ];
}

async function oneAtATime(settings, places) {
  const rows = [];
  for (const [name, place] of [
    ["SQLite", `sqlite:${places.file("alone")}`],
    ["PostgreSQL", places.schema("alone")],
  ]) {
    const work = `one flow at a time over ${name}`;
    if (place === undefined) rows.push(withoutServer(work));
    else rows.push({ work, goal: "", found: (await atOnce(settings, place, 1)).text });
  }
  return rows;
}

const withoutServer = (work) => ({ work, goal: "", found: "not measured: there is no PostgreSQL" });
