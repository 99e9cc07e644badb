import { monitorEventLoopDelay } from "node:perf_hooks";
import { openFlow, openJournal, print, runFlow, timed } from "../flows.mjs";

/** How late the event loop is while flows run: `flow-loop.mjs ORIGIN PLACE AT_ONCE BUDGET_MS`. */
const [, , origin, place, atOnce, budgetMs] = process.argv;
const { flow } = await openFlow(origin, await openJournal(place));
const work = () => runFlow(flow);

await timed(work, Number(atOnce), 500);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const { perSecond } = await timed(work, Number(atOnce), Number(budgetMs));
delay.disable();
print({ perSecond, p99Ms: delay.percentile(99) / 1e6 });
