import { spread } from "../measure.mjs";
import { openPlaces, slowFsync } from "../places.mjs";
import { probe } from "../processes.mjs";

const free = { free: true };
const range = ({ median, least, most }, digits = 2) =>
  `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
/** In the pairs that were measured one after the other. */
const ratios = (ours, theirs, name) => spread(ours.map((one, index) => one[name] / theirs[index][name]));
const medianOf = (samples, name) => spread(samples.map((sample) => sample[name])).median;

/** Flows over each kind of journal, and what their commits cost. */
export async function flows(settings) {
  const places = openPlaces();
  try {
    return [
      ...(await overSqlite(settings, places)),
      ...(await overPostgres(settings, places)),
      ...(await oneAtATime(settings, places)),
      ...(await durableCommits(settings, places)),
      ...(await slowDisk(settings, places)),
      ...(await recovering(settings, places)),
      ...(await manyProcesses(settings, places)),
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
    { work, goal: "≥ 0.9 × plain pay()", found: `${range(speed)}: ${text}`, met: speed.median >= 0.9 },
    { work, goal: "CPU ≤ 1.15 × plain pay()", found: range(cpu), met: cpu.median <= 1.15 },
    { work, goal: "p99 ≤ 2 × plain pay()", found: range(p99), met: p99.median <= 2 },
  ];
}

async function overPostgres(settings, places) {
  const work = "flows over PostgreSQL, 64 at once, both servers on the same two cores";
  const place = places.schema("at_once");
  if (place === undefined) return [withoutServer(work)];
  const { speed, cpu, text } = await atOnce(settings, place);
  return [
    { work, goal: "≥ 0.65 × plain pay()", found: `${range(speed)}: ${text}`, met: speed.median >= 0.65 },
    { work, goal: "CPU of the client's process ≤ 1.6 × plain pay()", found: range(cpu), met: cpu.median <= 1.6 },
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

async function durableCommits({ node, server }, places) {
  const { run, quoted } = await probe(node, "flow-commits.mjs", [server.origin, places.file("commits")], free);
  const work = "one flow at a time over SQLite";
  return [
    { work, goal: "≤ 3 durable commits for run", found: `${run}, counted in the log`, met: run <= 3 },
    { work, goal: "≤ 4 for quote and confirm together", found: `${quoted}, counted in the log`, met: quoted <= 4 },
  ];
}

async function slowDisk({ node, server, flowBudgetMs }, places) {
  const work = "flows over SQLite, 64 at once, each fsync 10 ms longer";
  const library = slowFsync(places);
  if (library === undefined) return [{ work, goal: "", found: "not measured: it needs Linux and a C compiler" }];
  const args = [server.origin, `sqlite:${places.file("slow")}`, 64, flowBudgetMs];
  const { p99Ms, perSecond } = await probe(node, "flow-loop.mjs", args, {
    ...free,
    env: { LD_PRELOAD: library },
  });
  const inMemory = await probe(node, "flow-loop.mjs", [server.origin, "memory", 64, flowBudgetMs], free);
  return [
    {
      work,
      goal: "event loop delay p99 ≤ 8 ms",
      found: `${p99Ms.toFixed(1)} ms at ${perSecond.toFixed(0)} a second; ${inMemory.p99Ms.toFixed(1)} ms over a journal in memory; its own timer of 1 ms among it`,
      met: p99Ms <= 8,
    },
  ];
}

async function recovering(settings, places) {
  const found = [];
  for (const [name, placeOf] of [
    ["SQLite", (run) => `sqlite:${places.file(`recover-${run}`)}`],
    ["PostgreSQL", (run) => places.schema(`recover_${run}`)],
  ]) {
    found.push(await recoveringFrom(settings, name, placeOf));
  }
  return found;
}

async function recoveringFrom({ node, server, rounds, settledFlows, quotedFlows, abandonedFlows }, name, placeOf) {
  const [settled, quoted, abandoned] = [settledFlows, quotedFlows, abandonedFlows].map((count) =>
    count.toLocaleString("en"),
  );
  const work = `recover over ${name}, ${settled} settled, ${quoted} quoted and ${abandoned} abandoned flows`;
  if (placeOf("alone") === undefined) return withoutServer(work);
  // The look before a claim reads the whole list: a short one.
  const origin = `${server.origin}/of/10`;
  const args = [origin, placeOf("alone"), placeOf("beside"), settledFlows, quotedFlows, abandonedFlows, rounds];
  const { alone, beside } = await probe(node, "recover.mjs", args, free);
  const ratio = spread(beside.map((tookMs, round) => tookMs / alone[round]));
  return {
    work,
    goal: "time ≤ 1.2 × the abandoned ones alone",
    found: `${range(ratio)}: ${range(spread(beside), 0)} against ${range(spread(alone), 0)} ms`,
    met: ratio.median <= 1.2,
  };
}

async function manyProcesses({ node, server, rounds, flowBudgetMs }, places) {
  const work = "4 processes over one PostgreSQL, 16 flows at once in each";
  const place = places.schema("processes");
  if (place === undefined) return [withoutServer(work)];
  const args = [server.origin, place, 16, rounds, flowBudgetMs];
  const one = await probe(node, "flows-at-once.mjs", args, free);
  const four = await Promise.all([1, 2, 3, 4].map(() => probe(node, "flows-at-once.mjs", args, free)));
  const alone = medianOf(one.flow, "cpuUs");
  const together = spread(four.map(({ flow }) => medianOf(flow, "cpuUs"))).median;
  // Four processes on two cores spend more on anything: plain payments tell how much.
  const plain = spread(four.map(({ plain }) => medianOf(plain, "cpuUs"))).median / medianOf(one.plain, "cpuUs");
  return [
    {
      work,
      goal: "CPU a flow ≤ 1.2 × of one process",
      found: `${(together / alone).toFixed(2)}: ${together.toFixed(0)} against ${alone.toFixed(0)} µs; plain payments in turns with them ${plain.toFixed(2)}`,
      met: together / alone <= 1.2,
    },
  ];
}

const withoutServer = (work) => ({ work, goal: "", found: "not measured: there is no PostgreSQL" });
