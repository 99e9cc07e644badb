import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { FlowScope, Journal, JournalEntry, JournalState } from "../flows/journal.js";
import {
  abandon,
  assertSame,
  begin,
  byBytes,
  dayMs,
  defined,
  done,
  type JournalLaw,
  type LawFixture,
  lease,
  longMs,
  open,
  pick,
  present,
  quote,
  scopeOf,
  service,
  settleAll,
  times,
} from "./law-fixture.js";
import { contention, quoteAtItsEnd, repeatedWrites, takenMeanwhile } from "./race-laws.js";

/** The laws of the interface `Journal`, in the order of its methods. */
export const laws: readonly JournalLaw[] = [
  ["begin stores a new flow with epoch 1 and revision 1, leased unless it is settled", beginStores],
  ["begin returns what is there, unchanged, and knows its own repetition", beginRepeated],
  ["of many that begin one flow at once, exactly one creates it", beginOnce],
  ["acquire takes a flow whose lease has ended, with the next epoch, and knows its own repetition", acquired],
  ["of many that acquire one flow at once, exactly one gets it", acquiredOnce],
  ["only the owner writes, renews, and releases", fenced],
  ["a lease that ended and that nobody took over can still be used and renewed", lateOwner],
  ["renew sets the end of a lease, unless it was released or ended by a settled state", renewed],
  ["write stores the state and nothing else; a settled state ends the lease", writes],
  ["write names the state that it replaces; its repetition is true and changes nothing", writesInOrder],
  ["writes that are repeated, late, and out of order are stored once and in order", repeatedWrites],
  ["an owner that is taken over meanwhile renews, writes, and releases before that, or not at all", takenMeanwhile],
  ["a quote has no lease, and is never leased or written without one", quoteWithoutLease],
  ["a quote is replaced as it was read, with the next epoch; the repetition is true", quoteReplaced],
  ["in time, a quote is replaced only while it is valid by the journal's clock", quoteInTime],
  ["a quote that is confirmed at the end of its time is confirmed before it", quoteAtItsEnd],
  ["of many that replace a quote at once, exactly one does", quoteReplacedOnce],
  ["acquireAbandoned takes open flows without a valid lease only, also among many", abandonedOnly],
  ["acquireAbandoned goes by the UTF-8 bytes of keys", abandonedInOrder],
  ["acquireAbandoned gives no flow to two workers", abandonedOnce],
  ["list and acquireAbandoned see their own scope only", scopesApart],
  ["list returns flows by the UTF-8 bytes of their keys, page by page", listed],
  ["list counts the flows of the whole journal by scope and phase, if asked to", counted],
  ["prune leaves a tombstone of old flows that are over, and nothing else", pruned],
  ["prune deletes quotes that expired a day ago or earlier, and no others", quotesPruned],
  ["keys are compared byte by byte", keysApart],
  ["strings are stored exactly or refused", oddTexts],
  ["data comes back exactly as it was given, even 1 MiB of it", exactData],
  ["no flow has two owners at once, and no write is lost", contention],
];

async function beginStores({ journal, second, prefix }: LawFixture): Promise<void> {
  assert.equal(await second.read(prefix), undefined);
  const request = lease();
  const { entry, created } = await journal.begin(prefix, scopeOf(prefix), open("data", "claimed"), request);
  assert.equal(created, true);
  const { createdAtMs, updatedAtMs, leaseUntilMs, readAtMs, ...rest } = entry;
  assertSame(rest, {
    ...{ key: prefix, scope: scopeOf(prefix), epoch: 1, revision: 1, nonce: request.nonce, owner: request.owner },
    ...{ phase: "claimed", settled: false, data: "data" },
  });
  for (const atMs of [createdAtMs, leaseUntilMs, readAtMs]) assert.ok(Number.isInteger(atMs), "whole milliseconds");
  assert.equal(updatedAtMs, createdAtMs);
  assert.ok(Math.abs(Number(leaseUntilMs) - createdAtMs - longMs) <= 100, "the lease counts from when it is granted");
  assertSame(await second.read(prefix), entry, "the second handle sees it");
  const settled = await begin(journal, `${prefix}settled`, done());
  assertSame([settled.settled, settled.leaseUntilMs], [true, undefined]);
  assert.equal(await journal.renew(settled.key, settled, longMs), false);
}

async function beginRepeated({ journal, second, prefix }: LawFixture): Promise<void> {
  const request = lease();
  const entry = await begin(journal, prefix, open("first"), request);
  const again = await second.begin(prefix, scopeOf(prefix), open("first"), request);
  assertSame(again, { entry, created: true }, "its own repetition");
  const other = await second.begin(prefix, scopeOf("another"), open("second", "other"), lease());
  assertSame(other, { entry, created: false });
  assert.equal(await journal.write(prefix, entry, open("written")), true);
  const late = await second.begin(prefix, scopeOf(prefix), open("first"), request);
  assertSame([late.created, late.entry.data], [false, "written"]);
}

async function beginOnce({ journal, second, prefix }: LawFixture): Promise<void> {
  const begun = await Promise.all(
    times(20, (index) => pick(index, journal, second).begin(prefix, scopeOf(prefix), open(String(index)), lease())),
  );
  const winners = begun.filter(({ created }) => created);
  assert.equal(winners.length, 1);
  for (const { entry } of begun) assertSame(entry, winners[0]?.entry);
}

async function acquired({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  assert.equal(await journal.acquire(prefix, lease()), undefined);
  assert.equal(await journal.read(prefix), undefined, "acquire creates no flow");
  const entry = await begin(journal, prefix, open("kept"), lease(shortMs, "same"));
  assert.equal(await journal.acquire(prefix, lease(longMs, "same")), undefined, "an owner's name decides nothing");
  assertSame(await journal.read(prefix), entry);
  await outliveShortLease();
  const request = lease(longMs, "a successor");
  const taken = defined(await second.acquire(prefix, request));
  const { nonce, owner } = request;
  assertSame({ ...taken, leaseUntilMs: 0 }, { ...entry, epoch: 2, nonce, owner, leaseUntilMs: 0 });
  assertSame(await journal.acquire(prefix, request), taken, "its own repetition");
  assert.equal(await journal.acquire(prefix, lease()), undefined);
  assert.equal(await journal.write(prefix, taken, done("settled")), true);
  const settled = defined(await second.acquire(prefix, lease()));
  assertSame([settled.epoch, settled.revision, settled.data], [3, 2, "settled"], "a settled flow is leased, too");
  assert.equal(await journal.acquire(prefix, request), undefined, "the repetition is too late");
}

async function acquiredOnce({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  await begin(journal, prefix, open(), lease(shortMs));
  await outliveShortLease();
  const taken = await Promise.all(times(20, (index) => pick(index, journal, second).acquire(prefix, lease())));
  assertSame(
    taken.flatMap((entry) => entry?.epoch ?? []),
    [2],
  );
}

async function fenced({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const before = await begin(journal, prefix, open("before"), lease(shortMs));
  await outliveShortLease();
  const taken = defined(await second.acquire(prefix, lease()));
  const others = [before, { ...taken, nonce: randomUUID() }, { ...taken, epoch: 3 }, { ...taken, epoch: 1 }];
  for (const other of others) {
    assert.equal(await journal.write(prefix, other, open("stale")), false);
    assert.equal(await journal.write(prefix, other, done("stale")), false);
    assert.equal(await journal.renew(prefix, other, longMs), false);
    await journal.release(prefix, other);
    assertSame(await journal.read(prefix), taken);
  }
  const none = `${prefix}none`;
  assert.equal(await journal.write(none, taken, open()), false);
  assert.equal(await journal.write(none, taken, open(), { lease: lease(), inTime: false }), false);
  assert.equal(await journal.renew(none, taken, longMs), false);
  await journal.release(none, taken);
  assert.equal(await journal.read(none), undefined);
  assert.equal(await second.write(prefix, taken, done("after")), true);
}

async function lateOwner({ journal, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open(), lease(shortMs));
  await outliveShortLease();
  assert.equal(await journal.write(prefix, entry, open("late")), true);
  assert.equal((await journal.read(prefix))?.data, "late");
  assert.equal(await journal.renew(prefix, entry, longMs), true);
  assert.equal(await journal.acquire(prefix, lease()), undefined);
}

async function renewed({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("kept"), lease(shortMs));
  assert.equal(await journal.renew(prefix, entry, longMs), true);
  await outliveShortLease();
  assert.equal(await second.acquire(prefix, lease()), undefined);
  assert.equal(await journal.renew(prefix, entry, shortMs), true, "the new end counts, although it is earlier");
  await outliveShortLease();
  const taken = defined(await second.acquire(prefix, lease()));
  assertSame([taken.epoch, taken.revision, taken.data], [2, 1, "kept"]);
  await second.release(prefix, taken);
  assertSame(await journal.read(prefix), { ...taken, leaseUntilMs: undefined });
  assert.equal(await second.renew(prefix, taken, longMs), false, "it was released");
  assert.equal(await second.write(prefix, taken, open("written")), true, "a release does not end writing");
  const last = defined(await journal.acquire(prefix, lease()));
  assertSame([last.epoch, last.data], [3, "written"]);
  assert.equal(await journal.write(prefix, last, done()), true);
  assert.equal(await journal.renew(prefix, last, longMs), false, "the settled state ended it");
}

async function writes({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("first", "claimed"), lease(shortMs));
  assert.equal(await journal.write(prefix, entry, open("second", "unknown")), true);
  const now = await present(second, prefix);
  assertSame(
    { ...now, updatedAtMs: 0 },
    { ...entry, ...open("second", "unknown"), revision: 2, updatedAtMs: 0 },
    "the lease and everything else stay as they were",
  );
  assert.ok(now.updatedAtMs >= entry.updatedAtMs);
  await outliveShortLease();
  const taken = defined(await second.acquire(prefix, lease()));
  assert.equal(await second.write(prefix, taken, done("third", "held")), true);
  const settled = await present(journal, prefix);
  assertSame([settled.phase, settled.settled, settled.leaseUntilMs], ["held", true, undefined]);
}

async function writesInOrder({ journal, second, prefix }: LawFixture): Promise<void> {
  const entry = await begin(journal, prefix, open("first"));
  const state = open("second", "claimed");
  assert.equal(await journal.write(prefix, { ...entry, revision: 2 }, state), false, "no state has that revision yet");
  assert.equal(await journal.write(prefix, entry, state), true);
  const stored = await present(journal, prefix);
  assert.equal(await second.write(prefix, entry, state), true, "its own repetition");
  for (const other of [open("other", "claimed"), open("second", "other"), done("second", "claimed")]) {
    assert.equal(await second.write(prefix, entry, other), false, "other bytes");
  }
  assert.equal(await second.write(prefix, entry, open("other"), { lease: lease(), inTime: false }), false, "no quote");
  assertSame(await second.read(prefix), stored);
  assert.equal(await journal.write(prefix, stored, done("third")), true);
  assert.equal(await second.write(prefix, stored, done("third")), true, "an outcome can be repeated, too");
  assert.equal(await second.write(prefix, entry, state), false, "the repetition is too late");
  const taken = defined(await second.acquire(prefix, lease()));
  assert.equal(taken.revision, 3, "a new owner stores nothing by itself");
  assert.equal(await journal.write(prefix, stored, done("third")), false, "the epoch is another one by now");
  assertSame(await journal.read(prefix), taken);
}

async function quoteWithoutLease({ journal, second, prefix }: LawFixture): Promise<void> {
  const request = lease();
  const quoted = await begin(journal, prefix, quote(longMs), request);
  assertSame([quoted.leaseUntilMs, quoted.epoch, quoted.revision], [undefined, 1, 1]);
  assert.ok(Math.abs(Number(quoted.expiresAtMs) - quoted.createdAtMs - longMs) <= 100, "its time counts from now");
  assert.equal(await second.acquire(prefix, lease()), undefined);
  assert.equal(await second.acquire(prefix, request), undefined);
  assert.equal(await second.write(prefix, quoted, open()), false);
  assert.equal(await second.write(prefix, quoted, quote(longMs, "another price")), false);
  assert.equal(await second.renew(prefix, quoted, longMs), false);
  await second.release(prefix, quoted);
  assertSame(await second.read(prefix), quoted);
}

async function quoteReplaced({ journal, second, prefix }: LawFixture): Promise<void> {
  const quoted = await begin(journal, prefix, quote(longMs));
  const again = { lease: lease(), inTime: false };
  for (const other of [{ nonce: randomUUID() }, { epoch: 2 }, { revision: 2 }]) {
    assert.equal(await second.write(prefix, { ...quoted, ...other }, open(), again), false, "not as it was read");
  }
  assert.equal(await second.write(prefix, quoted, quote(longMs, "another price"), again), true);
  const repriced = await present(journal, prefix);
  const { nonce } = again.lease;
  assertSame([repriced.epoch, repriced.revision, repriced.nonce, repriced.leaseUntilMs], [2, 2, nonce, undefined]);
  assert.ok(Number(repriced.expiresAtMs) >= Number(quoted.expiresAtMs), "its time begins again");
  assert.equal(await journal.write(prefix, quoted, open(), { lease: lease(), inTime: true }), false);
  const confirming = { lease: lease(longMs, "a confirming process"), inTime: true };
  const state = open("confirmed", "funds-requested");
  assert.equal(await second.write(prefix, repriced, state, confirming), true);
  const confirmed = await present(journal, prefix);
  const { owner } = confirming.lease;
  assertSame(
    { ...confirmed, updatedAtMs: 0, leaseUntilMs: 0 },
    {
      ...{ ...repriced, ...state, epoch: 3, revision: 3, nonce: confirming.lease.nonce, owner },
      ...{ updatedAtMs: 0, leaseUntilMs: 0, expiresAtMs: undefined },
    },
  );
  assert.ok(Math.abs(Number(confirmed.leaseUntilMs) - confirmed.updatedAtMs - longMs) <= 100, "it takes the lease");
  assert.equal(await journal.write(prefix, repriced, state, confirming), true, "its own repetition");
  assert.equal(await journal.write(prefix, repriced, open("other"), confirming), false, "other bytes");
  assert.equal(await journal.write(prefix, repriced, state, { lease: lease(), inTime: true }), false, "another's");
  assertSame(await journal.read(prefix), confirmed);
  assert.equal(await second.write(prefix, confirmed, done()), true);
  const cancelled = await begin(journal, `${prefix}cancelled`, quote(longMs));
  assert.equal(await second.write(cancelled.key, cancelled, done("", "declined"), again), true);
  assert.equal((await journal.read(cancelled.key))?.leaseUntilMs, undefined);
}

async function quoteInTime({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const short = await begin(journal, prefix, quote(shortMs));
  const confirming = { lease: lease(), inTime: true };
  await outliveShortLease();
  const expired = await present(second, prefix);
  assertSame(expired, short);
  assert.ok(expired.readAtMs >= Number(expired.expiresAtMs), "readAtMs is the journal's clock");
  assert.equal(await second.write(prefix, short, open("confirmed"), confirming), false);
  assertSame(await journal.read(prefix), short);
  assert.equal(await second.write(prefix, short, quote(longMs), { ...confirming, inTime: false }), true);
  const renewedQuote = await present(journal, prefix);
  assert.equal(await journal.write(prefix, renewedQuote, done("", "declined"), { lease: lease(), inTime: true }), true);
}

async function quoteReplacedOnce({ journal, second, prefix }: LawFixture): Promise<void> {
  const quoted = await begin(journal, prefix, quote(longMs));
  const states = times(20, (index) => pick(index, open(String(index)), quote(longMs, String(index))));
  const replaced = await Promise.all(
    states.map((state, index) =>
      pick(index >> 1, journal, second).write(prefix, quoted, state, { lease: lease(), inTime: index % 3 === 0 }),
    ),
  );
  const winners = states.filter((_, index) => replaced[index]);
  assert.equal(winners.length, 1);
  const now = await present(second, prefix);
  assertSame([now.epoch, now.revision, now.data], [2, 2, winners[0]?.data]);
}

async function abandonedOnly({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const leased = open("x".repeat(1024));
  // More of them, and more bytes, than databases give on one page.
  await Promise.all(times(1100, (index) => begin(journal, `${prefix}1 ${index}`, leased, lease(), scope)));
  await begin(journal, `${prefix}2 settled`, done(), lease(shortMs), scope);
  await begin(journal, `${prefix}3 a quote`, quote(shortMs), lease(shortMs), scope);
  const ended = await begin(journal, `${prefix}4 ended`, open("kept"), lease(shortMs), scope);
  await abandon(journal, `${prefix}5 released`, scope);
  await outliveShortLease();
  const request = lease();
  const first = await second.acquireAbandoned(scope, request, prefix);
  assertSame([first?.key, first?.epoch, first?.nonce, first?.data], [ended.key, 2, request.nonce, "kept"]);
  assertSame(await journal.read(ended.key), first);
  assert.equal((await second.acquireAbandoned(scope, lease(), ended.key))?.key, `${prefix}5 released`);
  assert.equal(await journal.acquireAbandoned(scope, lease(), prefix), undefined);
  const [counts] = (await second.list({ scope, limit: 0, counts: true })).counts.filter(
    ({ gateway, phase }) => gateway === prefix && phase === "open",
  );
  assertSame([counts?.flows, counts?.unowned], [1102, 0], "all of them are counted");
}

async function abandonedInOrder({ journal, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const key of keys) await abandon(journal, key, scope);
  const seen: string[] = [];
  for (let after = prefix; ; ) {
    const taken = await journal.acquireAbandoned(scope, lease(), after);
    if (taken === undefined) break;
    seen.push(taken.key);
    assert.ok(seen.length <= keys.length, "a flow was returned twice in one pass");
    after = taken.key;
    // Free again, and its key isn't after.
    await journal.release(taken.key, taken);
  }
  assertSame(seen, byBytes(keys));
  assert.equal((await journal.acquireAbandoned(scope, lease(), undefined))?.key, seen[0], "a new pass begins anew");
  await settleAll(journal, keys);
}

async function abandonedOnce({ journal, second, prefix, workers, flows }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const keys = times(flows, (index) => `${prefix}${String(index).padStart(6, "0")}`);
  for (const key of keys) await abandon(journal, key, scope);
  const taken: JournalEntry[] = [];
  await Promise.all(
    times(workers, async (index) => {
      for (;;) {
        const entry = await pick(index, journal, second).acquireAbandoned(scope, lease(), prefix);
        // Each of the others may be acquiring one at this moment.
        if (entry === undefined) return assert.ok(taken.length > flows - workers, "an abandoned flow was left");
        taken.push(entry);
        assert.ok(taken.length <= flows, "a flow was returned twice");
      }
    }),
  );
  assertSame(byBytes(taken.map(({ key }) => key)), keys);
  for (const entry of taken) assert.equal(await journal.write(entry.key, entry, done()), true);
}

async function scopesApart({ journal, second, prefix }: LawFixture): Promise<void> {
  const own = `${randomUUID()}.example`;
  const scopes = [
    { service: own, gateway: "a" },
    { service: own, gateway: "A" },
    { service: `${own}:8443`, gateway: "a" },
  ];
  for (const [index, scope] of scopes.entries()) {
    await abandon(journal, `${prefix}${index} open`, scope);
    await begin(journal, `${prefix}${index} held`, done("", "held"), lease(), scope);
  }
  const keys = async (scope: { service: string; gateway?: string }, phase?: string): Promise<string[]> =>
    (await second.list({ scope, phase, limit: 10 })).entries.map(({ key }) => key.slice(prefix.length));
  assertSame(await keys({ service: own, gateway: "A" }), ["1 held", "1 open"]);
  assertSame(await keys({ service: own }, "held"), ["0 held", "1 held"]);
  assertSame(await keys({ service: `${own}/none` }), []);
  const abandoned = async (scope: { service: string; gateway?: string }) =>
    (await second.acquireAbandoned(scope, lease(), undefined))?.key.slice(prefix.length);
  assert.equal(await abandoned({ service: own, gateway: "A" }), "1 open");
  assert.equal(await abandoned({ service: own, gateway: "A" }), undefined);
  assert.equal(await abandoned({ service: own }), "0 open");
  assert.equal(await abandoned({ service: own }), undefined);
  assert.equal(await abandoned({ service: `${own}:8443`, gateway: "a" }), "2 open");
}

async function listed({ journal, second, prefix }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const keys = awkwardEndings.map((ending) => prefix + ending);
  for (const [index, key] of keys.entries()) {
    await begin(journal, key, { ...open(key, "listed"), settled: index % 3 > 0 }, lease(), scope);
  }
  const other = await begin(journal, `${prefix}other`, quote(longMs), lease(), scope);
  const read = async (phase: string | undefined, wanted: readonly string[]): Promise<void> => {
    const seen: JournalEntry[] = [];
    for (;;) {
      const { entries } = await second.list({ scope, phase, after: seen.at(-1)?.key, limit: 4 });
      assert.ok(entries.length <= 4, "at most limit");
      seen.push(...entries);
      assert.ok(seen.length <= wanted.length, "a flow was returned twice, or one of another phase");
      if (entries.length < 4) break;
    }
    assertSame(
      seen.map(({ key }) => key),
      byBytes(wanted),
    );
    for (const entry of seen) assertSame(entry, await journal.read(entry.key));
  };
  await read("listed", keys);
  await read("quoted", [other.key]);
  await read("listed?", []);
  await read(undefined, [...keys, other.key]);
  // What was stored last counts.
  assert.equal(await journal.write(other.key, other, done("", "held"), { lease: lease(), inTime: true }), true);
  await read("held", [other.key]);
  await read("quoted", []);
  assertSame(await second.list({ scope, limit: 0 }), { entries: [], counts: [] });
}

async function counted({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const own = `${randomUUID()}.example`;
  const [one, other] = [
    { service: own, gateway: "a" },
    { service: `${own}:8443`, gateway: "b" },
  ];
  const oldest = await begin(journal, `${prefix}0`, open(), lease(shortMs), one);
  const paid = await begin(journal, `${prefix}1`, done("", "paid"), lease(), one);
  await outliveShortLease();
  await journal.prune({ settledBeforeMs: paid.updatedAtMs + 1 });
  const states = [open(), open("", "claimed"), done("", "held"), done("", "paid"), quote(longMs), done("", "held")];
  for (const [index, state] of states.entries()) await begin(journal, `${prefix}${index + 2}`, state, lease(), one);
  const newest = await begin(journal, `${prefix}other`, open(), lease(), other);
  const { entries, counts } = await second.list({ scope: one, limit: 1, counts: true });
  assertSame(
    entries.map(({ key }) => key),
    [oldest.key],
  );
  const ours = counts.filter((count) => count.service.startsWith(own));
  const row = (scope: FlowScope, phase: string, settled: boolean, flows: number, unowned = 0) =>
    `${scope.service} ${scope.gateway} ${phase} ${settled} ${flows} ${unowned}`;
  assertSame(ours.map((count) => row(count, count.phase, count.settled, count.flows, count.unowned)).sort(), [
    ...[row(one, "claimed", false, 1), row(one, "held", true, 2), row(one, "open", false, 2, 1)],
    ...[row(one, "paid", true, 1), row(one, "quoted", true, 1), row(other, "open", false, 1)],
  ]);
  const age = ours.find(({ gateway, phase }) => gateway === "a" && phase === "open")?.oldestMs ?? 0;
  assert.ok(age >= newest.createdAtMs - oldest.createdAtMs && age < longMs, "the age of the oldest");
  await settleAll(journal, [`${prefix}0`, `${prefix}2`, `${prefix}3`, `${prefix}other`]);
}

async function pruned({ journal, second, prefix, outliveShortLease }: LawFixture): Promise<void> {
  const scope = scopeOf(prefix);
  const requests = new Map<string, ReturnType<typeof lease>>();
  for (const phase of ["declined", "held", "paid", "rejected"]) {
    requests.set(phase, lease());
    await begin(journal, prefix + phase, done("private", phase), requests.get(phase), scope);
  }
  const settling = await begin(journal, `${prefix}settling`, open(), lease(), scope);
  await outliveShortLease();
  const young = await begin(journal, `${prefix}young`, done("young", "paid"), lease(), scope);
  assert.equal(await journal.write(settling.key, settling, done("just paid", "paid")), true);
  const before = (await second.list({ scope, limit: 10 })).entries;
  assertSame(await journal.prune({ quotedBeforeMs: 1 }), { settled: 0, quoted: 0 });
  assertSame((await second.list({ scope, limit: 10 })).entries, before, "prunes nothing that it was not told to");
  const leasedOutcome = defined(await journal.acquire(`${prefix}paid`, lease()));
  const { settled } = await journal.prune({ settledBeforeMs: young.updatedAtMs });
  assert.ok(settled >= 3, "says how many it pruned");
  const left = (await second.list({ scope, limit: 10 })).entries;
  assertSame(
    left.map(({ key, data }) => [key.slice(prefix.length), data]),
    [
      ["held", "private"],
      ["settling", "just paid"],
      ["young", "young"],
    ],
  );
  for (const entry of before.filter(({ key }) => !left.some((kept) => kept.key === key))) {
    const tombstone = await present(second, entry.key);
    assert.ok(Number.isInteger(tombstone.prunedAtMs));
    const { epoch, nonce } = tombstone;
    assertSame({ ...tombstone, prunedAtMs: undefined }, { ...entry, epoch, nonce, data: "" });
    const again = await journal.begin(entry.key, scope, open("again"), lease());
    assertSame(again, { entry: tombstone, created: false });
    assert.equal(await journal.acquire(entry.key, lease()), undefined, "a tombstone can't be leased");
    assert.equal(await journal.write(entry.key, tombstone, open("late")), false);
    assert.equal(await journal.renew(entry.key, tombstone, longMs), false);
    await journal.release(entry.key, tombstone);
    assertSame(await second.read(entry.key), tombstone);
  }
  assert.equal(await journal.renew(leasedOutcome.key, leasedOutcome, longMs), false, "a lease ends with its flow");
  const later = { settledBeforeMs: young.updatedAtMs, quotedBeforeMs: young.updatedAtMs };
  assertSame((await journal.prune(later)).settled, 0, "tombstones stay");
}

async function quotesPruned(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, shortMs, outliveShortLease, wait, canWaitForDays } = fixture;
  const scope = scopeOf(prefix);
  const old = await begin(journal, `${prefix}old`, quote(shortMs), lease(), scope);
  const confirmed = await begin(journal, `${prefix}confirmed`, quote(shortMs), lease(), scope);
  assert.equal(
    await journal.write(confirmed.key, confirmed, done("", "held"), { lease: lease(), inTime: false }),
    true,
  );
  await outliveShortLease();
  await journal.prune({ quotedBeforeMs: Number(old.expiresAtMs) + longMs });
  assertSame(await second.read(old.key), old, "it expired less than a day ago");
  if (!canWaitForDays) return;
  await wait(dayMs);
  const fresh = await begin(journal, `${prefix}fresh`, quote(longMs), lease(), scope);
  const { quoted } = await journal.prune({ quotedBeforeMs: Number(old.expiresAtMs) + 1 });
  assert.ok(quoted >= 1, "says how many it deleted");
  assert.equal(await second.read(old.key), undefined, "nothing is left of a quote");
  assertSame(await second.read(fresh.key), fresh);
  assert.equal((await second.read(confirmed.key))?.phase, "held");
  assert.equal((await second.begin(old.key, scope, done(), lease())).created, true, "its key is free again");
}

async function keysApart({ journal, second, prefix }: LawFixture): Promise<void> {
  const keys = [...awkwardEndings, "x".repeat(1024 - Buffer.byteLength(prefix))].map((ending) => prefix + ending);
  for (const key of keys) await begin(journal, key, done(`data of ${key}`), lease(), scopeOf(prefix));
  for (const key of keys) {
    const entry = await second.read(key);
    assertSame([entry?.key, entry?.data], [key, `data of ${key}`]);
  }
}

async function oddTexts({ journal, prefix }: LawFixture): Promise<void> {
  for (const [index, text] of ["\0", "a\0b", "\uD800", "\uDC00x", "\uFFFD"].entries()) {
    await keptOrRefused(journal, prefix + text, done("odd key"));
    await keptOrRefused(journal, `${prefix}data ${index}`, done(text));
    await keptOrRefused(journal, `${prefix}gateway ${index}`, done(), { service, gateway: text });
  }
  const long = (length: number) => "x".repeat(length);
  await keptOrRefused(journal, `${prefix}service`, done(), { service: long(2048), gateway: prefix });
  await keptOrRefused(journal, `${prefix}gateway`, done(), { service, gateway: long(512) });
  const entry = await begin(journal, `${prefix}long`, open("", long(128)), { ...lease(), nonce: long(64) });
  assertSame([entry.phase, entry.nonce], [long(128), long(64)]);
  assert.equal(await journal.write(entry.key, entry, done()), true);
  assert.equal(await journal.read(`${prefix}a`), undefined, "no string was cut off at U+0000");
}

async function keptOrRefused(
  journal: Journal,
  key: string,
  state: JournalState,
  scope = scopeOf("odd"),
): Promise<void> {
  const begun = await journal.begin(key, scope, state, lease()).catch(() => undefined);
  const entry = await journal.read(key).catch(() => undefined);
  if (begun === undefined) return assert.equal(entry, undefined, "what was refused is not there");
  assert.equal(begun.created, true, "no other key was taken for it");
  assertSame([entry?.key, entry?.data, entry?.scope], [key, state.data, scope]);
}

async function exactData({ journal, second, prefix }: LawFixture): Promise<void> {
  const texts = [
    ...["", " ", "\r\n\t", "'; DROP TABLE flows; --", "\\x00 \\u0000 %s $1 ?", "\u0001 \u0001"],
    ...["Zoë 李雷 😀 \u2028 \uFEFF e\u0301 é", `{"a":"\\u0000"}`, '{ "b": 12345678901234567890, "a": 1.0, "a": -0 }'],
    "0123456789abcdé".repeat(2 ** 16),
  ];
  const assertExact = async (key: string, text: string, how: string) =>
    assert.ok((await second.read(key))?.data === text, how);
  // All at once, so that a journal that stores many flows together is asked to.
  await Promise.all(
    texts.map(async (text, index) => {
      const key = `${prefix}${index}`;
      const quoted = await begin(journal, key, quote(longMs, text));
      await assertExact(key, text, `text ${index} through begin`);
      const confirming = { lease: lease(), inTime: true };
      assert.equal(await journal.write(key, quoted, open(`!${text}`), confirming), true);
      await assertExact(key, `!${text}`, `text ${index} in place of a quote`);
      assert.equal(await journal.write(key, await present(journal, key), done(`${text} `)), true);
      await assertExact(key, `${text} `, `text ${index} through write`);
    }),
  );
}

/** Different in bytes, although some database would take them for equal, or order them otherwise. */
const awkwardEndings = [
  ..."aAzZ0_%'\"`\\-.~?$;",
  ...["a ", " a", "a  ", "aa", "ä", "a\u0308", "é", "e\u0301", "ß", "ss", "ı", "İ", "ﬀ", "\uFFFD", "😀", "李雷"],
  ...["''", "?1", "$1", "\n", "\t", "\u00A0", "\u200B", "\u202E", "𐀀", "\uE000", "null", "undefined", "__proto__"],
];
