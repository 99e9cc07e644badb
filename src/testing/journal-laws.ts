import assert from "node:assert/strict";
import type { Journal, JournalEntry, JournalState, LeaseRequest } from "../flows/journal.js";

/** What a law is checked with. */
export interface LawFixture {
  readonly journal: Journal;
  /** Another handle of the same store, or the same one where there is no other. */
  readonly second: Journal;
  /** Every key of this law begins with it, and follows all keys of the laws before. */
  readonly prefix: string;
  /** A lease whose end is waited for. */
  readonly shortMs: number;
  /** Waits until a lease of `shortMs` that was granted before has expired. */
  readonly outliveShortLease: () => Promise<void>;
  readonly workers: number;
  readonly flows: number;
}

export type Law = readonly [name: string, check: (fixture: LawFixture) => Promise<void>];

const longMs = 600_000;
/** For all competing workers together, in real time. */
const patienceMs = 60_000;
const open = (data = "{}", phase = "open"): JournalState => ({ phase, settled: false, data });
const done = (data = "{}", phase = "done"): JournalState => ({ phase, settled: true, data });
const lease = (leaseMs: number, owner = "a worker"): LeaseRequest => ({ owner, leaseMs });

/** The laws of the interface `Journal`, in the order of its methods. */
export const laws: readonly Law[] = [
  ["begin stores a new flow with epoch 1 and says so", beginStores],
  ["begin returns what is there, unchanged, and says so", beginGivesWhatIsThere],
  ["of many that begin one flow at once, exactly one creates it", beginOnce],
  ["read returns undefined for a flow that is not there", readUnknown],
  ["acquire returns undefined while a lease lasts, and for a flow that is not there", acquireRefuses],
  ["an expired lease can be taken over, with the next epoch", takeover],
  ["of many that take over one flow at once, exactly one gets it", takeoverOnce],
  ["an owner whose flow was taken over can't write, renew or release", fencing],
  ["an expired lease that nobody took over still writes and renews", lateOwner],
  ["renew extends a lease", renewProlongs],
  ["release frees a flow at once, and ends renewing but not writing", releaseFrees],
  ["write stores the state and nothing else", writeStores],
  ["write does not extend a lease", writeKeepsTheLease],
  ["write, renew and release of a flow that is not there do nothing", nothingThere],
  ["a settled state ends the lease, and the flow can still be taken", settledEndsTheLease],
  ["a flow that begins settled has no lease", beginSettled],
  ["acquireAbandoned skips leased and settled flows", abandonedOnly],
  ["acquireAbandoned goes by the UTF-8 bytes of keys, and returns each flow once", abandonedInOrder],
  ["acquireAbandoned returns no flow to two workers", abandonedOnce],
  ["list returns a phase's flows by the UTF-8 bytes of their keys, page by page", listPages],
  ["keys are compared byte by byte", keysApart],
  ["strings that can't be stored exactly are refused or stored exactly", oddTexts],
  ["data comes back exactly as it was given, even 1 MiB of it", exactData],
  ["no flow has two owners at once, and no write is lost", contention],
];

async function beginStores({ journal, second, prefix }: LawFixture): Promise<void> {
  const { entry, created } = await journal.begin(prefix, open("data", "created"), lease(longMs));
  assert.equal(created, true);
  const { createdAtMs, updatedAtMs, ...rest } = entry;
  assert.deepEqual(rest, { key: prefix, epoch: 1, phase: "created", settled: false, data: "data" });
  assert.equal(Number.isInteger(createdAtMs), true, "createdAtMs is whole milliseconds");
  assert.equal(updatedAtMs, createdAtMs);
  assert.deepEqual(await journal.read(prefix), entry);
  assert.deepEqual(await second.read(prefix), entry, "the second handle sees it");
}

async function beginGivesWhatIsThere({ journal, second, prefix }: LawFixture): Promise<void> {
  const { entry } = await journal.begin(prefix, open("first"), lease(longMs));
  const again = await second.begin(prefix, open("second", "other"), lease(longMs));
  assert.deepEqual(again, { entry, created: false });
  assert.deepEqual(await journal.read(prefix), entry);
  assert.equal(await journal.renew(prefix, 1, longMs), true, "the first lease is kept");
}

async function beginOnce({ journal, second, prefix }: LawFixture): Promise<void> {
  const begun = await Promise.all(
    times(20, (index) => pick(index, journal, second).begin(prefix, open(String(index)), lease(longMs))),
  );
  assert.equal(begun.filter(({ created }) => created).length, 1);
  const winner = begun.find(({ created }) => created)?.entry;
  for (const { entry } of begun) assert.deepEqual(entry, winner);
}

async function readUnknown({ journal, prefix }: LawFixture): Promise<void> {
  assert.equal(await journal.read(prefix), undefined);
}

async function acquireRefuses({ journal, second, prefix }: LawFixture): Promise<void> {
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined);
  assert.equal(await journal.read(prefix), undefined, "acquire creates no flow");
  const { entry } = await journal.begin(prefix, open(), lease(longMs, "same"));
  assert.equal(await second.acquire(prefix, lease(longMs, "other")), undefined);
  assert.equal(await journal.acquire(prefix, lease(longMs, "same")), undefined, "an owner's name decides nothing");
  assert.deepEqual(await journal.read(prefix), entry);
}

async function takeover({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const { entry } = await journal.begin(prefix, open("kept"), lease(shortMs));
  await outliveShortLease();
  const taken = await second.acquire(prefix, lease(shortMs));
  assert.deepEqual(taken, { ...entry, epoch: 2 });
  await outliveShortLease();
  assert.equal((await journal.acquire(prefix, lease(longMs)))?.epoch, 3);
  assert.equal(await second.acquire(prefix, lease(longMs)), undefined);
}

async function takeoverOnce({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await journal.begin(prefix, open(), lease(shortMs));
  await outliveShortLease();
  const taken = await Promise.all(times(20, (index) => pick(index, journal, second).acquire(prefix, lease(longMs))));
  assert.deepEqual(
    taken.filter(isEntry).map(({ epoch }) => epoch),
    [2],
  );
}

async function fencing({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await journal.begin(prefix, open("before"), lease(shortMs));
  await outliveShortLease();
  const taken = await second.acquire(prefix, lease(longMs));
  assert.equal(await journal.write(prefix, 1, done("stale")), false);
  assert.equal(await journal.renew(prefix, 1, longMs), false);
  await journal.release(prefix, 1);
  assert.deepEqual(await journal.read(prefix), taken);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined, "the new owner's lease is kept");
  assert.equal(await journal.write(prefix, 3, open("an epoch that was never given")), false);
  assert.equal(await second.write(prefix, 2, open("after")), true);
}

async function lateOwner({ journal, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await journal.begin(prefix, open(), lease(shortMs));
  await outliveShortLease();
  assert.equal(await journal.write(prefix, 1, open("late")), true);
  assert.equal((await journal.read(prefix))?.data, "late");
  assert.equal(await journal.renew(prefix, 1, longMs), true);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined);
}

async function renewProlongs({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const { entry } = await journal.begin(prefix, open(), lease(shortMs));
  assert.equal(await journal.renew(prefix, 1, longMs), true);
  await outliveShortLease();
  assert.equal(await second.acquire(prefix, lease(longMs)), undefined);
  assert.equal(await journal.renew(prefix, 1, shortMs), true, "the new end counts, although it is earlier");
  await outliveShortLease();
  assert.deepEqual(await second.acquire(prefix, lease(longMs)), { ...entry, epoch: 2 });
}

async function releaseFrees({ journal, second, prefix }: LawFixture): Promise<void> {
  const { entry } = await journal.begin(prefix, open(), lease(longMs));
  await journal.release(prefix, 1);
  assert.deepEqual(await journal.read(prefix), entry);
  assert.equal(await journal.renew(prefix, 1, longMs), false);
  assert.equal(await journal.write(prefix, 1, open("written")), true);
  await journal.release(prefix, 1);
  const taken = await second.acquire(prefix, lease(longMs));
  assert.deepEqual([taken?.epoch, taken?.data], [2, "written"]);
}

async function writeStores({ journal, second, prefix }: LawFixture): Promise<void> {
  const { entry } = await journal.begin(prefix, open("first", "created"), lease(longMs));
  assert.equal(await journal.write(prefix, 1, open("second", "claimed")), true);
  const now = await second.read(prefix);
  assert.deepEqual({ ...now, updatedAtMs: 0 }, { ...entry, phase: "claimed", data: "second", updatedAtMs: 0 });
  const updatedAtMs = now?.updatedAtMs ?? 0;
  assert.equal(updatedAtMs >= entry.updatedAtMs, true, "updatedAtMs does not go back");
}

async function writeKeepsTheLease({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await journal.begin(`${prefix}long`, open(), lease(longMs));
  assert.equal(await journal.write(`${prefix}long`, 1, open("x")), true);
  assert.equal(await second.acquire(`${prefix}long`, lease(longMs)), undefined);
  await journal.begin(`${prefix}short`, open(), lease(shortMs));
  await outliveShortLease();
  assert.equal(await journal.write(`${prefix}short`, 1, open("x")), true);
  assert.equal((await second.acquire(`${prefix}short`, lease(longMs)))?.epoch, 2);
}

async function nothingThere({ journal, prefix }: LawFixture): Promise<void> {
  assert.equal(await journal.write(prefix, 1, open()), false);
  assert.equal(await journal.renew(prefix, 1, longMs), false);
  await journal.release(prefix, 1);
  assert.equal(await journal.read(prefix), undefined);
}

async function settledEndsTheLease({ journal, second, prefix }: LawFixture): Promise<void> {
  await journal.begin(prefix, open(), lease(longMs));
  assert.equal(await journal.write(prefix, 1, done("settled")), true);
  assert.equal((await journal.read(prefix))?.settled, true);
  assert.equal(await journal.renew(prefix, 1, longMs), false);
  const taken = await second.acquire(prefix, lease(longMs));
  assert.deepEqual([taken?.epoch, taken?.settled, taken?.data], [2, true, "settled"]);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined, "a settled flow is leased like others");
  assert.equal(await second.write(prefix, 2, open("again")), true);
  assert.equal((await journal.read(prefix))?.settled, false);
}

async function beginSettled({ journal, second, prefix }: LawFixture): Promise<void> {
  await journal.begin(prefix, done(), lease(longMs));
  assert.equal(await journal.renew(prefix, 1, longMs), false);
  assert.equal((await second.acquire(prefix, lease(longMs)))?.epoch, 2);
}

async function abandonedOnly({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await journal.begin(`${prefix}1 leased`, open(), lease(longMs));
  await journal.begin(`${prefix}2 settled`, done(), lease(shortMs));
  await journal.begin(`${prefix}3 expired`, open("kept"), lease(shortMs));
  await journal.begin(`${prefix}4 released`, open(), lease(longMs));
  await journal.release(`${prefix}4 released`, 1);
  await outliveShortLease();
  const first = await second.acquireAbandoned(lease(longMs), prefix);
  assert.deepEqual([first?.key, first?.epoch, first?.data], [`${prefix}3 expired`, 2, "kept"]);
  const next = await second.acquireAbandoned(lease(longMs), prefix);
  assert.deepEqual([next?.key, next?.epoch], [`${prefix}4 released`, 2]);
  assert.equal(await journal.acquireAbandoned(lease(longMs), prefix), undefined);
  assert.equal(await journal.write(`${prefix}3 expired`, 1, done()), false);
}

async function abandonedInOrder({ journal, prefix }: LawFixture): Promise<void> {
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const key of keys) await release(journal, key);
  const seen: string[] = [];
  for (let after = prefix; ; ) {
    const taken = await journal.acquireAbandoned(lease(longMs), after);
    if (taken === undefined) break;
    seen.push(taken.key);
    assert.equal(seen.length <= keys.length, true, "a flow was returned twice in one pass");
    after = taken.key;
    // Free again, and its key is still behind.
    await journal.release(taken.key, taken.epoch);
  }
  assert.deepEqual(seen, byBytes(keys));
  assert.equal((await journal.acquireAbandoned(lease(longMs), prefix))?.key, seen[0], "a new pass begins at the first");
  await settleAll(journal, keys);
}

async function abandonedOnce(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, workers, flows } = fixture;
  const keys = times(flows, (index) => `${prefix}${String(index).padStart(6, "0")}`);
  for (const key of keys) await release(journal, key);
  const taken: string[] = [];
  await Promise.all(
    times(workers, async (index) => {
      const handle = pick(index, journal, second);
      for (;;) {
        const entry = await handle.acquireAbandoned(lease(longMs), prefix);
        if (entry === undefined) return;
        taken.push(entry.key);
        assert.equal(taken.length <= flows, true, "a flow was returned twice");
      }
    }),
  );
  assert.deepEqual(byBytes(taken), keys);
  for (const key of keys) assert.equal(await journal.write(key, 2, done()), true);
}

async function listPages({ journal, prefix }: LawFixture): Promise<void> {
  const phase = `p${prefix}`.slice(0, 100);
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const key of keys) await journal.begin(key, { phase, settled: true, data: key }, lease(longMs));
  await journal.begin(`${prefix}other`, { phase: `${phase}.`, settled: true, data: "" }, lease(longMs));
  const seen: JournalEntry[] = [];
  for (;;) {
    const page = await journal.list({ phase, after: seen.at(-1)?.key, limit: 4 });
    assert.equal(page.length <= 4, true, "at most limit");
    seen.push(...page);
    assert.equal(seen.length <= keys.length, true, "a flow was returned twice, or one of another phase");
    if (page.length < 4) break;
  }
  assert.deepEqual(
    seen.map(({ key }) => key),
    byBytes(keys),
  );
  for (const { key, data } of seen) assert.equal(data, key);
  assert.deepEqual(await journal.list({ phase: `${phase}?`, limit: 4 }), []);
}

async function keysApart({ journal, second, prefix }: LawFixture): Promise<void> {
  const keys = [...awkwardEndings, "x".repeat(1024 - Buffer.byteLength(prefix))].map((ending) => prefix + ending);
  for (const key of keys) {
    const { created } = await journal.begin(key, done(`data of ${key}`), lease(longMs));
    assert.equal(created, true, `${JSON.stringify(key)} is a key of its own`);
  }
  for (const key of keys) {
    const entry = await second.read(key);
    assert.deepEqual([entry?.key, entry?.data], [key, `data of ${key}`]);
  }
}

async function oddTexts({ journal, prefix }: LawFixture): Promise<void> {
  const odd = ["\0", "a\0b", "\uD800", "\uDC00x", "\uFFFD"];
  for (const [index, text] of odd.entries()) {
    await keptOrRefused(journal, prefix + text, done("odd key"));
    await keptOrRefused(journal, `${prefix}data ${index}`, done(text));
  }
  await keptOrRefused(journal, "", done("empty key"));
  assert.equal(await journal.read(`${prefix}a`), undefined, "no string was cut off at U+0000");
}

async function keptOrRefused(journal: Journal, key: string, state: JournalState): Promise<void> {
  const begun = await journal.begin(key, state, lease(longMs)).catch(() => undefined);
  if (begun === undefined) {
    assert.equal(await journal.read(key).catch(() => undefined), undefined, "what was refused is not there");
    return;
  }
  assert.equal(begun.created, true, "no other key was taken for it");
  const entry = await journal.read(key);
  assert.deepEqual([entry?.key, entry?.data], [key, state.data]);
}

async function exactData({ journal, second, prefix }: LawFixture): Promise<void> {
  const texts = [
    "",
    " ",
    "\r\n\t",
    "'; DROP TABLE flows; --",
    "\\x00 \\u0000 %s $1 ?",
    "Zoë 李雷 😀 \u2028 \uFEFF e\u0301 é",
    `{"a":"\\u0000"}`,
  ];
  const large = "0123456789abcdé".repeat(2 ** 16);
  for (const [index, data] of [...texts, large].entries()) {
    await journal.begin(`${prefix}${index}`, open(data), lease(longMs));
    assert.equal((await second.read(`${prefix}${index}`))?.data === data, true, `text ${index} through begin`);
    assert.equal(await journal.write(`${prefix}${index}`, 1, done(`${data}!`)), true);
    assert.equal((await second.read(`${prefix}${index}`))?.data === `${data}!`, true, `text ${index} through write`);
  }
}

async function contention({ journal, second, prefix, workers, flows }: LawFixture): Promise<void> {
  const rounds = 5;
  const keys = times(Math.max(1, Math.ceil(flows / 10)), (index) => `${prefix}${index}`);
  for (const key of keys) await release(journal, key, "0");
  const owners = new Map<string, number>();
  const epochs = new Set<string>();
  const work = async (worker: number, key: string): Promise<boolean> => {
    const handle = pick(worker, journal, second);
    const entry = await handle.acquire(key, lease(longMs));
    if (entry === undefined) return false;
    assert.equal(owners.get(key), undefined, "a flow has two owners");
    owners.set(key, worker);
    assert.equal(epochs.has(`${entry.epoch} ${key}`), false, "an epoch was given twice");
    epochs.add(`${entry.epoch} ${key}`);
    const now = await handle.read(key);
    assert.deepEqual([now?.epoch, now?.data], [entry.epoch, entry.data]);
    assert.equal(await handle.write(key, entry.epoch, open(String(Number(entry.data) + 1))), true);
    owners.delete(key);
    await handle.release(key, entry.epoch);
    return true;
  };
  let giveUpAt = performance.now() + patienceMs;
  const workMuch = async (worker: number): Promise<void> => {
    for (const key of times(rounds, () => keys).flat()) {
      while (!(await work(worker, key))) {
        assert.equal(performance.now() < giveUpAt, true, "nobody gets a released flow");
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  };
  try {
    await Promise.all(times(workers, workMuch));
  } finally {
    // When one has failed, the others stop waiting for it.
    giveUpAt = 0;
  }
  for (const key of keys) {
    const entry = await journal.read(key);
    assert.deepEqual([entry?.data, entry?.epoch], [String(rounds * workers), rounds * workers + 1]);
    assert.equal(await journal.write(key, entry?.epoch ?? 0, done()), true);
  }
}

/** Different in bytes, although some database would take them for equal, or order them otherwise. */
const awkwardEndings = [
  ..."aAzZ0_%'\"`\\-.~?$;",
  ...[
    "a ",
    " a",
    "a  ",
    "aa",
    "ä",
    "a\u0308",
    "é",
    "e\u0301",
    "ß",
    "ss",
    "ı",
    "İ",
    "ﬀ",
    "\uFFFD",
    "😀",
    "李雷",
    "''",
    "?1",
    "$1",
  ],
  ...["\n", "\t", "\u00A0", "\u200B", "\u202E", "𐀀", "\uE000", "null", "undefined", "__proto__"],
];

async function release(journal: Journal, key: string, data?: string): Promise<void> {
  await journal.begin(key, open(data), lease(longMs));
  await journal.release(key, 1);
}

async function settleAll(journal: Journal, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const entry = await journal.read(key);
    assert.equal(await journal.write(key, entry?.epoch ?? 0, done()), true);
  }
}

function byBytes(keys: readonly string[]): string[] {
  return [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function pick(index: number, one: Journal, other: Journal): Journal {
  return index % 2 === 0 ? one : other;
}

function isEntry(entry: JournalEntry | undefined): entry is JournalEntry {
  return entry !== undefined;
}
