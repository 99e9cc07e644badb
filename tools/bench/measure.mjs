/**
 * Runs `work` for `budgetMs`, `atOnce` calls at a time, or to the end of a list, and tells what the process spent on it.
 *
 * @returns how many units (calls or records) were done, and CPU time per unit in µs.
 */
export async function sample(contender, row, budgetMs) {
  // Sockets that were closed meanwhile, caches that others filled: a tenth of the time goes before the clock starts.
  await run(contender, { ...row, records: undefined }, budgetMs / 10);
  const cpuBefore = process.cpuUsage();
  const units = await run(contender, row, budgetMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { units, cpuUs: (user + system) / units };
}

function run(contender, { work, atOnce = 1, size, records }, budgetMs) {
  const until = performance.now() + budgetMs;
  if (size === undefined) return callFor(contender[work], atOnce, until);
  return listFor(contender[work], size, records ?? Number.POSITIVE_INFINITY, until);
}

async function callFor(call, atOnce, until) {
  let done = 0;
  const line = async () => {
    do {
      const { id } = await call();
      if (id === undefined) throw new Error("an answer without an id");
      done++;
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return done;
}

/** Whole pages, until so many records have come or, where that is endless, the time is up. */
async function listFor(list, size, records, until) {
  let taken = 0;
  let onPage = 0;
  await list(size, ({ id }) => {
    if (Number(id) !== ++taken) throw new Error(`record ${id} came as number ${taken}`);
    if (++onPage < size) return true;
    onPage = 0;
    return taken < records && (Number.isFinite(records) || performance.now() < until);
  });
  return taken;
}

/** Median, least and most. */
export function spread(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, least: sorted[0], most: sorted.at(-1) };
}

/** How much `values` grow per step: the slope of the straight line through them. */
export function slope(values) {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const rise = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0);
  return rise / values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
}
