import assert from "node:assert/strict";
import type { FlowScope, Journal, JournalEntry, JournalState, LeaseRequest, PhaseCount } from "../flows/journal.js";
import { MemoryJournal } from "../flows/memory-journal.js";
import { comparing, type Law, longMs, onlyWinner, pick, times } from "./laws.js";

/** A journal, and how long leases last whose end is waited for. */
export interface JournalWorld {
  readonly journal: Journal;
  /** Another handle of the same store, or the same one if there is no other. */
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

/** What a law is checked with. */
export interface JournalFixture extends JournalWorld {
  /** With the next nonce. */
  readonly lease: (leaseMs?: number) => LeaseRequest;
  /** A new flow, leased unless it is settled or a quote. */
  readonly begin: (key: string, state: JournalState, leaseMs?: number, scope?: FlowScope) => Promise<JournalEntry>;
  /** A new flow that is open, and that nobody has. */
  readonly abandon: (key: string, scope: FlowScope) => Promise<void>;
  readonly present: (key: string) => Promise<JournalEntry>;
  /** Waits until a lease of `shortMs` that was granted before has ended. */
  readonly outlive: () => Promise<void>;
}

const dayMs = 86_400_000;
/** Each law has a gateway of its own. */
const scopeOf = (key: string): FlowScope => ({ service: "service.example", gateway: key });
export const open = (data = "{}", phase = "open"): JournalState => ({ phase, settled: false, data });
export const done = (data = "{}", phase = "done"): JournalState => ({ phase, settled: true, data });
const quote = (quoteTtlMs: number, data = "{}"): JournalState => ({ ...done(data, "quoted"), quoteTtlMs });
const inTime = (lease: LeaseRequest) => ({ lease, inTime: true });
const atAnyTime = (lease: LeaseRequest) => ({ lease, inTime: false });

export function fixtureOf(world: JournalWorld): JournalFixture {
  const { journal, key: prefix, shortMs, wait } = world;
  let leases = 0;
  const lease = (leaseMs = longMs) => {
    leases += 1;
    return { owner: `worker ${leases}`, leaseMs, nonce: `n${leases}` };
  };
  const begin = async (key: string, state: JournalState, leaseMs = longMs, scope = scopeOf(prefix)) =>
    (await journal.begin(key, scope, state, lease(leaseMs))).entry;
  return {
    ...world,
    lease,
    begin,
    abandon: async (key, scope) => journal.release(key, await begin(key, open(), longMs, scope)),
    present: async (key) => defined(await journal.read(key)),
    // Clocks of databases tick apart from timers.
    outlive: () => wait(shortMs + 50),
  };
}

export function defined(entry: JournalEntry | undefined): JournalEntry {
  assert.ok(entry, "there is such a flow");
  return entry;
}

/** A property that is `undefined` may as well be absent. When something was read differs. */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  const [found, wanted] = [actual, expected].map((value) =>
    JSON.parse(JSON.stringify(value ?? null, (name, part) => (name === "readAtMs" ? undefined : part))),
  );
  assert.deepEqual(found, wanted, message);
}

/** Different in bytes, although some database would take them for equal, or order them otherwise. */
const awkwardEndings = [
  ..."aAzZ0_%'\"`\\-.~?$;",
  ...["a ", " a", "aa", "ä", "a\u0308", "é", "e\u0301", "ß", "ss", "ı", "İ", "\uFFFD", "😀", "李雷", "''", "$1"],
  ...["\n", "\t", "\u00A0", "\u200B", "𐀀", "\uE000", "null", "__proto__"],
];

/**
 * The laws of the interface `Journal`, in the order of its methods, as calls one after the other. A `MemoryJournal` is called first. Every
 * reply must be the same, but for what differs between two right journals: see `comparable`.
 */
export const journalLaws: readonly Law<JournalFixture>[] = [
  [
    "begin stores a new flow, leased unless it is settled, or returns what is there; it knows its own repetition",
    async ({ journal, second, key, begin, lease }) => {
      await second.read(key);
      const request = lease();
      const { entry } = await journal.begin(key, scopeOf(key), open("data", "claimed"), request);
      await second.read(key);
      await second.begin(key, scopeOf(key), open("data", "claimed"), request);
      await second.begin(key, scopeOf("another"), open("second", "other"), lease());
      await journal.write(key, entry, open("written"));
      await second.begin(key, scopeOf(key), open("data", "claimed"), request);
      const settled = await begin(`${key}settled`, done());
      await journal.renew(settled.key, settled, longMs);
    },
  ],
  [
    "acquire takes a flow whose lease has ended, with the next epoch, and knows its own repetition",
    async ({ journal, second, key, shortMs, begin, lease, outlive }) => {
      await journal.acquire(key, lease());
      await journal.read(key);
      await begin(key, open("kept"), shortMs);
      await journal.acquire(key, lease());
      await journal.read(key);
      await outlive();
      const request = lease();
      const taken = defined(await second.acquire(key, request));
      await journal.acquire(key, request);
      await journal.acquire(key, lease());
      await journal.write(key, taken, done("settled"));
      await second.acquire(key, lease());
      await journal.acquire(key, request);
    },
  ],
  [
    "only the owner writes, renews, and releases",
    async ({ journal, second, key, shortMs, begin, lease, outlive }) => {
      const before = await begin(key, open("before"), shortMs);
      await outlive();
      const taken = defined(await second.acquire(key, lease()));
      for (const other of [before, { ...taken, nonce: "another" }, { ...taken, epoch: 3 }, { ...taken, epoch: 1 }]) {
        for (const each of [key, `${key}none`]) {
          await journal.write(each, other, open("stale"));
          await journal.write(each, other, done("stale"));
          await journal.write(each, other, open("stale"), atAnyTime(lease()));
          await journal.renew(each, other, longMs);
          await journal.release(each, other);
          await journal.read(each);
        }
      }
      await second.write(key, taken, done("after"));
    },
  ],
  [
    "renew sets the end of a lease, also of one that ended, unless it was released or ended by a settled state",
    async ({ journal, second, key, shortMs, begin, lease, outlive }) => {
      const entry = await begin(key, open("kept"), shortMs);
      await outlive();
      await journal.write(key, entry, open("late"));
      await journal.renew(key, entry, longMs);
      await second.acquire(key, lease());
      // The new end counts, although it's earlier.
      await journal.renew(key, entry, shortMs);
      await outlive();
      const taken = defined(await second.acquire(key, lease()));
      await second.release(key, taken);
      await journal.read(key);
      await second.renew(key, taken, longMs);
      await second.write(key, taken, open("written"));
      const last = defined(await journal.acquire(key, lease()));
      await journal.write(key, last, done());
      await journal.renew(key, last, longMs);
    },
  ],
  [
    "write names the state that it replaces; its repetition is true and changes nothing",
    async ({ journal, second, key, begin, lease, present }) => {
      const entry = await begin(key, open("first"));
      const state = open("second", "claimed");
      await journal.write(key, { ...entry, revision: 2 }, state);
      await journal.write(key, entry, state);
      await second.write(key, entry, state);
      for (const other of [open("other", "claimed"), open("second", "other"), done("second", "claimed")]) {
        await second.write(key, entry, other);
      }
      await second.write(key, entry, open("other"), atAnyTime(lease()));
      const stored = await present(key);
      await journal.write(key, stored, done("third", "held"));
      await second.write(key, stored, done("third", "held"));
      await second.write(key, entry, state);
      await second.read(key);
      await second.acquire(key, lease());
      await journal.write(key, stored, done("third", "held"));
      await journal.read(key);
    },
  ],
  [
    "a quote has no lease, and is never leased or written without one",
    async ({ journal, second, key, lease }) => {
      const request = lease();
      const { entry } = await journal.begin(key, scopeOf(key), quote(longMs), request);
      await second.acquire(key, lease());
      await second.acquire(key, request);
      await second.write(key, entry, open());
      await second.write(key, entry, quote(longMs, "another price"));
      await second.renew(key, entry, longMs);
      await second.release(key, entry);
      await second.read(key);
    },
  ],
  [
    "a quote is replaced as it was read, with the next epoch; the repetition is true",
    async ({ journal, second, key, begin, lease, present }) => {
      const quoted = await begin(key, quote(longMs));
      const again = atAnyTime(lease());
      for (const other of [{ nonce: "another" }, { epoch: 2 }, { revision: 2 }]) {
        await second.write(key, { ...quoted, ...other }, open(), again);
      }
      await second.write(key, quoted, quote(longMs, "another price"), again);
      const repriced = await present(key);
      await journal.write(key, quoted, open(), inTime(lease()));
      const [state, confirming] = [open("confirmed"), inTime(lease())];
      await second.write(key, repriced, state, confirming);
      await journal.write(key, repriced, state, confirming);
      await journal.write(key, repriced, open("other"), confirming);
      await journal.write(key, repriced, state, inTime(lease()));
      await second.write(key, await present(key), done());
      const cancelled = await begin(`${key}cancelled`, quote(longMs));
      await second.write(cancelled.key, cancelled, done("", "declined"), again);
      await journal.read(cancelled.key);
    },
  ],
  [
    "in time, a quote is replaced only while it is valid by the journal's clock",
    async ({ journal, second, key, shortMs, begin, lease, present, outlive }) => {
      const short = await begin(key, quote(shortMs));
      await outlive();
      await second.write(key, short, open("confirmed"), inTime(lease()));
      await journal.read(key);
      await second.write(key, short, quote(longMs), atAnyTime(lease()));
      await journal.write(key, await present(key), done("", "declined"), inTime(lease()));
      await second.read(key);
    },
  ],
  [
    "acquireAbandoned takes open flows without a valid lease only, also among many",
    async ({ journal, second, key, shortMs, begin, abandon, lease, outlive }) => {
      const scope = scopeOf(key);
      // More of them, and more bytes, than databases give on one page.
      const long = open("x".repeat(1024));
      await Promise.all(times(1100, (index) => begin(`${key}1 ${index}`, long)));
      await begin(`${key}2 settled`, done(), shortMs);
      await begin(`${key}3 a quote`, quote(shortMs), shortMs);
      await begin(`${key}4 ended`, open("kept"), shortMs);
      await abandon(`${key}5`, scope);
      await outlive();
      await second.list({ scope, limit: 0, counts: true });
      const first = await second.acquireAbandoned(scope, lease(), key);
      await journal.read(`${key}4 ended`);
      await second.acquireAbandoned(scope, lease(), first?.key);
      await journal.acquireAbandoned(scope, lease(), key);
    },
  ],
  [
    "list and acquireAbandoned see their own scope only",
    async ({ second, key, begin, abandon, lease }) => {
      const own = `${key}service`;
      const [a, other] = [
        { service: own, gateway: "a" },
        { service: own, gateway: "A" },
      ];
      for (const [index, scope] of [a, other, { service: `${own}:8443`, gateway: "a" }].entries()) {
        await abandon(`${key}${index} open`, scope);
        await begin(`${key}${index} held`, done("", "held"), longMs, scope);
      }
      for (const scope of [other, { service: own }, { service: `${own}/none` }]) {
        await second.list({ scope, limit: 10 });
        await second.list({ scope, phase: "held", limit: 10 });
        for (const request of [lease(), lease()]) await second.acquireAbandoned(scope, request, undefined);
      }
    },
  ],
  [
    "keys are compared, listed page by page, and acquired by their UTF-8 bytes",
    async ({ journal, second, key: prefix, begin, abandon, lease }) => {
      const scope = scopeOf(prefix);
      const keys = [...awkwardEndings, "x".repeat(1024 - Buffer.byteLength(prefix))].map((ending) => prefix + ending);
      for (const key of keys) await abandon(key, scope);
      await begin(`${prefix}other`, quote(longMs));
      for (const key of keys) await second.read(key);
      for (const phase of ["open", "quoted", "open?", undefined]) {
        for (let after: string | undefined = ""; after !== undefined; ) {
          const { entries } = await second.list({ scope, phase, after, limit: 4 });
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
  ],
  [
    "list counts the flows of the whole journal by scope and phase, if asked to",
    async ({ journal, second, key, shortMs, begin, outlive }) => {
      const scope = { service: `${key}service`, gateway: "a" };
      await begin(`${key}0`, open(), shortMs, scope);
      const paid = await begin(`${key}1`, done("", "paid"), longMs, scope);
      await outlive();
      await journal.prune({ settledBeforeMs: paid.updatedAtMs + 1 });
      const states = [open(), open("", "claimed"), done("", "held"), done("", "paid"), quote(longMs), done("", "held")];
      for (const [index, state] of states.entries()) await begin(`${key}${index + 2}`, state, longMs, scope);
      await begin(`${key}other`, open());
      await second.list({ scope, limit: 1, counts: true });
      await second.list({ scope, limit: 1 });
    },
  ],
  [
    "prune leaves a tombstone of old flows that are over, and nothing else",
    async ({ journal, second, key: prefix, begin, lease, present, outlive }) => {
      const scope = scopeOf(prefix);
      const phases = ["declined", "held", "paid", "rejected"];
      for (const phase of phases) await begin(prefix + phase, done(phase, phase));
      const settling = await begin(`${prefix}settling`, open());
      await outlive();
      const young = await begin(`${prefix}young`, done("young", "paid"));
      await journal.write(settling.key, settling, done("just paid", "paid"));
      await journal.prune({ quotedBeforeMs: 1 });
      await second.list({ scope, limit: 10 });
      await journal.acquire(`${prefix}paid`, lease());
      const { settled } = await journal.prune({ settledBeforeMs: young.updatedAtMs });
      assert.ok(settled >= 3, "says how many it pruned");
      await second.list({ scope, limit: 10 });
      for (const phase of phases) {
        const { key, ...tombstone } = await present(prefix + phase);
        await journal.begin(key, scope, open("again"), lease());
        // A held flow isn't pruned, and can be leased.
        await journal.acquire(key, lease());
        await journal.write(key, tombstone, open("late"));
        await journal.renew(key, tombstone, longMs);
        await journal.release(key, tombstone);
        await second.read(key);
      }
      await journal.prune({ settledBeforeMs: young.updatedAtMs, quotedBeforeMs: young.updatedAtMs });
      await second.read(`${prefix}paid`);
    },
  ],
  [
    "prune deletes quotes that expired a day ago or earlier, and no others",
    async ({ journal, second, key, shortMs, begin, lease, outlive, wait, canWaitForDays }) => {
      const old = await begin(`${key}old`, quote(shortMs));
      const confirmed = await begin(`${key}confirmed`, quote(shortMs));
      await journal.write(confirmed.key, confirmed, done("", "held"), atAnyTime(lease()));
      await outlive();
      await journal.prune({ quotedBeforeMs: Number(old.expiresAtMs) + longMs });
      await second.read(old.key);
      if (!canWaitForDays) return;
      await wait(dayMs);
      await begin(`${key}fresh`, quote(longMs));
      await journal.prune({ quotedBeforeMs: Number(old.expiresAtMs) + 1 });
      for (const name of ["old", "confirmed", "fresh"]) await second.read(key + name);
      await begin(old.key, done());
    },
  ],
  [
    "data comes back exactly as it was given, even 1 MiB of it",
    async ({ journal, second, key: prefix, begin, lease, present }) => {
      const texts = [
        ...["", " ", "\r\n\t", "'; DROP TABLE flows; --", "\\x00 \\u0000 %s $1 ? @key", "\u0001", "{,}", "NULL"],
        ...["Zoë 李雷 😀 \u2028 \uFEFF e\u0301 é", `{"a":"\\u0000"}`, '{ "b": 12345678901234567890, "a": -0 }'],
        "0123456789abcdé".repeat(2 ** 16),
      ];
      for (const [index, text] of texts.entries()) {
        const key = `${prefix}${index}`;
        const quoted = await begin(key, quote(longMs, text));
        await second.read(key);
        await journal.write(key, quoted, open(`!${text}`), inTime(lease()));
        await journal.write(key, await present(key), done(`${text} `));
        await second.read(key);
      }
    },
  ],
];

/** Calls a journal in memory, then the journal to check, which must reply the same. */
export async function checkLikeMemory(check: Law<JournalFixture>[1], world: JournalWorld): Promise<void> {
  let nowMs = 1_700_000_000_000;
  const wait = async (ms: number): Promise<void> => {
    nowMs += ms;
  };
  const { record, compare } = comparing<Journal>(() => (reply, method) => comparable(reply, method, world.key));
  const model = record(new MemoryJournal({ nowMs: () => nowMs }));
  await check(fixtureOf({ ...world, journal: model, second: model, wait }));
  await check(fixtureOf({ ...world, journal: compare(world.journal), second: compare(world.second) }));
}

/**
 * Times count from when the entry was read, in steps of ten minutes: the leases and quotes here last for ten minutes, or end. Counts are
 * those of the law's own flows, and how many were pruned isn't compared, since other flows may be there, too.
 */
function comparable(reply: unknown, method: string, key: string): unknown {
  if (method === "prune") return undefined;
  const own = (counts: readonly PhaseCount[]) =>
    counts
      .filter((count) => `${count.service} ${count.gateway}`.includes(key))
      .map(({ service, gateway, phase, settled, flows, unowned }) =>
        [service, gateway, phase, settled, flows, unowned].join(" "),
      )
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

/** Laws about many calls at once, of which any order may be right. */
export const raceLaws: readonly Law<JournalFixture>[] = [
  [
    "of many that begin, acquire, or replace one flow at once, exactly one does",
    async ({ journal, second, key, shortMs, begin, lease, present, outlive }) => {
      const atOnce = <T>(call: (handle: Journal, index: number) => Promise<T>) =>
        Promise.all(times(20, (index) => call(pick(index >> 1, journal, second), index)));
      const begun = await atOnce((handle, index) => handle.begin(key, scopeOf(key), open(`${index}`), lease(shortMs)));
      const first = onlyWinner(begun, ({ created }) => created);
      for (const { entry } of begun) assertSame(entry, begun[first]?.entry);
      await outlive();
      const taken = await atOnce((handle) => handle.acquire(key, lease()));
      assert.equal(taken[onlyWinner(taken, (entry) => entry !== undefined)]?.epoch, 2);
      const quoted = await begin(`${key}quote`, quote(longMs));
      const states = times(20, (index) => pick(index, open(`${index}`), quote(longMs, `${index}`)));
      const replaced = await atOnce((handle, index) =>
        handle.write(quoted.key, quoted, states[index] ?? open(), { lease: lease(), inTime: index % 3 === 0 }),
      );
      const now = await present(quoted.key);
      const winner = onlyWinner(replaced, (isDone) => isDone);
      assertSame([now.epoch, now.revision, now.data], [2, 2, states[winner]?.data]);
    },
  ],
  [
    "writes that are repeated, late, and out of order are stored once and in order",
    async ({ journal, second, key: prefix, begin, present, flows }) => {
      const states = [...times(4, (index) => open(`state ${index}`)), done("the outcome", "paid")];
      /** Each write is sent twice, through both handles, beside all that were sent before. */
      const writeAll = async (flow: number): Promise<void> => {
        const key = `${prefix}${flow}`;
        const { epoch, nonce } = await begin(key, open("first"));
        const send = (at: number, handle: number) =>
          pick(handle, journal, second).write(key, { epoch, nonce, revision: at + 1 }, states[at] ?? done());
        for (const [at, state] of states.entries()) {
          const late = times(at, (earlier) => send(earlier, earlier + flow));
          const both = await Promise.all([send(at, flow), send(at, flow + 1)]);
          assertSame(both, [true, true], "a write, and its repetition");
          await Promise.all(late);
          const now = await present(key);
          assertSame([now.revision, now.data], [at + 2, state.data], "a late write was stored");
        }
      };
      await Promise.all(times(flows, writeAll));
    },
  ],
  [
    "an owner that is taken over meanwhile renews, writes, and releases before that, or not at all",
    async ({ journal, second, key: prefix, shortMs, begin, lease, present, outlive, flows }) => {
      const entries = await Promise.all(
        times(3 * flows, (index) => begin(`${prefix}${index}`, open("before"), shortMs)),
      );
      await outlive();
      const race = async (entry: JournalEntry, index: number): Promise<void> => {
        const { key } = entry;
        const late = [
          () => journal.renew(key, entry, longMs + 1000),
          () => journal.write(key, entry, open("late")),
          () => journal.release(key, entry),
        ][index % 3];
        const take = () => second.acquire(key, lease());
        const early = index % 2 === 0 ? take() : undefined;
        const [isDone, taken] = await Promise.all([late?.(), early ?? take()]);
        const now = await present(key);
        if (taken !== undefined) assertSame(now, taken, "the new owner's flow was changed");
        if (index % 3 === 0) assert.equal(isDone, taken === undefined, "both have the lease, or neither");
        if (index % 3 === 1) assert.equal(isDone, now.data === "late", "a write was lost");
      };
      await Promise.all(entries.map(race));
    },
  ],
  [
    "a quote that is confirmed at the end of its time is confirmed before it",
    async ({ journal, second, key: prefix, shortMs, begin, lease, present, wait }) => {
      const quotes = await Promise.all(times(60, (index) => begin(`${prefix}${index}`, quote(shortMs))));
      // From before the end of their time until after it.
      await wait(Math.max(0, shortMs - quotes.length / 2));
      for (const [index, { key, expiresAtMs, ...quoted }] of quotes.entries()) {
        await wait(1);
        const isConfirmed = await pick(index, journal, second).write(key, quoted, open("confirmed"), inTime(lease()));
        const { data, updatedAtMs } = await present(key);
        assert.equal(isConfirmed, data === "confirmed");
        if (isConfirmed) assert.ok(updatedAtMs <= Number(expiresAtMs), "it was confirmed after its end");
      }
    },
  ],
  [
    "acquireAbandoned gives no flow to two workers",
    async ({ journal, second, key, abandon, lease, workers, flows }) => {
      const scope = scopeOf(key);
      const keys = times(flows, (index) => `${key}${String(index).padStart(6, "0")}`);
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
      assertSame(taken.map((entry) => entry.key).sort(), keys);
    },
  ],
];
