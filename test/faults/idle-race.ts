/**
 * What callers are told of payments that meet a server which closes idle connections: by undici's own agent, and by the client's.
 *
 *   npx tsx test/faults/idle-race.ts [PAYMENTS]
 */
import type { Pause, PayerPlan } from "./idle-payer.js";
import { startIdleServer } from "./idle-server.js";
import { runPayer } from "./run-payer.js";

interface Race {
  readonly name: string;
  readonly idleMs: number;
  readonly lanes: (payments: number) => PayerPlan["lanes"];
}

const between = (leastMs: number, mostMs: number): number => leastMs + Math.random() * (mostMs - leastMs);
const repeated = <T>(times: number, make: () => T): T[] => Array.from({ length: Math.max(1, Math.round(times)) }, make);
const waits = (leastMs: number, mostMs: number) => (): Pause => ({ how: "wait", ms: between(leastMs, mostMs) });

/** One of the clients blocks or stops the process, and the others pay in between. */
function disturbed(how: Pause["how"], payments: number): PayerPlan["lanes"] {
  const perLane = 10;
  const disturbances = repeated(perLane, () => [{ how, ms: between(550, 1000) }, waits(100, 500)()]).flat();
  return [disturbances, ...repeated(payments / perLane, () => repeated(perLane, waits(300, 1300)))];
}

const races: readonly Race[] = [
  {
    name: "closed after 5 ms, payments 4 to 6 ms apart",
    idleMs: 5,
    lanes: (payments) => [repeated(payments, waits(4, 6))],
  },
  {
    name: "closed after 600 ms, payments 590 to 602 ms apart",
    idleMs: 600,
    lanes: (payments) => repeated(payments / 10, () => repeated(10, waits(590, 602))),
  },
  { name: "closed after 600 ms, loop blocked", idleMs: 600, lanes: (payments) => disturbed("block", payments) },
  { name: "closed after 600 ms, process stopped", idleMs: 600, lanes: (payments) => disturbed("stop", payments) },
];

const payments = Number(process.argv[2] ?? 300);
for (const { name, idleMs, lanes } of races) {
  for (const agent of ["undici's", "own"] as const) {
    const server = await startIdleServer({ idleMs, closes: "by timer" });
    const { made, none, possible, done } = await runPayer({ origin: server.origin, agent, lanes: lanes(payments) });
    const { commits, connections } = server.truth;
    await server.close();
    const told = `${made} made, ${possible} possible, ${none} none, ${done} done`;
    console.log(`${name}; ${agent} agent: ${told}; ${commits.length} at the service, ${connections} connections`);
  }
}
