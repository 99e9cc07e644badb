import { client, peers, pooledSigning, releaseBefore, secondYardstick, yardstick } from "../contenders.mjs";
import { spread } from "../measure.mjs";
import { startWorker } from "../processes.mjs";
import { placeReleaseBefore } from "../setup.mjs";

const bare = [client, releaseBefore, yardstick, secondYardstick];
const everyone = [...bare, ...peers];
const signers = [...bare, pooledSigning];

/** What every contender does. */
export const comparisons = [
  {
    id: "get-1",
    title: "GET one record, 1 at a time",
    work: "get",
    atOnce: 1,
    unit: "call",
    who: everyone,
  },
  {
    id: "get-64",
    title: "GET one record, 64 at once",
    work: "get",
    atOnce: 64,
    unit: "call",
    who: everyone,
  },
  {
    id: "create-1",
    title: "POST, unsigned, 1 at a time",
    work: "create",
    atOnce: 1,
    unit: "call",
    who: everyone,
  },
  {
    id: "create-64",
    title: "POST, unsigned, 64 at once",
    work: "create",
    atOnce: 64,
    unit: "call",
    who: everyone,
  },
  {
    id: "signed-1",
    title: "signed payment, 1 at a time",
    work: "sign",
    atOnce: 1,
    unit: "call",
    who: signers,
  },
  {
    id: "signed-64",
    title: "signed payment, 64 at once",
    work: "sign",
    atOnce: 64,
    unit: "call",
    who: signers,
  },
  {
    id: "page-100",
    title: "list, 100 a page, by records",
    work: "records",
    size: 100,
    unit: "record",
    who: everyone,
  },
  {
    id: "page-1000",
    title: "list, 1,000 a page, by records",
    work: "records",
    size: 1000,
    unit: "record",
    who: everyone,
  },
  {
    id: "page-100-pages",
    title: "list, 100 a page, by pages",
    work: "pages",
    size: 100,
    unit: "record",
    who: bare,
  },
  {
    id: "page-1000-pages",
    title: "list, 1,000 a page, by pages",
    work: "pages",
    size: 1000,
    unit: "record",
    who: bare,
  },
];

/**
 * Row by row, in interleaved rounds: in each, every contender takes one turn, and is set against the yardstick of the same round.
 * Some rounds, then new processes: two processes that do the same differ by more than their rounds do.
 * Who can't do a row is left out of it, and why is told.
 */
export async function compare({ records, only, tell, ...settings }) {
  const rows = comparisons.filter(only).map((row) => (row.size === undefined ? row : { ...row, records }));
  if (rows.length > 0) placeReleaseBefore(settings.node);
  const failures = new Map();
  const results = [];
  for (const row of rows) {
    tell(row.title);
    const samples = new Map(row.who.map((name) => [name, []]));
    for (let process = 0; process < settings.processes; process++) await sampleRow(row, samples, failures, settings);
    // Who failed in one of the processes has no round to set against each round of the yardstick.
    const all = settings.processes * settings.rounds;
    for (const name of row.who) if (samples.get(name).length < all) samples.delete(name);
    results.push({ row, figures: figuresOf(samples) });
  }
  return { results, failures };
}

async function sampleRow(row, samples, failures, { node, server, rounds, budgetMs, peerBudgetMs, warmUpMs }) {
  const workers = await openWorkers(node, server.origin, row.who, failures);
  const able = await warmUp(workers, row, warmUpMs, failures);
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(able, round)) {
      const turnMs = signers.includes(name) ? budgetMs : peerBudgetMs;
      samples.get(name).push(await workers.get(name).sample(row, turnMs));
    }
  }
  for (const worker of workers.values()) worker.stop();
}

async function openWorkers(node, origin, names, failures) {
  const workers = new Map();
  for (const name of names) {
    try {
      workers.set(name, await startWorker(node, name, origin));
    } catch (error) {
      failures.set(name, firstLine(error));
    }
  }
  return workers;
}

async function warmUp(workers, row, warmUpMs, failures) {
  const able = [];
  for (const name of row.who.filter((each) => workers.has(each))) {
    try {
      await workers.get(name).sample({ ...row, records: undefined }, warmUpMs);
      able.push(name);
    } catch (error) {
      failures.set(`${name}, ${row.title}`, firstLine(error));
    }
  }
  return able;
}

function rotated(names, by) {
  const at = by % names.length;
  return [...names.slice(at), ...names.slice(0, at)];
}

function figuresOf(samples) {
  const ownUs = samples.get(yardstick).map(({ cpuUs }) => cpuUs);
  return new Map(
    [...samples].map(([name, taken]) => [
      name,
      {
        cpuUs: spread(taken.map(({ cpuUs }) => cpuUs)),
        ratio: spread(taken.map(({ cpuUs }, round) => cpuUs / ownUs[round])),
      },
    ]),
  );
}

function firstLine(error) {
  return String(error?.message ?? error).split("\n")[0];
}
