import { commitsInLog, openFlow, openJournal, print, quoteAndConfirm, runFlow } from "../flows.mjs";

/** Commits that one flow at a time makes, counted in SQLite's log: `flow-commits.mjs ORIGIN FILE`. */
const [, , origin, file] = process.argv;
const journal = await openJournal(`sqlite:${file}`);
const { flow } = await openFlow(origin, journal);

/** So few that the log is not begun again meanwhile. */
const flows = 20;

async function commitsOf(work) {
  const before = commitsInLog(file);
  for (let made = 0; made < flows; made++) await work();
  return (commitsInLog(file) - before) / flows;
}

await runFlow(flow);
print({ run: await commitsOf(() => runFlow(flow)), quoted: await commitsOf(() => quoteAndConfirm(flow)) });
