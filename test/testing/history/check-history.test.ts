import { type JournalEntry, MemoryJournal } from "cross-border-payments/flow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, describeUnexplained } from "../../../src/testing/history/check-history.js";
import { CompetingClient } from "../../../src/testing/history/competing-client.js";
import {
  type HistoryEvent,
  type JournalCall,
  type Operation,
  toOperations,
} from "../../../src/testing/history/history.js";
import { recordedJournal } from "../../../src/testing/history/recorded-journal.js";
import { seededRandom } from "../../faults/seeded-random.js";
import { runs } from "../../support/thorough.js";

const key = "flow";
const scope = { service: "https://service.example", gateway: "gateway" };
const state = (data: string, settled = false) => ({ phase: settled ? "paid" : "open", settled, data, evidence: "" });
const quote = (data: string, quoteTtlMs: number) => ({ ...state(data), phase: "quoted", settled: true, quoteTtlMs });
const lease = (nonce: string, leaseMs = 1000) => ({ owner: "owner", leaseMs, nonce });
const first = { epoch: 1, nonce: "one", revision: 1 };

/** The entry that `begin` stores at 0 ms, by a clock that is the clients' own. */
const entry = (change: Partial<JournalEntry> = {}): JournalEntry => ({
  ...{ key, scope, ...first, ...state("first"), owner: "owner", createdAtMs: 0, updatedAtMs: 0 },
  ...{ leaseUntilMs: 1000, leaseMs: 1000, isExpired: false, isOverlong: false, ...change },
});

type Line = readonly [startMs: number, endMs: number, call: JournalCall, told?: Operation["told"]];

function check(...lines: readonly Line[]) {
  const operations = lines.map(
    ([startMs, endMs, call, told], index): Operation => ({ client: `${index}`, startMs, endMs, call, told }),
  );
  return checkHistory(operations).unexplained.map((each) => each.operations.map(({ client }) => Number(client)));
}

const never = Number.POSITIVE_INFINITY;
const done = { isDone: true };
const no = { isDone: false };
const begun: Line = [
  0,
  0,
  { name: "begin", key, scope, state: state("first"), lease: lease("one") },
  { isDone: true, entry: entry() },
];
const write = (revision: number, data: string, named: object = {}): JournalCall => ({
  ...{ name: "write", key, id: { ...first, ...named, revision }, state: state(data) },
});
const read: JournalCall = { name: "read", key };
const acquire = (nonce: string): JournalCall => ({ name: "acquire", key, lease: lease(nonce) });
const shows = (change: Partial<JournalEntry>) => ({ isDone: true, entry: entry(change) });
const second = { revision: 2, data: "second", updatedAtMs: 10 };

describe("histories that are known to be good", () => {
  const good: Readonly<Record<string, readonly Line[]>> = {
    "one thing after the other": [begun, [10, 11, write(1, "second"), done], [20, 21, read, shows(second)]],
    "a read that is under way beside a write": [begun, [10, 30, write(1, "second"), done], [11, 12, read, shows({})]],
    "two reads beside a write, one of each state": [
      begun,
      [10, 30, write(1, "second"), done],
      [11, 12, read, shows({})],
      [13, 14, read, shows({ ...second, updatedAtMs: 13 })],
    ],
    "a write that nobody heard of, and that comes late": [
      begun,
      [10, never, write(1, "second")],
      [20, 21, read, shows({})],
      [30, 31, read, shows({ ...second, updatedAtMs: 25 })],
    ],
    "a write that never comes": [begun, [10, never, write(1, "second")], [900, 901, read, shows({})]],
    "a write and its repetition": [
      begun,
      [10, never, write(1, "second")],
      [20, 21, write(1, "second"), done],
      [30, 31, write(1, "second"), done],
      [40, 41, read, shows({ ...second, updatedAtMs: 20 })],
    ],
    "a quote that expires while a database is at work on it": [
      [
        ...([0, 0] as const),
        { name: "begin", key, scope, state: quote("first", 100), lease: lease("one") },
        shows({ ...quote("first", 100), expiresAtMs: 100, leaseUntilMs: undefined, leaseMs: undefined }),
      ],
      [
        60,
        130,
        acquire("two"),
        shows({
          ...quote("first", 100),
          epoch: 2,
          nonce: "two",
          expiresAtMs: 100,
          leaseUntilMs: 1090,
          isExpired: true,
        }),
      ],
    ],
    "a lease that is taken over at its end": [
      begun,
      [999, 999, acquire("two"), no],
      [1000, 1000, acquire("three"), shows({ epoch: 2, nonce: "three", leaseUntilMs: 2000 })],
    ],
    "a journal that was restored to before a write": [
      begun,
      [10, 11, write(1, "second"), done],
      [20, 30, { name: "restore", asOfMs: 5 }, done],
      [40, 41, read, shows({})],
    ],
  };
  it.each(Object.entries(good))("%s", (_, lines) => {
    expect(check(...lines)).toEqual([]);
  });
});

describe("histories that are known to be bad", () => {
  const bad: Readonly<Record<string, readonly [shortest: readonly number[], ...lines: readonly Line[]]>> = {
    "a read of the old state when the write has ended": [
      [1, 2],
      begun,
      [10, 11, write(1, "second"), done],
      [20, 21, read, shows({})],
    ],
    "two reads beside a write, the old state last": [
      [2, 3],
      begun,
      [10, 30, write(1, "second"), done],
      [11, 12, read, shows({ ...second, updatedAtMs: 11 })],
      [13, 14, read, shows({})],
    ],
    "a late write that names an older revision and overwrites an outcome": [
      [4],
      begun,
      [10, never, write(1, "second")],
      [20, 21, write(1, "third"), done],
      [30, 31, write(2, "outcome"), done],
      [40, 41, read, shows({ revision: 4, data: "second", updatedAtMs: 35 })],
    ],
    "a write under another nonce of the same epoch": [[1], begun, [10, 11, write(1, "second", { nonce: "two" }), done]],
    "a repetition that is applied again": [
      [3],
      begun,
      [10, never, write(1, "second")],
      [20, 21, write(1, "second"), done],
      [30, 31, read, shows({ revision: 3, data: "second", updatedAtMs: 20 })],
    ],
    "two writes that replace one state": [
      [1, 2],
      begun,
      [10, 20, write(1, "second"), done],
      [10, 20, write(1, "third"), done],
    ],
    "a lease that is taken over before its end": [
      [1],
      begun,
      [900, 901, acquire("two"), shows({ epoch: 2, nonce: "two", leaseUntilMs: 1901 })],
    ],
    "a lease that nobody gets after its end": [[0, 1], begun, [1100, 1101, acquire("two"), no]],
    "two owners of one lease": [
      [1, 2],
      begun,
      [1100, 1102, acquire("two"), shows({ epoch: 2, nonce: "two", leaseUntilMs: 2101 })],
      [1100, 1102, acquire("three"), shows({ epoch: 2, nonce: "three", leaseUntilMs: 2101 })],
    ],
    "a write that was told, and is gone without a restore": [
      [1, 2],
      begun,
      [10, 11, write(1, "second"), done],
      [20, 21, read, { isDone: false }],
    ],
    "a journal that was restored to before the copy was made": [
      [2, 4],
      begun,
      [10, 11, write(1, "second"), done],
      [12, 13, write(2, "third"), done],
      [20, 30, { name: "restore", asOfMs: 12 }, done],
      [40, 41, read, shows({})],
    ],
    "a quote that is confirmed when its time is over": [
      [1],
      [
        0,
        0,
        { name: "begin", key, scope, state: quote("first", 100), lease: lease("one") },
        shows({ ...quote("first", 100), expiresAtMs: 100, leaseUntilMs: undefined, leaseMs: undefined }),
      ],
      [
        ...([120, 121] as const),
        { name: "replaceQuote", key, id: first, state: state("second"), lease: lease("two"), expired: false },
        shows({ ...second, epoch: 2, nonce: "two", updatedAtMs: 120, leaseUntilMs: 1120 }),
      ],
    ],
  };
  it.each(Object.entries(bad))("%s", (_, [shortest, ...lines]) => {
    expect(check(...lines)).toEqual([shortest]);
  });

  it("shows what was asked for and told, with what it speaks of", () => {
    const lines = [begun, [10, 11, write(1, "second"), done], [20, 21, read, shows({})]] as const;
    const operations = lines.map(([startMs, endMs, call, told]) => ({
      client: "a client",
      startMs,
      endMs,
      call,
      told,
    }));
    expect(checkHistory(operations).unexplained.map(describeUnexplained)).toEqual([
      [
        `flow "flow": no order of its operations explains what those with ! were told`,
        `  0.000 to 0.000 ms, a client: begin scope {"service":"https://service.example","gateway":"gateway"}, state {"phase":"open","settled":false,"data":"first","evidence":""}, lease {"owner":"owner","leaseMs":1000,"nonce":"one"} → done, {"epoch":1,"nonce":"one","revision":1,"phase":"open","data":"first","leaseUntilMs":1000,"isExpired":false}`,
        `! 10.000 to 11.000 ms, a client: write id {"epoch":1,"nonce":"one","revision":1}, state {"phase":"open","settled":false,"data":"second","evidence":""} → done`,
        `! 20.000 to 21.000 ms, a client: read  → done, {"epoch":1,"nonce":"one","revision":1,"phase":"open","data":"first","leaseUntilMs":1000,"isExpired":false}`,
      ].join("\n"),
    ]);
  });
});

/** Operations that a journal did one after the other, each as if it had been under way before and after that for a time. */
async function sequential(seed: number, count: number, stretchMs: number): Promise<readonly Operation[]> {
  const random = seededRandom(seed);
  let nowMs = 1_700_000_000_000;
  const events: HistoryEvent[] = [];
  const journal = recordedJournal(new MemoryJournal({ nowMs: () => Math.floor(nowMs) }), {
    client: "a client",
    record: (event) => void events.push(event),
    nowMs: () => nowMs,
  });
  const clients = Array.from(
    { length: 4 },
    (_, index) =>
      new CompetingClient({
        journal,
        name: `client ${index}`,
        scopeOf: () => scope,
        nextKey: () => key,
        shortMs: 20,
        random,
      }),
  );
  for (let index = 0; index < count; index += 1) {
    nowMs += 1 + random() * 4;
    await clients[Math.floor(random() * clients.length)]?.act();
  }
  return toOperations(events).map((operation) => {
    const startMs = operation.startMs - random() * stretchMs;
    // Some are never heard of again.
    return random() < 0.1
      ? { ...operation, startMs, endMs: Number.POSITIVE_INFINITY, told: undefined }
      : { ...operation, startMs, endMs: operation.endMs + random() * stretchMs };
  });
}

describe("random histories", () => {
  it("of a journal that does one thing after the other are accepted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.constantFrom(0, 5, 30), async (seed, stretchMs) => {
        const { unexplained } = checkHistory(await sequential(seed, 60, stretchMs));
        expect(unexplained.map(describeUnexplained)).toEqual([]);
      }),
      { numRuns: runs(150) },
    );
  });

  /** Of what was told, something else. */
  const mutations: Readonly<Record<string, (operation: Operation) => Operation["told"]>> = {
    "the contrary of a true or false": ({ told }) =>
      told === undefined || told.entry !== undefined ? undefined : { isDone: !told.isDone },
    "another revision": ({ told }) => changed(told, ({ revision }) => ({ revision: revision + 1 })),
    "another epoch": ({ told }) => changed(told, ({ epoch }) => ({ epoch: epoch + 1 })),
    "another end of a lease": ({ told }) =>
      changed(told, ({ leaseUntilMs }) =>
        leaseUntilMs === undefined ? undefined : { leaseUntilMs: leaseUntilMs + 60 },
      ),
    "other data": ({ told }) => changed(told, () => ({ data: "other" })),
    "nothing in place of an entry": ({ call, told }) =>
      told?.entry === undefined || call.name === "begin" ? undefined : { isDone: false },
  };
  function changed(told: Operation["told"], change: (entry: JournalEntry) => Partial<JournalEntry> | undefined) {
    const changes = told?.entry && change(told.entry);
    return told?.entry && changes && { ...told, entry: { ...told.entry, ...changes } };
  }

  it.each(Object.keys(mutations))("in which one operation was told %s are refused", async (name) => {
    const mutate = mutations[name] ?? (() => undefined);
    let [tried, refused] = [0, 0];
    for (let seed = 1; seed <= runs(120); seed += 1) {
      const operations = await sequential(seed, 40, 3);
      const random = seededRandom(seed);
      const candidates = operations.filter((each) => each.call.name !== "release" && mutate(each) !== undefined);
      const victim = candidates[Math.floor(random() * candidates.length)];
      if (victim === undefined) continue;
      tried += 1;
      const mutated = operations.map((each) => (each === victim ? { ...each, told: mutate(each) } : each));
      if (checkHistory(mutated).unexplained.length > 0) refused += 1;
    }
    process.stdout.write(`${name}: ${refused} of ${tried} refused\n`);
    expect(refused / tried).toBeGreaterThan(0.8);
  });
});
