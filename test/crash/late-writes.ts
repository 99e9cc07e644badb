/**
 * A write of the journal times out and is repeated, the flow goes on to its outcome, and only then the first copy of the write arrives: out
 * of a back end of the database that was stopped, or out of the network. Then another process recovers what is abandoned:
 *
 *     npx tsx test/crash/late-writes.ts --times 20
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CrashCase, dealOut, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { OwnDatabase } from "./journal-place.js";
import { describeLaws, sayAll, type Verdict } from "./laws.js";
import type { Backend, PostgresServer } from "./postgres-server.js";
import { isScript, scriptOptions } from "./script-options.js";
import type { Outcome, Task } from "./worker-messages.js";
import { soon, type WorkerProcess } from "./worker-process.js";

/** Where the first copy is meanwhile. */
export type Detour = "back end" | "network";

/** A write that comes late, in a flow that gets to it. */
interface LateCase extends Omit<CrashCase, "crashes"> {
  readonly point: string;
  /** What is done first, where the write belongs to something that follows. */
  readonly before?: Task["way"];
  /** What the service's operators promise, and keep. */
  readonly listedWithinMs?: number;
  /** Its payment is listed only then. */
  readonly listedAfterMs?: number;
}

const lagMs = 2500;

export const lateCases: readonly LateCase[] = [
  { name: "begin", point: "begin:funds-requested", ends: ["paid"] },
  { name: "claim", point: "write:claimed", ends: ["paid"] },
  { name: "outcome", point: "write:paid", ends: ["paid"] },
  { name: "confirmation", point: "replace-quote:funds-requested", way: "quote-confirm", ends: ["paid"] },
  { name: "cancellation", point: "replace-quote:declined", way: "quote-cancel", ends: ["declined"] },
  { name: "decline", point: "write:declined", declined: true, ends: ["declined"] },
  { name: "lost response", point: "write:unknown", paymentFault: "lost", ends: ["paid"] },
  { name: "throttled", point: "write:unknown", firstPaymentFault: "throttle", ends: ["paid"] },
  { name: "throttled, again", point: "write:funds-requested", firstPaymentFault: "throttle", ends: ["paid"] },
  { name: "hold", point: "write:held", paymentFault: "reset", ends: ["held"] },
  { name: "refusal, unknown", point: "write:unknown", paymentFault: "refuse", ends: ["rejected"] },
  { name: "refusal", point: "write:refused", paymentFault: "refuse", ends: ["rejected"] },
  { name: "rejection", point: "write:rejected", paymentFault: "refuse", ends: ["rejected"] },
  {
    name: "an operator's resend",
    point: "write:funds-requested",
    before: "run",
    way: "resend",
    firstPaymentFault: "reset",
    listedAfterMs: lagMs,
    ends: ["paid"],
  },
  {
    name: "absence proved",
    point: "write:funds-requested",
    firstPaymentFault: "reset",
    listedWithinMs: lagMs,
    listedAfterMs: lagMs,
    ends: ["paid"],
  },
];

export interface LateWritesOptions {
  readonly detour: Detour;
  readonly node?: string | undefined;
  readonly cases?: readonly LateCase[];
  readonly times: number;
  readonly lanes: number;
  readonly leaseMs: number;
  readonly timeoutMs: number;
}

export interface LateWritesResult extends Verdict {
  /** Writes whose first copy arrived after the outcome was told. */
  readonly late: number;
  /** Cases whose write did not come late, or whose flow ended in another way than expected, and how. That breaks no law. */
  readonly unexpected: ReadonlyMap<LateCase, string>;
  readonly seconds: number;
}

export async function runLateWrites(options: LateWritesOptions): Promise<LateWritesResult> {
  const startedMs = performance.now();
  const { cases = lateCases, leaseMs, timeoutMs } = options;
  const { byKey, lanes } = dealOut(cases, options);
  await using fixture = await CrashFixture.open({
    kind: "postgres",
    node: options.node,
    leaseMs,
    readBackDelayMs: 50,
    ...surroundings((key) => toCrashCase(byKey.get(key)), leaseMs),
    listedAfterMs: (key) => byKey.get(key)?.listedAfterMs ?? 0,
    database: { timeoutMs },
  });
  const { database } = fixture;
  if (database === undefined) throw new Error("late writes need a PostgreSQL server of the test's own");
  const held = new HeldStatements(database);
  const problems: string[] = [];
  const unexpected = new Map<LateCase, string>();
  let late = 0;
  const runLane = async (keys: readonly string[], lane: number): Promise<void> => {
    for (const key of keys) {
      const one = byKey.get(key);
      if (one === undefined) continue;
      const detour = { ...options, held };
      const result = await comeLate(fixture, lane, key, one, detour);
      problems.push(...result.problems.map((problem) => `${key}: ${problem}`));
      if (result.missed === undefined) late += 1;
      else unexpected.set(one, `${key}: ${result.missed}`);
    }
  };
  await Promise.all(lanes.map(runLane));
  const verdict = await fixture.judge(...lanes);
  const seconds = (performance.now() - startedMs) / 1000;
  return { ...verdict, violations: [...verdict.violations, ...problems], late, unexpected, seconds };
}

function toCrashCase(one: LateCase | undefined): CrashCase | undefined {
  return one && { ...one, crashes: [] };
}

/** Statements that the network holds back. */
class HeldStatements {
  readonly #held = new Map<string, { readonly text: string; readonly until: Promise<void>; count: number }>();

  constructor({ proxy }: OwnDatabase) {
    proxy.fateOf = ({ application, text }) => {
      const held = this.#held.get(application);
      // The first copy alone.
      if (held === undefined || held.count > 0 || !text.includes(held.text)) return undefined;
      held.count += 1;
      return { until: held.until };
    };
  }

  /** Holds the next statement of a worker that contains a text; delivers it with what is returned. */
  expect(application: string, text: string): () => boolean {
    let deliver = () => {};
    const until = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    const entry = { text, until, count: 0 };
    this.#held.set(application, entry);
    return () => {
      deliver();
      this.#held.delete(application);
      return entry.count > 0;
    };
  }
}

interface Come {
  readonly problems: readonly string[];
  /** Why the case was not what it should have been. */
  readonly missed?: string;
}

async function comeLate(
  fixture: CrashFixture,
  lane: number,
  key: string,
  one: LateCase,
  { detour, held, timeoutMs }: Pick<LateWritesOptions, "detour" | "timeoutMs"> & { readonly held: HeldStatements },
): Promise<Come> {
  const name = `owner-${lane}-`;
  const facts = one.listedWithinMs === undefined ? {} : { listedWithinMs: one.listedWithinMs };
  await using owner = await fixture.newWorker({ lane, name, ...facts }).ready();
  await using heir = await fixture.newWorker({ lane, name: `heir-${lane}-`, ...facts }).ready();
  const { point, before, way = "run" } = one;
  if (before !== undefined) {
    const ended = owner.settled(key);
    owner.send({ type: "do", tasks: [{ key, way: before }] });
    const first = await soon(ended);
    if (first === undefined) return { problems: [], missed: `${before} did not settle` };
    // Whoever decides otherwise changes what was told.
    fixture.told.splice(fixture.told.indexOf(first), 1);
  }
  const waiting = owner.next("waiting");
  const ended = owner.settled(key);
  owner.send({ type: "expect", trouble: { point: `${point}:before`, key, nth: 1, act: "wait" } });
  owner.send({ type: "do", tasks: [{ key, way }] });
  const isThere = await soon(Promise.race([waiting.then(() => true), ended.then(() => false)]));
  if (isThere !== true) return { problems: [], missed: `never got to ${point}` };
  const deliver = detour === "network" ? onTheWay(held, name, key) : await inBackends(fixture, name);
  const askedMs = performance.now();
  owner.send({ type: "go-on", trouble: { point: `${point}:before`, key } });
  const told = await soon(ended);
  const wasLate = performance.now() - askedMs > timeoutMs * 0.9 && (await deliver());
  if (told === undefined) return { problems: [`not settled after a late ${point}`] };
  const problems = [...(await staysTold(fixture, lane, heir, told))];
  if (!wasLate) return { problems, missed: `no copy of ${point} came late` };
  return one.ends.includes(told.status) ? { problems } : { problems, missed: `ended as ${told.status}` };
}

/** Whatever arrives after an outcome was told changes nothing, and makes nobody do anything. */
async function staysTold(fixture: CrashFixture, lane: number, heir: WorkerProcess, told: Outcome): Promise<string[]> {
  const callsOf = () => fixture.bank.calls.filter(({ key }) => key === told.key);
  const before = callsOf().length;
  const [outcome] = await heir.audit(fixture.journal(lane), [told.key]);
  const recovered = heir.next("recovered");
  heir.send({ type: "recover" });
  await soon(recovered);
  const after = callsOf().slice(before);
  return [
    ...(outcome?.status === told.status ? [] : [`told ${told.status}, and its outcome was ${outcome?.status} then`]),
    ...after.map(({ kind }) => `told ${told.status}, and ${kind}Funds was called after that`),
  ];
}

function onTheWay(held: HeldStatements, name: string, key: string): () => Promise<boolean> {
  const deliver = held.expect(name, key);
  return async () => {
    const wasHeld = deliver();
    await pause(300);
    return wasHeld;
  };
}

/** Stops what serves the worker's idle connections: what it sends next is read only when they go on. */
async function inBackends({ database }: CrashFixture, name: string): Promise<() => Promise<boolean>> {
  if (database === undefined) throw new Error("back ends are those of a PostgreSQL server of the test's own");
  const { server } = database;
  const halted = await haltIdle(server, name);
  return async () => {
    await resumeAll(server, halted);
    await pause(300);
    return halted.length > 0;
  };
}

/** One that renews a lease would keep the flow's row from all others for as long as it is stopped. */
async function haltIdle(server: PostgresServer, name: string): Promise<readonly Backend[]> {
  for (;;) {
    // A write is tried three times.
    const halted = (await server.backends(name)).slice(0, 2);
    for (const backend of halted) await server.halt(backend);
    const pids = halted.map(({ pid }) => pid);
    const isAnyActive = (await server.backends(name)).some(({ pid, isActive }) => isActive && pids.includes(pid));
    if (!isAnyActive) return halted;
    await resumeAll(server, halted);
    await pause(10);
  }
}

async function resumeAll(server: PostgresServer, halted: readonly Backend[]): Promise<void> {
  for (const backend of halted) await server.resume(backend);
}

export function describeLateWrites(result: LateWritesResult): string {
  const { late, unexpected, seconds } = result;
  const ends = `not as expected ${unexpected.size}, ${seconds.toFixed(1)} s`;
  return `late writes ${late}, ${describeLaws(result)}, ${ends}`;
}

async function main(): Promise<number> {
  const {
    times,
    lanes,
    lease: leaseMs,
    timeout: timeoutMs,
  } = scriptOptions({ times: 5, lanes: 6, lease: 4000, timeout: 500 });
  let exitCode = 0;
  for (const detour of ["back end", "network"] as const) {
    const result = await runLateWrites({ detour, times, lanes, leaseMs, timeoutMs });
    exitCode ||= sayAll(result, `${detour}: ${describeLateWrites(result)}`);
  }
  return exitCode;
}

if (isScript(import.meta.url)) process.exitCode = await main();
