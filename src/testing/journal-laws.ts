import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { BacklogCount, FlowScope, Journal, JournalEntry, JournalState } from "../flows/journal.js";
import { contention, histories } from "./competing-laws.js";
import {
  abandon,
  assertSame,
  begin,
  byBytes,
  defined,
  done,
  isEntry,
  type JournalLaw,
  type LawFixture,
  lease,
  longMs,
  open,
  pick,
  quote,
  scopeOf,
  service,
  settleAll,
  stateOf,
  times,
} from "./law-fixture.js";
import {
  quoteConfirmedInTime,
  quoteFenced,
  quoteKept,
  quotePrunedMeanwhile,
  quoteReplaced,
  quoteReplacedOnce,
  quotesExpire,
} from "./quote-laws.js";

/** The laws of the interface `Journal`, in the order of its methods. */
export const laws: readonly JournalLaw[] = [
  ["begin stores a new flow with epoch 1 and says so", beginStores],
  ["begin returns what is there, unchanged, and says so", beginGivesWhatIsThere],
  ["of many that begin one flow at once, exactly one creates it", beginOnce],
  ["read returns undefined for a flow that is not there", readUnknown],
  ["acquire returns undefined while a lease lasts, and for a flow that is not there", acquireRefuses],
  ["an expired lease can be taken over, with the next epoch", takeover],
  ["of many that take over one flow at once, exactly one gets it", takeoverOnce],
  ["an owner whose flow was taken over can't write, renew or release", fencing],
  [
    "an owner with the epoch but another nonce can't write, renew, release, or replace or fence a quote",
    fencingByNonce,
  ],
  ["an expired lease that nobody took over still writes and renews", lateOwner],
  ["renew extends a lease", renewProlongs],
  ["release frees a flow at once, and ends renewing but not writing", releaseFrees],
  ["write stores the state and nothing else", writeStores],
  ["write does not extend a lease", writeKeepsTheLease],
  ["write with a lease extends it too, unless it was released or ended", writeProlongs],
  ["write names the state that it replaces, and is true for its own repetition, which changes nothing", writesInOrder],
  ["a write that arrives late, after another one, an outcome or a new owner, changes nothing", lateWrites],
  ["an owner that is taken over meanwhile renews, writes and releases before that, or not at all", takenMeanwhile],
  ["write, renew and release of a flow that is not there do nothing", nothingThere],
  ["a settled state ends the lease, and the flow can still be taken", settledEndsTheLease],
  ["a flow that begins settled has no lease", beginSettled],
  ["a quote expires by the journal's clock", quotesExpire],
  ["replaceQuote stores the next state, with the next epoch and a lease", quoteReplaced],
  ["replaceQuote refuses what is no quote, and a quote that expired or did not", quoteKept],
  ["of many that replace or fence a quote at once, exactly one does", quoteReplacedOnce],
  ["a quote that is confirmed at the very end of its time is confirmed before it", quoteConfirmedInTime],
  ["fenceQuote lets nothing replace the quote as it was seen, and keeps the quote and its end", quoteFenced],
  ["acquireAbandoned skips leased and settled flows, and nothing is left out where there are many", abandonedOnly],
  ["acquireAbandoned goes by the UTF-8 bytes of keys, and returns each flow once", abandonedInOrder],
  ["acquireAbandoned returns no flow to two workers", abandonedOnce],
  ["acquireAbandoned, list and counts see their own scope only", scopesApart],
  ["write stores a mark and a new scope where it is told to, and keeps both otherwise", writeMarksAndMoves],
  ["list returns a phase's flows by the UTF-8 bytes of their keys, page by page", listPages],
  ["list returns flows of all phases when it is given none, and counts counts each", listAll],
  ["scopes counts the flows of each service and gateway, pruned ones that were paid included", scopesCounted],
  ["backlog counts what is not settled or held, what of it nobody has, and how old the oldest is", backlogCounted],
  ["lists, counts and acquireAbandoned go by what was stored last", storedLast],
  ["prune leaves a tombstone of old flows that are over, and nothing else", pruneLeavesTombstones],
  ["a tombstone stays", tombstonesStay],
  ["prune keeps evidence when it is told to", pruneKeepsEvidence],
  ["prune deletes quotes that have long expired, and no others", pruneQuotes],
  ["prune deletes nothing that replaces a quote meanwhile", quotePrunedMeanwhile],
  ["a lease that is still as it was observed can be taken over, and no other", observedLease],
  ["keys are compared byte by byte", keysApart],
  ["strings that can't be stored exactly are refused or stored exactly, long ones too", oddTexts],
  ["data and evidence come back exactly as they were given, even 1 MiB of them", exactData],
  ["no flow has two owners at once, and no write is lost", contention],
  ["what competing clients are told of a flow has one order that explains it", histories],
];

async function beginStores({ journal, second, prefix }: LawFixture): Promise<void> {
  const request = lease(longMs);
  const state = { ...open("data", "claimed"), evidence: "evidence" };
  assert.equal(await second.read(prefix), undefined);
  const { entry, created } = await journal.begin(prefix, scopeOf(prefix), state, request);
  assert.equal(created, true);
  const { createdAtMs, updatedAtMs, leaseUntilMs, expiresAtMs, prunedAtMs, ...rest } = entry;
  assertSame(rest, {
    ...{ key: prefix, scope: scopeOf(prefix), epoch: 1, revision: 1, nonce: request.nonce, owner: request.owner },
    ...{ phase: "claimed", settled: false, data: "data", evidence: "evidence", isExpired: false },
    ...{ leaseMs: longMs, isOverlong: false },
  });
  assert.equal(Number.isInteger(createdAtMs), true, "createdAtMs is whole milliseconds");
  assert.equal(updatedAtMs, createdAtMs);
  const isEnd = Number.isInteger(leaseUntilMs) && Number(leaseUntilMs) > createdAtMs;
  assert.equal(isEnd, true, "leaseUntilMs is the end of the lease, in whole milliseconds");
  assertSame([expiresAtMs, prunedAtMs], [undefined, undefined]);
  assertSame(await journal.read(prefix), entry);
  assertSame(await second.read(prefix), entry, "the second handle sees it");
}

async function beginGivesWhatIsThere({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("first"), lease(longMs));
  const again = await second.begin(prefix, scopeOf("another"), open("second", "other"), lease(longMs));
  assertSame(again, { entry, created: false });
  assertSame(await journal.read(prefix), entry);
  assert.equal(await journal.renew(prefix, entry, longMs), true, "the first lease is kept");
}

async function beginOnce({ journal, second, prefix }: LawFixture): Promise<void> {
  const begun = await Promise.all(
    times(20, (index) =>
      pick(index, journal, second).begin(prefix, scopeOf(prefix), open(String(index)), lease(longMs)),
    ),
  );
  assert.equal(begun.filter(({ created }) => created).length, 1);
  const winner = begun.find(({ created }) => created)?.entry;
  for (const { entry } of begun) assertSame(entry, winner);
}

async function readUnknown({ journal, prefix }: LawFixture): Promise<void> {
  assert.equal(await journal.read(prefix), undefined);
}

async function acquireRefuses({ journal, second, prefix }: LawFixture): Promise<void> {
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined);
  assert.equal(await journal.read(prefix), undefined, "acquire creates no flow");
  const entry = await begin(journal, prefix, open(), lease(longMs, "same"));
  assert.equal(await second.acquire(prefix, lease(longMs, "other")), undefined);
  assert.equal(await journal.acquire(prefix, lease(longMs, "same")), undefined, "an owner's name decides nothing");
  assertSame(await journal.read(prefix), entry);
}

async function takeover({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("kept"), lease(shortMs));
  await outliveShortLease();
  const begun = await second.begin(prefix, scopeOf(prefix), open("again"), lease(longMs));
  assertSame(begun, { entry, created: false }, "begin takes nothing over");
  const request = lease(shortMs, "a successor");
  const taken = await second.acquire(prefix, request);
  assertSame(stateOf(taken), stateOf(entry));
  assertSame([taken?.epoch, taken?.nonce, taken?.owner], [2, request.nonce, request.owner]);
  assertSame(await journal.read(prefix), taken);
  await outliveShortLease();
  assert.equal((await journal.acquire(prefix, lease(longMs)))?.epoch, 3);
  assert.equal(await second.acquire(prefix, lease(longMs)), undefined);
}

async function takeoverOnce({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await begin(journal, prefix, open(), lease(shortMs));
  await outliveShortLease();
  const taken = await Promise.all(times(20, (index) => pick(index, journal, second).acquire(prefix, lease(longMs))));
  assertSame(
    taken.filter(isEntry).map(({ epoch }) => epoch),
    [2],
  );
}

async function fencing({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const before = await begin(journal, prefix, open("before"), lease(shortMs));
  await outliveShortLease();
  const taken = defined(await second.acquire(prefix, lease(longMs)));
  assert.equal(await journal.write(prefix, before, done("stale")), false);
  assert.equal(await journal.write(prefix, before, open("stale"), longMs), false);
  assert.equal(await journal.renew(prefix, before, longMs), false);
  await journal.release(prefix, before);
  assertSame(await journal.read(prefix), taken);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined, "the new owner's lease is kept");
  const neverGiven = { epoch: 3, nonce: taken.nonce, revision: taken.revision };
  assert.equal(await journal.write(prefix, neverGiven, open("an epoch that was never given")), false);
  assert.equal(await second.write(prefix, taken, open("after")), true);
}

async function fencingByNonce({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, `${prefix}open`, open("before"), lease(longMs));
  const other = { ...entry, nonce: randomUUID() };
  assert.equal(await second.write(entry.key, other, done("stale")), false);
  assert.equal(await second.write(entry.key, other, open("stale"), longMs), false);
  assert.equal(await second.renew(entry.key, other, longMs), false);
  await second.release(entry.key, other);
  assertSame(await journal.read(entry.key), entry);
  assert.equal(await second.acquire(entry.key, lease(longMs)), undefined, "the owner's lease is kept");
  const quoted = await begin(journal, `${prefix}quote`, quote(longMs), lease(longMs));
  const stale = { ...quoted, nonce: randomUUID() };
  // As of a quote of this key that was pruned.
  assert.equal(await second.replaceQuote(quoted.key, stale, open(), lease(longMs), undefined), undefined);
  assert.equal(await second.fenceQuote(quoted.key, stale, randomUUID()), undefined);
  assertSame(await journal.read(quoted.key), quoted);
}

async function lateOwner({ journal, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(shortMs));
  await outliveShortLease();
  assert.equal(await journal.write(prefix, entry, open("late")), true);
  assert.equal((await journal.read(prefix))?.data, "late");
  assert.equal(await journal.renew(prefix, entry, longMs), true);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined);
}

async function takenMeanwhile(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, shortMs, outliveShortLease, flows } = fixture;
  const keys = times(3 * flows, (index) => `${prefix}${index}`);
  const entries = await Promise.all(keys.map((key) => begin(journal, key, open("before"), lease(shortMs))));
  await outliveShortLease();
  const race = async (entry: JournalEntry, index: number): Promise<void> => {
    const { key } = entry;
    const late = [
      () => journal.renew(key, entry, longMs + 1000),
      () => journal.write(key, entry, open("late")),
      () => journal.release(key, entry),
    ][index % 3];
    const take = () => second.acquire(key, lease(longMs));
    const early = index % 2 === 0 ? take() : undefined;
    const [isDone, taken] = await Promise.all([late?.(), early ?? take()]);
    const now = await journal.read(key);
    if (taken !== undefined) assertSame(now, taken, "the new owner's flow was changed");
    if (index % 3 === 0) assert.equal(isDone, taken === undefined, "both have the lease, or neither");
    if (index % 3 === 1) assert.equal(isDone, now?.data === "late", "a write was lost");
  };
  await Promise.all(entries.map(race));
}

async function renewProlongs({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(shortMs));
  assert.equal(await journal.renew(prefix, entry, longMs), true);
  await outliveShortLease();
  assert.equal(await second.acquire(prefix, lease(longMs)), undefined);
  assert.equal(await journal.renew(prefix, entry, shortMs), true, "the new end counts, although it is earlier");
  await outliveShortLease();
  const taken = await second.acquire(prefix, lease(longMs));
  assertSame([taken?.epoch, stateOf(taken)], [2, stateOf(entry)]);
}

async function releaseFrees({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(longMs));
  await journal.release(prefix, entry);
  assertSame(await journal.read(prefix), { ...entry, leaseUntilMs: undefined, leaseMs: undefined });
  assert.equal(await journal.renew(prefix, entry, longMs), false);
  assert.equal(await journal.write(prefix, entry, open("written")), true);
  await journal.release(prefix, entry);
  const taken = await second.acquire(prefix, lease(longMs));
  assertSame([taken?.epoch, taken?.data], [2, "written"]);
}

async function writeStores({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("first", "claimed"), lease(longMs));
  const state = { ...open("second", "claimed"), evidence: "changed" };
  assert.equal(await journal.write(prefix, entry, state), true);
  const now = defined(await second.read(prefix));
  assertSame({ ...now, updatedAtMs: 0 }, { ...entry, ...state, revision: 2, updatedAtMs: 0 });
  assert.equal(now.updatedAtMs >= entry.updatedAtMs, true, "updatedAtMs does not go back");
}

async function writesInOrder({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("first"), lease(shortMs));
  const state = { ...open("second", "claimed"), evidence: "of the second" };
  assert.equal(await journal.write(prefix, { ...entry, revision: 2 }, state), false, "no state has that revision yet");
  assert.equal(await journal.write(prefix, entry, state, longMs), true);
  const written = defined(await second.read(prefix));
  assert.equal(written.revision, 2);
  await outliveShortLease();
  assert.equal(await second.write(prefix, entry, state, shortMs), true, "it is its own repetition");
  assertSame(await journal.read(prefix), written, "the repetition changes nothing, not even the lease");
  for (const other of [{ data: "other" }, { phase: "paid" }, { evidence: "" }, { settled: true }]) {
    assert.equal(await journal.write(prefix, entry, { ...state, ...other }), false, "it is another state");
  }
  assertSame(await journal.read(prefix), written);
  assert.equal(await journal.write(prefix, written, open("third")), true);
  assert.equal(await journal.write(prefix, entry, state, longMs), false, "the repetition is too late");
  const third = defined(await journal.read(prefix));
  assertSame([third.revision, third.data], [3, "third"]);
  assert.equal(await journal.write(prefix, third, done("outcome")), true);
  assert.equal(await second.write(prefix, third, done("outcome")), true, "an outcome can be repeated too");
  assert.equal((await journal.read(prefix))?.revision, 4);
}

async function lateWrites({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, `${prefix}told`, open("first"), lease(longMs));
  assert.equal(await journal.write(entry.key, entry, open("second")), true);
  assert.equal(await journal.write(entry.key, { ...entry, revision: 2 }, done("outcome", "paid")), true);
  const told = await second.read(entry.key);
  for (const late of [entry, { ...entry, revision: 2 }]) {
    assert.equal(await second.write(entry.key, late, open("late")), false);
    assert.equal(await second.write(entry.key, late, open("late"), longMs), false);
    assert.equal(await second.write(entry.key, late, done("late", "rejected")), false);
  }
  assertSame(await journal.read(entry.key), told);
  const taken = await begin(journal, `${prefix}taken`, open("first"), lease(longMs));
  assert.equal(await journal.write(taken.key, taken, open("second")), true);
  await journal.release(taken.key, taken);
  const owned = defined(await second.acquire(taken.key, lease(longMs)));
  assert.equal(owned.revision, 2, "a new owner stores nothing by itself");
  assert.equal(await journal.write(taken.key, taken, open("second")), false, "the epoch is another one by now");
  assertSame(await journal.read(taken.key), owned);
  await settleAll(journal, [taken.key]);
}

async function writeMarksAndMoves({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(longMs));
  assert.equal(entry.incarnationMark, undefined, "a flow begins without a mark");
  assert.equal(await journal.write(prefix, entry, { ...open("marked"), incarnationMark: "a history" }), true);
  await journal.release(prefix, entry);
  const taken = defined(await second.acquire(prefix, lease(longMs)));
  assert.equal(taken.incarnationMark, "a history");
  const scope = { service: `${service}/moved`, gateway: `${prefix}moved` };
  assert.equal(await second.write(prefix, taken, { ...open("moved"), scope }), true);
  const moved = defined(await journal.read(prefix));
  assertSame([moved.scope, moved.incarnationMark, moved.data, moved.evidence], [scope, "a history", "moved", "{}"]);
  assertSame(await journal.list({ scope: scopeOf(prefix), limit: 10 }), []);
  assertSame(await journal.list({ scope, limit: 10 }), [moved]);
  await journal.release(prefix, moved);
  const again = defined(await journal.acquireAbandoned(scope, lease(longMs), undefined));
  assertSame([again.key, again.incarnationMark], [prefix, "a history"]);
  assert.equal(await journal.write(prefix, again, done()), true);
  assertSame((await journal.read(prefix))?.scope, scope);
}

async function writeKeepsTheLease({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const long = await begin(journal, `${prefix}long`, open(), lease(longMs));
  assert.equal(await journal.write(long.key, long, open("x")), true);
  assert.equal(await second.acquire(long.key, lease(longMs)), undefined);
  const short = await begin(journal, `${prefix}short`, open(), lease(shortMs));
  await outliveShortLease();
  assert.equal(await journal.write(short.key, short, open("x")), true);
  assert.equal((await second.acquire(short.key, lease(longMs)))?.epoch, 2);
}

async function writeProlongs({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, `${prefix}prolonged`, open(), lease(shortMs));
  const late = await begin(journal, `${prefix}late`, open(), lease(shortMs));
  const released = await begin(journal, `${prefix}released`, open("kept"), lease(longMs));
  const settled = await begin(journal, `${prefix}settled`, done("kept"), lease(longMs));
  const ended = await begin(journal, `${prefix}ended`, open(), lease(longMs));
  assert.equal(await journal.write(entry.key, entry, open("prolonged"), longMs), true);
  await outliveShortLease();
  assert.equal((await journal.read(entry.key))?.data, "prolonged");
  assert.equal(await second.acquire(entry.key, lease(longMs)), undefined, "the lease is extended");
  assert.equal(await journal.write(late.key, late, open("late"), longMs), true, "nobody has taken it over");
  assert.equal(await second.acquire(late.key, lease(longMs)), undefined);
  await journal.release(released.key, released);
  for (const entry of [released, settled]) {
    assert.equal(await journal.write(entry.key, entry, open("changed"), longMs), false);
    assert.equal((await journal.read(entry.key))?.data, "kept", "nothing is stored");
  }
  assert.equal(await journal.write(ended.key, ended, done("settled"), longMs), true);
  assert.equal((await second.acquire(ended.key, lease(longMs)))?.epoch, 2, "a settled state ends the lease");
  await settleAll(journal, [entry.key, late.key, released.key]);
}

async function nothingThere({ journal, prefix }: LawFixture): Promise<void> {
  const id = { epoch: 1, nonce: randomUUID(), revision: 1 };
  assert.equal(await journal.write(prefix, id, open()), false);
  assert.equal(await journal.write(prefix, id, open(), longMs), false);
  assert.equal(await journal.renew(prefix, id, longMs), false);
  assert.equal(await journal.replaceQuote(prefix, id, open(), lease(longMs), undefined), undefined);
  assert.equal(await journal.fenceQuote(prefix, id, randomUUID()), undefined);
  await journal.release(prefix, id);
  assert.equal(await journal.read(prefix), undefined);
}

async function settledEndsTheLease({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(longMs));
  assert.equal(await journal.write(prefix, entry, done("settled")), true);
  const settled = await journal.read(prefix);
  assertSame([settled?.settled, settled?.leaseUntilMs], [true, undefined]);
  assert.equal(await journal.renew(prefix, entry, longMs), false);
  const taken = defined(await second.acquire(prefix, lease(longMs)));
  assertSame([taken.epoch, taken.settled, taken.data], [2, true, "settled"]);
  assert.equal(await journal.acquire(prefix, lease(longMs)), undefined, "a settled flow is leased like others");
  assert.equal(await second.write(prefix, taken, open("again")), true);
  assert.equal((await journal.read(prefix))?.settled, false);
}

async function beginSettled({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, done(), lease(longMs));
  assert.equal(entry.leaseUntilMs, undefined);
  assert.equal(await journal.renew(prefix, entry, longMs), false);
  assert.equal((await second.acquire(prefix, lease(longMs)))?.epoch, 2);
}

async function observedLease({ journal, second, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const entry = await begin(journal, `${prefix}observed`, open("kept"), lease(longMs), scope);
  const observed = { ...entry, leaseUntilMs: entry.leaseUntilMs ?? 0 };
  const { epoch, revision, leaseUntilMs } = observed;
  const others = [{ epoch: epoch + 1 }, { revision: revision + 1 }, { leaseUntilMs: leaseUntilMs + 1 }];
  for (const other of [...others, { nonce: randomUUID() }]) {
    assert.equal(await second.acquire(entry.key, lease(longMs), { ...observed, ...other }), undefined);
  }
  assertSame(await journal.read(entry.key), entry);
  const request = lease(longMs);
  const taken = defined(await second.acquire(entry.key, request, observed));
  assertSame([taken.epoch, taken.nonce, taken.data], [2, request.nonce, "kept"]);
  assert.equal(await journal.acquire(entry.key, lease(longMs), observed), undefined, "the lease is another one by now");
  assert.equal(await second.renew(taken.key, taken, longMs + 1000), true);
  const renewed = defined(await journal.read(taken.key));
  assertSame([renewed.leaseMs, renewed.isOverlong], [longMs + 1000, false]);
  const seen = { ...taken, leaseUntilMs: taken.leaseUntilMs ?? 0 };
  assert.equal(await journal.acquire(entry.key, lease(longMs), seen), undefined, "a lease that was renewed is alive");
  assertSame(await second.overlong({ scope, limit: 10 }), [], "no lease ends later than its length from now");
  await settleAll(journal, [entry.key]);
}

async function abandonedOnly({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const leased = open("x".repeat(1024));
  // More of them, and more bytes, than databases give on one page.
  await Promise.all(times(1100, (index) => begin(journal, `${prefix}1 ${index}`, leased, lease(longMs), scope)));
  await begin(journal, `${prefix}2 settled`, done(), lease(shortMs), scope);
  await begin(journal, `${prefix}3 a quote`, quote(shortMs), lease(shortMs), scope);
  const expired = await begin(journal, `${prefix}4 expired`, open("kept"), lease(shortMs), scope);
  const released = await begin(journal, `${prefix}5 released`, open(), lease(longMs), scope);
  await journal.release(released.key, released);
  await outliveShortLease();
  const request = lease(longMs);
  const first = await second.acquireAbandoned(scope, request, prefix);
  assertSame([first?.key, first?.epoch, first?.nonce, first?.data], [expired.key, 2, request.nonce, "kept"]);
  const next = await second.acquireAbandoned(scope, lease(longMs), prefix);
  assertSame([next?.key, next?.epoch], [released.key, 2]);
  assert.equal(await journal.acquireAbandoned(scope, lease(longMs), prefix), undefined);
  const [listed] = await second.list({ scope, phase: "quoted", after: prefix, limit: 1 });
  assert.equal(listed?.key, `${prefix}3 a quote`);
  assertSame(await second.counts(scope), { open: 1102, quoted: 1, done: 1 });
  const counted = ofGateway(scope.gateway, await second.scopes());
  assertSame(counted, [{ ...scope, open: 1102, held: 0, paid: 0, flows: 1104 }]);
  const backlog = ofGateway(scope.gateway, await second.backlog());
  assertSame(
    backlog.map(({ phase, flows }) => [phase, flows]),
    [["open", 1102]],
  );
  assert.equal(await journal.write(expired.key, expired, done()), false);
}

async function abandonedInOrder({ journal, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const key of keys) await abandon(journal, key, scope);
  const seen: string[] = [];
  for (let after = prefix; ; ) {
    const taken = await journal.acquireAbandoned(scope, lease(longMs), after);
    if (taken === undefined) break;
    seen.push(taken.key);
    assert.equal(seen.length <= keys.length, true, "a flow was returned twice in one pass");
    after = taken.key;
    // Free again, and its key is still after.
    await journal.release(taken.key, taken);
  }
  assertSame(seen, byBytes(keys));
  const again = await journal.acquireAbandoned(scope, lease(longMs), undefined);
  assert.equal(again?.key, seen[0], "a new pass begins at the first");
  await settleAll(journal, keys);
}

async function abandonedOnce(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, workers, flows } = fixture;
  const scope = scopeOf(prefix);
  const keys = times(flows, (index) => `${prefix}${String(index).padStart(6, "0")}`);
  for (const key of keys) await abandon(journal, key, scope);
  const taken: JournalEntry[] = [];
  await Promise.all(
    times(workers, async (index) => {
      const handle = pick(index, journal, second);
      for (;;) {
        const entry = await handle.acquireAbandoned(scope, lease(longMs), prefix);
        // Each of the others may be acquiring one at this moment.
        if (entry === undefined)
          return assert.equal(taken.length > flows - workers, true, "an abandoned flow was left");
        taken.push(entry);
        assert.equal(taken.length <= flows, true, "a flow was returned twice");
      }
    }),
  );
  assertSame(byBytes(taken.map(({ key }) => key)), keys);
  for (const entry of taken) assert.equal(await journal.write(entry.key, entry, done()), true);
}

async function scopesApart({ journal, second, prefix }: LawFixture): Promise<void> {
  const ownService = `https://${randomUUID()}.example`;
  const scopes = [
    { service: ownService, gateway: "a" },
    { service: ownService, gateway: "A" },
    { service: `${ownService}/other`, gateway: "a" },
  ];
  for (const [index, scope] of scopes.entries()) {
    await abandon(journal, `${prefix}${index} open`, scope);
    await begin(journal, `${prefix}${index} held`, done("", "held"), lease(longMs), scope);
  }
  const keys = async (scope: { service: string; gateway?: string }, phase?: string): Promise<string[]> =>
    (await second.list({ scope, phase, limit: 10 })).map(({ key }) => key.slice(prefix.length));
  assertSame(await keys({ service: ownService, gateway: "A" }), ["1 held", "1 open"]);
  assertSame(await keys({ service: ownService }, "held"), ["0 held", "1 held"]);
  assertSame(await keys({ service: `${ownService}/none` }), []);
  assertSame(await second.counts({ service: ownService, gateway: "a" }), { held: 1, open: 1 });
  assertSame(await second.counts({ service: ownService }), { held: 2, open: 2 });
  assertSame(await second.counts({ service: `${ownService}/none` }), {});
  const abandoned = async (scope: { service: string; gateway?: string }) =>
    (await second.acquireAbandoned(scope, lease(longMs), undefined))?.key.slice(prefix.length);
  assert.equal(await abandoned({ service: ownService, gateway: "A" }), "1 open");
  assert.equal(await abandoned({ service: ownService, gateway: "A" }), undefined);
  assert.equal(await abandoned({ service: ownService }), "0 open");
  assert.equal(await abandoned({ service: ownService }), undefined);
  assert.equal(await abandoned({ service: `${ownService}/other`, gateway: "a" }), "2 open");
}

async function listPages({ journal, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const [index, key] of keys.entries()) {
    await begin(journal, key, { ...open(key, "listed"), settled: index % 3 > 0 }, lease(longMs), scope);
  }
  await begin(journal, `${prefix}other`, done("", "listed."), lease(longMs), scope);
  const seen: JournalEntry[] = [];
  for (;;) {
    const page = await journal.list({ scope, phase: "listed", after: seen.at(-1)?.key, limit: 4 });
    assert.equal(page.length <= 4, true, "at most limit");
    seen.push(...page);
    assert.equal(seen.length <= keys.length, true, "a flow was returned twice, or one of another phase");
    if (page.length < 4) break;
  }
  assertSame(
    seen.map(({ key }) => key),
    byBytes(keys),
  );
  for (const { key, data } of seen) assert.equal(data, key);
  assertSame(await journal.list({ scope, phase: "listed?", limit: 4 }), []);
}

async function listAll({ journal, second, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const states = [open(), quote(longMs), done("", "paid"), done("", "held"), done("", "paid"), open("", "claimed")];
  const entries: JournalEntry[] = [];
  for (const [index, state] of states.entries()) {
    entries.push(await begin(journal, `${prefix}${index}`, state, lease(longMs), scope));
  }
  assertSame(await second.list({ scope, limit: 100 }), entries);
  assertSame(await second.list({ scope, after: `${prefix}1`, limit: 2 }), entries.slice(2, 4));
  assertSame(await second.list({ scope, phase: "paid", limit: 1 }), entries.slice(2, 3));
  assertSame(await second.counts(scope), { open: 1, quoted: 1, paid: 2, held: 1, claimed: 1 });
}

/** What a journal tells of one gateway: others may use it too. */
function ofGateway<Told extends FlowScope>(gateway: string, told: readonly Told[]): readonly Told[] {
  return told.filter((each) => each.gateway === gateway);
}

async function storedLast({ journal, second, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const shown = async (): Promise<unknown> => [
    await second.counts(scope),
    ofGateway(prefix, await second.scopes()),
    ofGateway(prefix, await second.backlog())
      .map(({ phase, flows, unowned }) => `${phase} ${flows} ${unowned}`)
      .sort(),
    await second.list({ scope, phase: "held", limit: 10 }),
    await second.list({ scope, phase: "open", limit: 10 }),
    await second.list({ scope, phase: "quoted", limit: 10 }),
  ];
  const held = await begin(journal, `${prefix}held`, open(), lease(longMs), scope);
  const quoted = await begin(journal, `${prefix}quote`, quote(longMs), lease(longMs), scope);
  assertSame(await shown(), [
    { open: 1, quoted: 1 },
    [{ ...scope, open: 1, held: 0, paid: 0, flows: 2 }],
    ["open 1 0"],
    ...[[], [held], [quoted]],
  ]);
  assert.equal(await journal.write(held.key, held, done("a person decides", "held")), true);
  const confirmed = defined(await journal.replaceQuote(quoted.key, quoted, open(), lease(longMs), false));
  await journal.release(quoted.key, confirmed);
  assertSame(await shown(), [
    { held: 1, open: 1 },
    [{ ...scope, open: 1, held: 1, paid: 0, flows: 2 }],
    ["held 1 0", "open 1 1"],
    ...[[await journal.read(held.key)], [await journal.read(quoted.key)], []],
  ]);
  const taken = defined(await second.acquireAbandoned(scope, lease(longMs), undefined));
  assert.equal(taken.key, quoted.key);
  assert.equal(await second.write(taken.key, taken, done("it is over", "paid")), true);
  assertSame(await shown(), [
    { held: 1, paid: 1 },
    [{ ...scope, open: 0, held: 1, paid: 1, flows: 2 }],
    ["held 1 0"],
    ...[[await journal.read(held.key)], [], []],
  ]);
  assert.equal(await second.acquireAbandoned(scope, lease(longMs), undefined), undefined);
}

async function scopesCounted({ journal, second, prefix, outliveShortLease }: LawFixture): Promise<void> {
  const own = `https://${randomUUID()}.example`;
  const [one, other] = [
    { service: own, gateway: "a" },
    { service: `${own}/v1`, gateway: "b" },
  ];
  const old = await begin(journal, `${prefix}0`, done("", "paid"), lease(longMs), one);
  await outliveShortLease();
  const states = [open(), open("", "claimed"), done("", "held"), done("", "paid"), quote(longMs)];
  for (const [index, state] of states.entries()) {
    await begin(journal, `${prefix}${index + 1}`, state, lease(longMs), one);
  }
  await begin(journal, `${prefix}other`, done("", "declined"), lease(longMs), other);
  await journal.prune({ settledBeforeMs: old.updatedAtMs + 1 });
  const counted = (await second.scopes()).filter(({ service: found }) => found.startsWith(own));
  assertSame(
    [...counted].sort((left, right) => left.gateway.localeCompare(right.gateway)),
    [
      { ...one, open: 2, held: 1, paid: 2, flows: 5 },
      { ...other, open: 0, held: 0, paid: 0, flows: 1 },
    ],
  );
  await settleAll(journal, [`${prefix}1`, `${prefix}2`]);
}

async function backlogCounted({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const own = `https://${randomUUID()}.example`;
  const [one, other] = [
    { service: own, gateway: "a" },
    { service: own, gateway: "b" },
  ];
  const oldest = await begin(journal, `${prefix}0`, open(), lease(shortMs), one);
  const held = await begin(journal, `${prefix}1`, done("", "held"), lease(longMs), one);
  await outliveShortLease();
  assert.equal(await journal.write(oldest.key, oldest, open()), true);
  const states = [open(), open("", "claimed"), done("", "held"), done("", "paid"), quote(longMs)];
  for (const [index, state] of states.entries()) {
    await begin(journal, `${prefix}${index + 2}`, state, lease(longMs), one);
  }
  const newest = await begin(journal, `${prefix}other`, open(), lease(longMs), other);
  const backlog = (await second.backlog()).filter(({ service }) => service === own);
  const byName = ({ gateway, phase }: BacklogCount) => `${gateway} ${phase}`;
  const sorted = [...backlog].sort((left, right) => byName(left).localeCompare(byName(right)));
  assertSame(
    sorted.map(({ oldestMs, ...counts }) => counts),
    [
      { ...one, phase: "claimed", flows: 1, unowned: 0 },
      { ...one, phase: "held", flows: 2, unowned: 0 },
      { ...one, phase: "open", flows: 2, unowned: 1 },
      { ...other, phase: "open", flows: 1, unowned: 0 },
    ],
  );
  const [, heldMs, openMs] = sorted.map(({ oldestMs }) => oldestMs);
  for (const [age, { createdAtMs }] of [
    [heldMs, held],
    [openMs, oldest],
  ] as const) {
    assert.equal(Number(age) >= newest.createdAtMs - createdAtMs, true, "says how old the oldest is");
    assert.equal(Number(age) < longMs, true, "counts by the journal's clock");
  }
  await settleAll(journal, [`${prefix}0`, `${prefix}2`, `${prefix}3`, `${prefix}other`]);
}

async function pruneLeavesTombstones({ journal, second, prefix, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const phases = ["declined", "held", "open", "paid", "rejected"];
  for (const phase of phases) await begin(journal, prefix + phase, done("private", phase), lease(longMs), scope);
  const settling = await begin(journal, `${prefix}settling`, open(), lease(longMs), scope);
  await outliveShortLease();
  const young = await begin(journal, `${prefix}young`, done("young", "paid"), lease(longMs), scope);
  assert.equal(await journal.write(settling.key, settling, done("just paid", "paid")), true);
  const before = await second.list({ scope, limit: 10 });
  assertSame(await journal.prune({ quotedBeforeMs: 1 }), { settled: 0, quoted: 0 });
  assertSame(await second.list({ scope, limit: 10 }), before, "prunes nothing that it was not told to");
  const { settled, quoted } = await journal.prune({ settledBeforeMs: young.updatedAtMs });
  assert.equal(settled >= 3, true, "says how many it pruned");
  assert.equal(quoted, 0);
  assertSame(await second.counts(scope), { held: 1, open: 1, paid: 2 });
  const left = await second.list({ scope, limit: 10 });
  assertSame(
    left.map(({ key, data }) => [key.slice(prefix.length), data]),
    [
      ["held", "private"],
      ["open", "private"],
      ["settling", "just paid"],
      ["young", "young"],
    ],
  );
  const isOld = ({ phase, updatedAtMs }: JournalEntry) =>
    /paid|declined|rejected/.test(phase) && updatedAtMs < young.updatedAtMs;
  for (const entry of before.filter(isOld)) {
    const tombstone = defined(await second.read(entry.key));
    assert.equal(Number.isInteger(tombstone.prunedAtMs), true);
    assertSame({ ...tombstone, prunedAtMs: undefined }, { ...entry, data: "", evidence: "" });
    const again = await journal.begin(entry.key, scope, open("again"), lease(longMs));
    assertSame(again, { entry: tombstone, created: false });
    assert.equal(await journal.acquire(entry.key, lease(longMs)), undefined, "a tombstone can't be leased");
    assert.equal(await journal.write(entry.key, entry, open("late")), false, "its last owner writes nothing any more");
    assertSame(await second.read(entry.key), tombstone);
  }
  assertSame(await journal.prune({ settledBeforeMs: young.updatedAtMs }), { settled: 0, quoted: 0 });
}

async function tombstonesStay({ journal, second, prefix, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, done("private", "paid"), lease(longMs));
  await journal.prune({ settledBeforeMs: entry.updatedAtMs + 1 });
  const tombstone = defined(await journal.read(prefix));
  await outliveShortLease();
  await journal.prune({ settledBeforeMs: entry.updatedAtMs + 1, quotedBeforeMs: entry.updatedAtMs + 1 });
  await outliveShortLease();
  assertSame(await second.read(prefix), tombstone);
  const again = await second.begin(prefix, scopeOf(prefix), open("again"), lease(longMs));
  assertSame(again, { entry: tombstone, created: false });
}

async function pruneKeepsEvidence({ journal, prefix, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const state = { ...done("private", "paid"), evidence: "ids and amounts" };
  const entry = await begin(journal, `${prefix}old`, state, lease(longMs), scope);
  await outliveShortLease();
  const young = await begin(journal, `${prefix}young`, state, lease(longMs), scope);
  await journal.prune({ settledBeforeMs: young.updatedAtMs, keep: "evidence" });
  const tombstone = await journal.read(entry.key);
  assertSame([tombstone?.data, tombstone?.evidence], ["", "ids and amounts"]);
  assertSame(await journal.read(young.key), young);
}

async function pruneQuotes({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const old = await begin(journal, `${prefix}old`, quote(shortMs), lease(longMs), scope);
  const long = await begin(journal, `${prefix}long`, quote(longMs), lease(longMs), scope);
  const confirmed = await begin(journal, `${prefix}confirmed`, quote(shortMs), lease(longMs), scope);
  await journal.replaceQuote(confirmed.key, confirmed, done("", "held"), lease(longMs), undefined);
  await outliveShortLease();
  const fresh = await begin(journal, `${prefix}fresh`, quote(longMs), lease(longMs), scope);
  const { quoted, settled } = await journal.prune({ quotedBeforeMs: (old.expiresAtMs ?? 0) + 1 });
  assert.equal(quoted >= 1, true, "says how many it deleted");
  assert.equal(settled, 0);
  assert.equal(await second.read(old.key), undefined, "nothing is left of a quote");
  for (const kept of [fresh, long]) assertSame(await second.read(kept.key), kept, "it has not expired");
  assert.equal((await second.read(confirmed.key))?.phase, "held");
  assert.equal((await second.begin(old.key, scope, done(), lease(longMs))).created, true, "its key is free again");
}

async function keysApart({ journal, second, prefix }: LawFixture): Promise<void> {
  const keys = [...awkwardEndings, "x".repeat(1024 - Buffer.byteLength(prefix))].map((ending) => prefix + ending);
  for (const key of keys) await begin(journal, key, done(`data of ${key}`), lease(longMs), scopeOf(prefix));
  for (const key of keys) {
    const entry = await second.read(key);
    assertSame([entry?.key, entry?.data], [key, `data of ${key}`]);
  }
}

async function oddTexts({ journal, prefix }: LawFixture): Promise<void> {
  const odd = ["\0", "a\0b", "\uD800", "\uDC00x", "\uFFFD"];
  for (const [index, text] of odd.entries()) {
    await keptOrRefused(journal, prefix + text, done("odd key"));
    await keptOrRefused(journal, `${prefix}data ${index}`, done(text));
    await keptOrRefused(journal, `${prefix}evidence ${index}`, { ...done(), evidence: text });
    await keptOrRefused(journal, `${prefix}gateway ${index}`, done(), { service, gateway: text });
  }
  await keptOrRefused(journal, "", done("empty key"));
  const long = (length: number) => "x".repeat(length);
  await keptOrRefused(journal, `${prefix}service`, done(), { service: long(2048), gateway: prefix });
  await keptOrRefused(journal, `${prefix}gateway`, done(), { service, gateway: long(512) });
  const request = { ...lease(longMs), nonce: long(64) };
  const entry = await begin(journal, `${prefix}long`, open("", long(128)), request);
  assertSame([entry.phase, entry.nonce], [long(128), long(64)]);
  assert.equal(await journal.write(entry.key, entry, { ...done(), incarnationMark: long(128) }), true);
  assert.equal((await journal.read(entry.key))?.incarnationMark, long(128));
  assert.equal(await journal.read(`${prefix}a`), undefined, "no string was cut off at U+0000");
}

async function keptOrRefused(
  journal: Journal,
  key: string,
  state: JournalState,
  scope: FlowScope = scopeOf("odd"),
): Promise<void> {
  const begun = await journal.begin(key, scope, state, lease(longMs)).catch(() => undefined);
  if (begun === undefined) {
    assert.equal(await journal.read(key).catch(() => undefined), undefined, "what was refused is not there");
    return;
  }
  assert.equal(begun.created, true, "no other key was taken for it");
  const entry = await journal.read(key);
  const { data, evidence } = state;
  assertSame([entry?.key, entry?.data, entry?.evidence, entry?.scope], [key, data, evidence, scope]);
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
    '{ "b": 12345678901234567890, "a": 1.0, "a": -0 }',
  ];
  const large = "0123456789abcdé".repeat(2 ** 16);
  const all = [...texts, large];
  // All at once, so that a journal that stores many flows together is asked to.
  await Promise.all(
    all.map(async (text, index) => {
      const key = `${prefix}${index}`;
      const entry = await begin(journal, key, { ...open(text), evidence: `${text}.` }, lease(longMs));
      const first = await second.read(key);
      assert.equal(first?.data === text && first.evidence === `${text}.`, true, `text ${index} through begin`);
      const state = { ...quote(longMs, `!${text}`), evidence: `?${text}` };
      assert.equal(await journal.write(key, entry, state), true);
      const quoted = defined(await second.read(key));
      assert.equal(
        quoted.data === state.data && quoted.evidence === state.evidence,
        true,
        `text ${index} through write`,
      );
      await journal.replaceQuote(key, quoted, { ...done(text), evidence: `.${text}` }, lease(longMs), undefined);
      const last = await second.read(key);
      assert.equal(last?.data === text && last.evidence === `.${text}`, true, `text ${index} through replaceQuote`);
    }),
  );
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
