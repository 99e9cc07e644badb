/**
 * Several processes compete for few flows of one journal, at random and without regard to one another, while they are killed and stopped,
 * and the database, the network and the file fail. Each records what it asked for and what it was told; then every flow needs an order
 * of its operations that explains all of it:
 *
 *     npx tsx test/crash/histories.ts --journal sqlite --seconds 60 --kills 60 --stops 30 --restores 5 --seed 1
 *     npx tsx test/crash/histories.ts --journal postgres --seconds 60 --kills 60 --stops 30 --backend-stops 30 --delays 60 --failovers 3
 *     npx tsx test/crash/histories.ts --journal log --seconds 60 --kills 60 --stops 30 --restores 5
 *
 * `log` is a journal that a user could have written. `--restores` brings a copy back that was made while the processes went on, `--failovers`
 * kills the server when a replica lags behind it, and promotes that one: what was stored since is lost, and nothing else may be.
 * `--server-kills` kills the server, which recovers.
 */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { checkHistory, describeUnexplained } from "../../src/testing/history/check-history.js";
import { type HistoryEvent, type Operation, toOperations } from "../../src/testing/history/history.js";
import { derivedSeed, seededRandom } from "../faults/seeded-random.js";
import { freePort } from "../support/free-port.mjs";
import type { Defect } from "../testing/history/defects.js";
import { type BuiltWorker, buildWorker } from "./build-worker.js";
import { DatabaseTroubles } from "./database-troubles.js";
import type { HistoryPlace, HistoryWorkerSettings } from "./history-worker.js";
import type { OwnDatabase } from "./journal-place.js";
import { machineNowMs } from "./machine-time.js";
import { nodeWithSqlite } from "./node-with-sqlite.js";
import { PostgresProxy } from "./postgres-proxy.js";
import { PostgresServer } from "./postgres-server.js";
import { isScript, say, scriptOptionsOver } from "./script-options.js";

const faults = ["kills", "stops", "restores", "backendStops", "delays", "serverKills", "failovers"] as const;
type Fault = (typeof faults)[number];

export interface HistoriesOptions extends Readonly<Partial<Record<Fault, number>>> {
  readonly kind: HistoryPlace["kind"];
  readonly node?: string | undefined;
  readonly seed: number;
  readonly seconds: number;
  readonly processes: number;
  /** Of each process. */
  readonly clients: number;
  /** For how long all processes work on the same two flows. Default: 300 ms. */
  readonly flowsMs?: number;
  /** Something that is wrong with the journal, which has to be found. */
  readonly defect?: Defect | undefined;
  /** Over PostgreSQL: reads go to a replica that lags behind, and nobody notices that it is one. */
  readonly readsReplica?: boolean;
}

export interface HistoriesResult extends Readonly<Record<Fault, number>> {
  readonly flows: number;
  readonly operations: number;
  readonly unknown: number;
  /** What no order explains, for a person. */
  readonly unexplained: readonly string[];
  /** Flows with too many orders to be tried. */
  readonly undecided: number;
  /** Restored journals that had the mark of incarnation that they had before. */
  readonly sameIncarnations: number;
  readonly seconds: number;
  readonly checkSeconds: number;
}

const timeoutMs = 300;

export async function runHistories(options: HistoriesOptions): Promise<HistoriesResult> {
  const startedMs = performance.now();
  const done = Object.fromEntries(faults.map((name) => [name, 0])) as Record<Fault, number>;
  await using place = await openPlace(options);
  await using script = await buildWorker("history-worker.ts");
  const { operations, restores } = await record(options, place, script, done);
  const checkedMs = performance.now();
  const { unexplained, ...report } = checkHistory(operations);
  const decided = unexplained.filter((each) => each.operations.length > 0);
  return {
    ...done,
    ...report,
    unexplained: decided.map(describeUnexplained),
    undecided: unexplained.length - decided.length,
    sameIncarnations: restores.filter((restore) => isSameIncarnation(operations, restore)).length,
    seconds: (checkedMs - startedMs) / 1000,
    checkSeconds: (performance.now() - checkedMs) / 1000,
  };
}

interface Recorded {
  readonly operations: readonly Operation[];
  readonly restores: readonly Operation[];
}

async function record(
  options: HistoriesOptions,
  place: OpenedPlace,
  script: BuiltWorker,
  done: Record<Fault, number>,
): Promise<Recorded> {
  const { kind, seed, seconds } = options;
  await using workers = new Workers(options, place, script);
  const random = seededRandom(seed);
  const troubles = place.database && new DatabaseTroubles(place.database, random, timeoutMs);
  const restores: Operation[] = [];
  const restore = async (): Promise<void> => {
    const asOfMs = machineNowMs();
    const bringBack = await place.copy();
    await pause(200 + random() * 600);
    const startMs = machineNowMs();
    const resume = await workers.interrupt(kind !== "postgres");
    await bringBack();
    restores.push({
      client: "the test",
      startMs,
      endMs: machineNowMs(),
      call: { name: "restore", asOfMs },
      told: { isDone: true },
    });
    resume();
  };
  const works: Readonly<Record<Fault, (() => Promise<void>) | undefined>> = {
    kills: async () => workers.kill(random()),
    stops: () => workers.stop(random(), 50 + random() * 250),
    restores: kind === "postgres" ? undefined : restore,
    failovers: kind === "postgres" ? restore : undefined,
    backendStops: troubles && (() => troubles.backendStops()),
    delays: troubles && (() => troubles.delays()),
    serverKills: troubles && (() => troubles.serverKills()),
  };
  await workers.ready();
  const startMs = machineNowMs();
  const happen = async (name: Fault): Promise<void> => {
    const work = works[name];
    const count = options[name] ?? 0;
    if (count > 0 && work === undefined) throw new Error(`there are no ${name} of a journal of this kind`);
    for (let index = 0; index < count; index += 1) {
      await pause(startMs + (seconds * 1000 * (index + 0.2 + 0.6 * random())) / count - machineNowMs());
      await work?.();
      done[name] += 1;
    }
  };
  await Promise.all([...faults.map(happen), pause(seconds * 1000)]);
  await workers[Symbol.asyncDispose]();
  const operations = [...(await workers.operations()), ...restores];
  return { operations, restores };
}

interface Slot {
  child?: ChildProcess;
  ended?: Promise<void>;
}

/** Processes, and others in the place of those that end. */
class Workers implements AsyncDisposable {
  readonly #options: HistoriesOptions;
  readonly #place: OpenedPlace;
  readonly #script: BuiltWorker;
  readonly #slots: Slot[];
  /** When each process had ended. */
  readonly #ends = new Map<string, number>();
  #started = 0;
  #isHalted = false;

  constructor(options: HistoriesOptions, place: OpenedPlace, script: BuiltWorker) {
    this.#options = options;
    this.#place = place;
    this.#script = script;
    this.#slots = Array.from({ length: options.processes }, () => ({}));
    for (const slot of this.#slots) this.#start(slot);
  }

  async ready(): Promise<void> {
    await Promise.all(this.#slots.map(({ child }) => child && once(child, "message")));
  }

  kill(at: number): void {
    this.#pick(at)?.child?.kill("SIGKILL");
  }

  async stop(at: number, ms: number): Promise<void> {
    const child = this.#pick(at)?.child;
    child?.kill("SIGSTOP");
    await pause(ms);
    child?.kill("SIGCONT");
  }

  /** Ends all processes, if that is wanted; starts them again when it is told to. */
  async interrupt(isWanted: boolean): Promise<() => void> {
    if (!isWanted) return () => {};
    await this[Symbol.asyncDispose]();
    return () => {
      this.#isHalted = false;
      for (const slot of this.#slots) this.#start(slot);
    };
  }

  async operations(): Promise<readonly Operation[]> {
    const names = await readdir(this.#place.records);
    const texts = await Promise.all(names.map((name) => readFile(join(this.#place.records, name), "utf8")));
    // What a process could not write as a whole before it was killed, it had not done yet, or not told.
    const lines = texts.flatMap((text) => text.split("\n").slice(0, -1));
    const operations = toOperations(lines.map((line): HistoryEvent => JSON.parse(line)));
    // Only a database does what a process asked for when that process is dead.
    if (this.#options.kind === "postgres") return operations;
    return operations.map((each) => ({
      ...each,
      endMs: Math.min(each.endMs, this.#ends.get(each.client.split(".")[0] ?? "") ?? each.endMs),
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isHalted = true;
    for (const { child } of this.#slots) child?.kill("SIGKILL");
    await Promise.all(this.#slots.map(({ ended }) => ended));
  }

  #pick(at: number): Slot | undefined {
    return this.#slots[Math.floor(at * this.#slots.length)];
  }

  #start(slot: Slot): void {
    this.#started += 1;
    const name = `process ${this.#started}`;
    const { seed, clients, flowsMs = 300, defect } = this.#options;
    const settings: HistoryWorkerSettings = {
      ...{ place: this.#place.place, name, clients, flowsMs, defect },
      records: join(this.#place.records, `${this.#started}.jsonl`),
      seed: derivedSeed(seed, this.#started),
    };
    const { node } = this.#place;
    const child = fork(this.#script.path, {
      execPath: node,
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.send(settings, () => {});
    slot.child = child;
    slot.ended = once(child, "exit").then(() => {
      this.#ends.set(name, machineNowMs());
      if (!this.#isHalted) this.#start(slot);
    });
  }
}

interface OpenedPlace extends AsyncDisposable {
  readonly place: HistoryPlace;
  readonly node: string;
  /** The folder of what processes record. */
  readonly records: string;
  readonly database?: OwnDatabase;
  /** Copies the journal as it is after this call began; what is returned puts the copy in its place. */
  copy(): Promise<() => Promise<void>>;
}

async function openPlace({ kind, node, readsReplica = false }: HistoriesOptions): Promise<OpenedPlace> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-histories-"));
  const records = await mkdtemp(join(folder, "records-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  const file = join(folder, "flows");
  if (kind === "postgres") return openPostgres(records, node ?? process.execPath, readsReplica, remove);
  const own = { records, [Symbol.asyncDispose]: remove };
  if (kind === "sqlite") {
    const withSqlite = nodeWithSqlite(node);
    const copy = () => copySqlite(withSqlite, file);
    return { ...own, place: { kind, file }, node: withSqlite, copy };
  }
  const copyLog = async () => {
    await copyFile(file, `${file}.copy`);
    return () => rename(`${file}.copy`, file);
  };
  return { ...own, place: { kind, file, port: await freePort() }, node: node ?? process.execPath, copy: copyLog };
}

async function openPostgres(
  records: string,
  node: string,
  readsReplica: boolean,
  remove: () => Promise<void>,
): Promise<OpenedPlace> {
  let server = await PostgresServer.start();
  const servers = [server];
  const proxy = await PostgresProxy.start(server.url);
  const database = {
    proxy,
    get server() {
      return server;
    },
  };
  const url = new URL(proxy.url);
  url.searchParams.set("application_name", "worker");
  const follow = async (): Promise<PostgresServer> => {
    const standby = await server.standby();
    servers.push(standby);
    return standby;
  };
  const replica = readsReplica ? await follow() : undefined;
  await replica?.lagBehind(50);
  return {
    ...{ records, node, database },
    place: { kind: "postgres", url: url.href, timeoutMs, ...(replica && { replicaUrl: replica.url }) },
    async copy() {
      const standby = await follow();
      await standby.detach();
      return async () => {
        await server.kill();
        await standby.promote();
        server = standby;
        proxy.leadTo(standby.url);
      };
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const each of servers) await each[Symbol.asyncDispose]();
      await remove();
    },
  };
}

const run = promisify(execFile);

/** With the log beside it, which is part of what a copy must not lose, and which the copy must not find. */
async function copySqlite(node: string, file: string): Promise<() => Promise<void>> {
  const copy = `${file}.copy`;
  const program = `new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec("PRAGMA busy_timeout = 5000; VACUUM INTO '" + process.argv[2] + "'")`;
  await run(node, ["--no-warnings", "-e", program, file, copy]);
  return async () => {
    for (const log of [`${file}-wal`, `${file}-shm`]) await rm(log, { force: true });
    await rename(copy, file);
  };
}

function isSameIncarnation(operations: readonly Operation[], { startMs, endMs }: Operation): boolean {
  const marks = (when: (operation: Operation) => boolean): ReadonlySet<string> =>
    new Set(operations.flatMap((each) => (when(each) ? (each.told?.entry?.incarnation ?? []) : [])));
  const before = marks((each) => each.endMs < startMs);
  return [...marks((each) => each.startMs > endMs)].some((mark) => before.has(mark));
}

export function describeHistories(result: HistoriesResult): string {
  const { flows, operations, unknown, unexplained, undecided, sameIncarnations, seconds, checkSeconds } = result;
  const happened = faults.filter((name) => result[name] > 0).map((name) => `${name} ${result[name]}`);
  return [
    `${operations} operations on ${flows} flows, ${unknown} of them with an unknown end`,
    ...happened,
    `unexplained ${unexplained.length}, undecided ${undecided}, same incarnations ${sameIncarnations}`,
    `${seconds.toFixed(1)} s, checked in ${checkSeconds.toFixed(1)} s`,
  ].join("; ");
}

async function main(): Promise<number> {
  const defaults = { seconds: 30, processes: 4, clients: 3, kills: 0, stops: 0, restores: 0, failovers: 0, delays: 0 };
  const options = scriptOptionsOver(["sqlite", "postgres", "log"], {
    ...defaults,
    "backend-stops": 0,
    "server-kills": 0,
  });
  const { kind, seed } = options;
  say(`journal ${kind}, seed ${seed}`);
  const server = { backendStops: options["backend-stops"], serverKills: options["server-kills"] };
  const result = await runHistories({ ...options, ...server });
  for (const text of result.unexplained) say(text);
  say(describeHistories(result));
  return result.unexplained.length + result.undecided + result.sameIncarnations === 0 ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();
