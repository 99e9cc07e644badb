import assert from "node:assert/strict";
import type { FlowScope, Journal, JournalEntry, JournalState, LeaseRequest, PhaseCount } from "../flows/journal.js";
import { MemoryJournal } from "../flows/memory-journal.js";
import { comparing, type Laws, longMs, mapLaws, onlyWinner, pick, times } from "./laws.js";

/** A journal, and how long its short leases last. */
export interface JournalWorld {
  readonly journal: Journal;
  /** Another handle of the same store, or the same handle if the store has only one. */
  readonly second: Journal;
  /** Every key of a law begins with it, and follows all keys of the laws before. */
  readonly key: string;
  readonly shortMs: number;
  readonly wait: (ms: number) => Promise<void>;
  /** A journal with a clock of its own can be checked for what happens after a day. */
  readonly canWaitForDays: boolean;
  readonly workers: number;
  readonly flows: number;
}

type JournalFixture = ReturnType<typeof fixtureOf>;

const dayMs = 86_400_000;
/** Each law has a gateway of its own. */
const scopeOf = (key: string): FlowScope => ({ service: "service.example", gateway: key });
export const open = (data = "{}", phase = "open"): JournalState => ({ phase, settled: false, data });
export const done = (data = "{}", phase = "done"): JournalState => ({ phase, settled: true, data });
const quote = (quoteTtlMs: number, data = "{}"): JournalState => ({ ...done(data, "quoted"), quoteTtlMs });
const inTime = (lease: LeaseRequest) => ({ lease, inTime: true });
const atAnyTime = (lease: LeaseRequest) => ({ lease, inTime: false });

/** What a law is checked with. */
export function fixtureOf(world: JournalWorld) {
  const { journal, key: prefix, shortMs, wait } = world;
  let leases = 0;
  /** With the next nonce. */
  const lease = (leaseMs = longMs): LeaseRequest => {
    leases += 1;
    return { owner: `worker ${leases}`, leaseMs, nonce: `n${leases}` };
  };
  const begin = async (key: string, state: JournalState, leaseMs = longMs, scope = scopeOf(prefix)) =>
    (await journal.begin(key, scope, state, lease(leaseMs))).entry;
  return {
    ...world,
    lease,
    begin,
    acquire: (key: string, request = lease()) => journal.acquire(key, request),
    /** A new open flow without an owner. */
    abandon: async (key: string, scope: FlowScope) => journal.release(key, await begin(key, open(), longMs, scope)),
    present: async (key: string) => defined(await journal.read(key)),
    /** Waits until a lease of `shortMs` that was granted before has ended. Clocks of databases tick apart from timers. */
    outlive: () => wait(shortMs + 50),
  };
}

function defined(entry: JournalEntry | undefined): JournalEntry {
  assert.ok(entry, "there is such a flow");
  return entry;
}

export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(comparable(actual), comparable(expected), message);
}

/** Different in bytes, although some database would take them for equal, or order them otherwise. */
const awkwardEndings = [
  ..."aAzZ0_%'\"`\\-.~?$;",
  ...["a ", " a", "aa", "ä", "a\u0308", "é", "e\u0301", "ß", "ss", "ı", "İ", "\uFFFD", "😀", "李雷", "''", "$1"],
  ...["\n", "\t", "\u00A0", "\u200B", "𐀀", "\uE000", "null", "__proto__"],
];

/**
 * The laws of the interface `Journal` as sequences of calls. Each reply must equal that of a `MemoryJournal`, except for the
 * differences that `comparable` removes.
 */
const sequentialLaws: Laws<JournalFixture> = {
  async "begin stores and leases a new flow, or returns what is there; it knows its own repetition"({
    journal,
    key,
    begin,
  }) {
    await journal.read(key);
    await begin(key, open("data", "claimed"));
    await begin(key, open("second", "other"), longMs, scopeOf("another"));
    await begin(`${key}settled`, done());
  },
  async "write names the state that it replaces; its repetition is true and changes nothing"({
    journal,
    key,
    acquire,
    lease,
  }) {
    const request = lease();
    const start = () => journal.begin(key, scopeOf(key), open("first"), request);
    const { entry } = await start();
    const stored = { ...entry, revision: 2 };
    const state = open("second", "claimed");
    await journal.write(key, stored, state);
    await journal.write(key, entry, state);
    await start();
    for (const other of [open("other", "claimed"), open("second", "other"), done("second", "claimed")]) {
      await journal.write(key, entry, other);
    }
    await journal.write(key, entry, open("other"), atAnyTime(lease()));
    await journal.write(key, stored, done("third", "held"));
    await journal.write(key, entry, state);
    await acquire(key);
    await journal.write(key, stored, done("third", "held"));
  },
  async "a lease ends by time, a release, or a settled state; acquire raises the epoch, and renew sets the end"({
    journal,
    key,
    shortMs,
    begin,
    acquire,
    lease,
    outlive,
  }) {
    await acquire(key);
    const entry = await begin(key, open("kept"), shortMs);
    await acquire(key);
    await outlive();
    await journal.write(key, entry, open("late"));
    await journal.renew(key, entry, longMs);
    await acquire(key);
    // The new end counts, although it's earlier.
    await journal.renew(key, entry, shortMs);
    await outlive();
    const request = lease();
    const taken = defined(await acquire(key, request));
    await acquire(key);
    await journal.release(key, taken);
    await journal.renew(key, taken, longMs);
    await journal.write(key, taken, open("written"));
    const last = defined(await acquire(key));
    await journal.write(key, last, done());
    await journal.renew(key, last, longMs);
    for (const each of [lease(), request]) await acquire(key, each);
  },
  async "only the owner writes, renews, and releases"({ journal, key, shortMs, begin, acquire, lease, outlive }) {
    const before = await begin(key, open("before"), shortMs);
    await outlive();
    const taken = defined(await acquire(key));
    for (const other of [before, { ...taken, nonce: "another" }, { ...taken, epoch: 3 }, { ...taken, epoch: 1 }]) {
      for (const each of [key, `${key}none`]) {
        for (const state of [open("stale"), done("stale")]) await journal.write(each, other, state);
        await journal.write(each, other, open("stale"), atAnyTime(lease()));
        await journal.renew(each, other, longMs);
        await journal.release(each, other);
      }
    }
    await journal.write(key, taken, done("after"));
  },
  async "a quote has no lease, and is replaced only as it was read, and in time if asked to"({
    journal,
    key,
    shortMs,
    begin,
    acquire,
    lease,
    present,
    outlive,
  }) {
    const request = lease();
    const { entry: quoted } = await journal.begin(key, scopeOf(key), quote(longMs), request);
    for (const each of [lease(), request]) await acquire(key, each);
    for (const state of [open(), quote(longMs, "another price")]) await journal.write(key, quoted, state);
    await journal.renew(key, quoted, longMs);
    await journal.release(key, quoted);
    const again = atAnyTime(lease());
    for (const other of [{ nonce: "another" }, { epoch: 2 }, { revision: 2 }]) {
      await journal.write(key, { ...quoted, ...other }, open(), again);
    }
    await journal.write(key, quoted, quote(longMs, "another price"), again);
    const repriced = await present(key);
    const confirming = inTime(lease());
    await journal.write(key, quoted, open(), inTime(lease()));
    await journal.write(key, repriced, open("confirmed"), confirming);
    await journal.write(key, repriced, open("other"), confirming);
    await journal.write(key, repriced, open("confirmed"), inTime(lease()));
    await journal.write(key, await present(key), done());
    const canceled = await begin(`${key}canceled`, quote(longMs));
    await journal.write(canceled.key, canceled, done("", "declined"), again);
    const short = await begin(`${key}short`, quote(shortMs));
    await outlive();
    await journal.write(short.key, short, open("confirmed"), inTime(lease()));
    await journal.write(short.key, short, quote(longMs), atAnyTime(lease()));
  },
  async "acquireAbandoned takes open flows without a valid lease only, also among many"({
    journal,
    key,
    shortMs,
    begin,
    abandon,
    lease,
    outlive,
  }) {
    const scope = scopeOf(key);
    // More of them, and more bytes, than databases give on one page.
    const long = open("x".repeat(1024));
    await Promise.all(times(1100, (index) => begin(`${key}1 ${index}`, long)));
    await begin(`${key}2 settled`, done(), shortMs);
    await begin(`${key}3 a quote`, quote(shortMs), shortMs);
    await begin(`${key}4 ended`, open("kept"), shortMs);
    await abandon(`${key}5`, scope);
    await outlive();
    await journal.list({ scope, limit: 0, counts: true });
    for (const after of [key, `${key}4 ended`, key]) await journal.acquireAbandoned(scope, lease(), after);
  },
  async "list, its counts, and acquireAbandoned see their own scope only"({ journal, key, begin, abandon, lease }) {
    const service = `${key}service`;
    const scopes = [
      { service, gateway: "a" },
      { service, gateway: "A" },
      { service: `${service}:8443`, gateway: "a" },
    ];
    for (const [index, scope] of scopes.entries()) {
      await abandon(`${key}${index} open`, scope);
      const states = [open("", "claimed"), done("", "held"), done("", "held"), done("", "paid"), quote(longMs)];
      for (const [at, state] of states.entries()) await begin(`${key}${index} ${at}`, state, longMs, scope);
    }
    for (const scope of [{ service, gateway: "A" }, { service }, { service: `${service}/none` }]) {
      await journal.list({ scope, limit: 10, counts: true });
      await journal.list({ scope, phase: "held", limit: 10 });
      for (const request of [lease(), lease()]) await journal.acquireAbandoned(scope, request, undefined);
    }
  },
  async "keys are compared, listed page by page, and acquired by their UTF-8 bytes"({
    journal,
    key: prefix,
    begin,
    abandon,
    lease,
  }) {
    const scope = scopeOf(prefix);
    const keys = [...awkwardEndings, "x".repeat(1024 - Buffer.byteLength(prefix))].map((ending) => prefix + ending);
    for (const key of keys) await abandon(key, scope);
    await begin(`${prefix}other`, quote(longMs));
    for (const phase of ["open", "quoted", undefined]) {
      for (let after: string | undefined = ""; after !== undefined; ) {
        const { entries } = await journal.list({ scope, phase, after, limit: 4 });
        after = entries.at(3)?.key;
      }
    }
    for (let after: string | undefined = ""; after !== undefined; ) {
      const taken = await journal.acquireAbandoned(scope, lease(), after);
      // Free again, and its key isn't after.
      if (taken !== undefined) await journal.release(taken.key, taken);
      after = taken?.key;
    }
  },
  async "prune leaves tombstones of old flows that are over, and deletes quotes a day after their end"({
    journal,
    key: prefix,
    shortMs,
    begin,
    acquire,
    lease,
    present,
    outlive,
    wait,
    canWaitForDays,
  }) {
    const scope = scopeOf(prefix);
    const phases = ["declined", "held", "paid", "rejected"];
    for (const phase of phases) await begin(prefix + phase, done(phase, phase));
    const settling = await begin(`${prefix}settling`, open());
    const old = await begin(`${prefix}old quote`, quote(shortMs));
    const confirmed = await begin(`${prefix}confirmed`, quote(shortMs));
    await journal.write(confirmed.key, confirmed, open(), atAnyTime(lease()));
    await outlive();
    const young = await begin(`${prefix}young`, done("young", "paid"));
    await journal.write(settling.key, settling, done("just paid", "paid"));
    const settledBeforeMs = young.updatedAtMs;
    const quotedBeforeMs = Number(old.expiresAtMs) + longMs;
    for (const options of [{ quotedBeforeMs }, { settledBeforeMs }, { settledBeforeMs, quotedBeforeMs }]) {
      await journal.prune(options);
      await journal.list({ scope, limit: 20, counts: true });
    }
    for (const phase of phases) {
      const { key, ...tombstone } = await present(prefix + phase);
      await begin(key, open("again"));
      // A held flow isn't pruned, and can be leased.
      await acquire(key);
      await journal.write(key, tombstone, open("late"));
      await journal.renew(key, tombstone, longMs);
      await journal.release(key, tombstone);
    }
    if (!canWaitForDays) return;
    await wait(dayMs);
    await begin(`${prefix}fresh quote`, quote(longMs));
    await journal.prune({ quotedBeforeMs: Number(old.expiresAtMs) + 1 });
    await journal.list({ scope, limit: 20 });
    await begin(old.key, done());
  },
  async "data comes back exactly as it was given, even 1 MiB of it"({ journal, key: prefix, begin, lease, present }) {
    const texts = [
      ...["", " ", "\r\n\t", "'; DROP TABLE flows; --", "\\x00 \\u0000 %s $1 ? @key", "\u0001", "{,}", "NULL"],
      ...["Zoë 李雷 😀 \u2028 \uFEFF e\u0301 é", `{"a":"\\u0000"}`, '{ "b": 12345678901234567890, "a": -0 }'],
      "0123456789abcdé".repeat(2 ** 16),
    ];
    for (const [index, text] of texts.entries()) {
      const quoted = await begin(`${prefix}${index}`, quote(longMs, text));
      await journal.write(quoted.key, quoted, open(`!${text}`), inTime(lease()));
      await journal.write(quoted.key, await present(quoted.key), done(`${text} `));
    }
  },
};

/** Calls a journal in memory, then the journal to check, which must reply the same. */
async function checkLikeMemory(check: Laws<JournalFixture>[string], world: JournalWorld): Promise<void> {
  let nowMs = 1_700_000_000_000;
  const wait = async (ms: number): Promise<void> => {
    nowMs += ms;
  };
  const { record, compare } = comparing<Journal>(() => (reply, method) => comparable(reply, method, world.key));
  const model = record(new MemoryJournal({ nowMs: () => nowMs }));
  await check(fixtureOf({ ...world, journal: model, second: model, wait }));
  const journal = compare(world.journal, world.second);
  await check(fixtureOf({ ...world, journal, second: journal }));
}

/**
 * Times count from when the entry was read, in steps of ten minutes, since the leases and quotes here either last ten minutes or
 * end. Only the law's own flows are counted. The number of pruned flows isn't compared, since the store may hold other flows.
 */
function comparable(reply: unknown, method?: string, key = ""): unknown {
  if (method === "prune") return undefined;
  const own = (counts: readonly PhaseCount[]) =>
    counts
      .map((count) => JSON.stringify(count, ["service", "gateway", "phase", "settled", "flows", "unowned"]))
      .filter((count) => count.includes(key))
      .sort();
  const text = JSON.stringify(
    reply ?? null,
    function (this: { readonly readAtMs?: number }, name: string, value: unknown) {
      if (name === "counts") return own(value as readonly PhaseCount[]);
      if (name === "readAtMs") return undefined;
      if (!name.endsWith("Ms") || !Number.isInteger(value)) return value;
      return `${Math.round((Number(value) - Number(this.readAtMs)) / longMs)} leases`;
    },
  );
  return JSON.parse(text);
}

/** Laws about many calls at once, which may run in any order. */
const raceLaws: Laws<JournalFixture> = {
  async "of many that begin, acquire, or replace one flow at once, exactly one does"({
    journal,
    second,
    key,
    shortMs,
    begin,
    lease,
    present,
    outlive,
  }) {
    const atOnce = <T>(call: (handle: Journal, index: number) => Promise<T>) =>
      Promise.all(times(20, (index) => call(pick(index >> 1, journal, second), index)));
    const begun = await atOnce((handle, index) => handle.begin(key, scopeOf(key), open(`${index}`), lease(shortMs)));
    const first = onlyWinner(begun, ({ created }) => created);
    for (const { entry } of begun) assertSame(entry, begun[first]?.entry);
    await outlive();
    const taken = await atOnce((handle) => handle.acquire(key, lease()));
    assert.equal(taken[onlyWinner(taken)]?.epoch, 2);
    const quoted = await begin(`${key}quote`, quote(longMs));
    const replaced = await atOnce((handle, index) =>
      handle.write(quoted.key, quoted, open(`${index}`), { lease: lease(), inTime: index % 3 === 0 }),
    );
    const winner = onlyWinner(replaced);
    const { epoch, revision, data } = await present(quoted.key);
    assert.deepEqual({ epoch, revision, data }, { epoch: 2, revision: 2, data: `${winner}` });
  },
  async "writes that are repeated, late, and out of order are stored once and in order"({
    journal,
    second,
    key: prefix,
    begin,
    present,
    flows,
  }) {
    const states = [...times(4, (index) => open(`state ${index}`)), done("the outcome", "paid")];
    /** Each write is sent twice, through both handles, beside all that were sent before. */
    const writeAll = async (flow: number): Promise<void> => {
      const entry = await begin(`${prefix}${flow}`, open("first"));
      for (const [at, { data }] of states.entries()) {
        const sent = states.slice(0, at + 1).flatMap((state, index) => {
          const id = { ...entry, revision: index + 1 };
          return [journal, second].map((handle) => handle.write(entry.key, id, state));
        });
        const both = (await Promise.all(sent)).slice(-2);
        assert.deepEqual(both, [true, true], "a write, and its repetition");
        const { revision, data: stored } = await present(entry.key);
        assert.deepEqual([revision, stored], [at + 2, data], "a late write was stored");
      }
    };
    await Promise.all(times(flows, writeAll));
  },
  async "an owner renews, writes, and releases before it is taken over, or not at all"({
    journal,
    second,
    key: prefix,
    shortMs,
    begin,
    lease,
    present,
    outlive,
    flows,
  }) {
    const entries = await Promise.all(times(3 * flows, (index) => begin(`${prefix}${index}`, open("before"), shortMs)));
    await outlive();
    const race = async (entry: JournalEntry, index: number): Promise<void> => {
      const { key } = entry;
      const late = [
        () => journal.renew(key, entry, 2 * longMs),
        () => journal.write(key, entry, open("late")),
        () => journal.release(key, entry),
      ][index % 3];
      const [isDone, taken] = await Promise.all([late?.(), second.acquire(key, lease())]);
      const now = await present(key);
      if (taken !== undefined) assertSame(now, taken, "the new owner's flow was changed");
      if (index % 3 === 0) assert.equal(isDone, taken === undefined, "both have the lease, or neither");
      if (index % 3 === 1) assert.equal(isDone, now.data === "late", "a write was lost");
    };
    await Promise.all(entries.map(race));
  },
  async "acquireAbandoned gives no flow to two workers"({ journal, second, key, abandon, lease, workers, flows }) {
    const scope = scopeOf(key);
    const keys = times(flows, (index) => `${key}${index}`).sort();
    for (const each of keys) await abandon(each, scope);
    const taken: JournalEntry[] = [];
    const work = async (index: number): Promise<void> => {
      for (;;) {
        const entry = await pick(index, journal, second).acquireAbandoned(scope, lease(), key);
        // Each of the others may be acquiring one at this moment.
        if (entry === undefined) return assert.ok(taken.length > flows - workers, "an abandoned flow was left");
        taken.push(entry);
        assert.ok(taken.length <= flows, "a flow was returned twice");
      }
    };
    await Promise.all(times(workers, work));
    assert.deepEqual(taken.map((entry) => entry.key).sort(), keys);
  },
};

export const journalLaws: Laws<JournalWorld> = {
  ...mapLaws(sequentialLaws, checkLikeMemory),
  ...mapLaws(raceLaws, (check, world: JournalWorld) => check(fixtureOf(world))),
};
