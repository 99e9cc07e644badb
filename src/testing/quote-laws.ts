import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JournalEntry } from "../flows/journal.js";
import {
  assertSame,
  begin,
  defined,
  done,
  isEntry,
  type LawFixture,
  lease,
  longMs,
  open,
  pick,
  quote,
  settleAll,
  stateOf,
  times,
} from "./law-fixture.js";

export async function quotesExpire({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const short = await begin(journal, `${prefix}short`, quote(shortMs), lease(longMs));
  const long = await begin(journal, `${prefix}long`, quote(longMs), lease(longMs));
  assertSame([short.isExpired, long.isExpired], [false, false]);
  const isEnd = Number.isInteger(short.expiresAtMs) && Number(short.expiresAtMs) > short.createdAtMs;
  assert.equal(isEnd, true, "expiresAtMs is when the quote expires, in whole milliseconds");
  await outliveShortLease();
  assertSame(await second.read(short.key), { ...short, isExpired: true });
  assertSame(await second.read(long.key), long);
  const taken = defined(await journal.acquire(long.key, lease(longMs)));
  assert.equal(await journal.write(long.key, taken, open()), true);
  assert.equal((await journal.read(long.key))?.expiresAtMs, undefined, "only a quote expires");
}

export async function quoteReplaced({
  journal,
  second,
  prefix,
  shortMs,
  outliveShortLease,
}: LawFixture): Promise<void> {
  const quoted = await begin(journal, `${prefix}confirmed`, quote(longMs), lease(longMs));
  const request = lease(longMs, "a confirming process");
  const state = { ...open("confirmed", "funds-requested"), evidence: "the price" };
  const confirmed = defined(await second.replaceQuote(quoted.key, quoted, state, request, false));
  assertSame([confirmed.epoch, confirmed.nonce, confirmed.owner], [2, request.nonce, request.owner]);
  assertSame(
    { ...stateOf(confirmed), updatedAtMs: 0 },
    { ...stateOf(quoted), ...state, revision: 2, updatedAtMs: 0, expiresAtMs: undefined },
  );
  assertSame(await journal.read(quoted.key), confirmed);
  assert.equal(await journal.acquire(quoted.key, lease(longMs)), undefined, "it is leased");
  assert.equal(await journal.write(quoted.key, quoted, open()), false, "the quote's owner has it no longer");
  assert.equal(await second.write(quoted.key, confirmed, done(), longMs), true);

  const cancelled = await begin(journal, `${prefix}cancelled`, quote(longMs), lease(longMs));
  const declined = await journal.replaceQuote(cancelled.key, cancelled, done("", "declined"), lease(longMs), undefined);
  assertSame([declined?.epoch, declined?.phase, declined?.leaseUntilMs], [2, "declined", undefined]);

  const expired = await begin(journal, `${prefix}expired`, quote(shortMs), lease(longMs));
  await outliveShortLease();
  const renewed = defined(await journal.replaceQuote(expired.key, expired, quote(longMs), lease(longMs), true));
  assertSame([renewed.epoch, renewed.phase, renewed.isExpired], [2, "quoted", false]);
  assert.equal((renewed.expiresAtMs ?? 0) > (expired.expiresAtMs ?? 0), true, "its time begins again");
}

export async function quoteKept({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const fresh = await begin(journal, `${prefix}fresh`, quote(longMs), lease(longMs));
  const expired = await begin(journal, `${prefix}expired`, quote(shortMs), lease(longMs));
  const other = await begin(journal, `${prefix}other`, done(), lease(longMs));
  await outliveShortLease();
  const replace = (quoted: JournalEntry, isExpired: boolean | undefined, epoch = quoted.epoch) =>
    second.replaceQuote(quoted.key, { ...quoted, epoch }, open("taken"), lease(longMs), isExpired);
  assert.equal(await replace(fresh, true), undefined, "it has not expired");
  assert.equal(await replace(expired, false), undefined, "it has expired");
  assert.equal(await replace(fresh, undefined, 2), undefined, "an epoch that was never given");
  assert.equal(await replace(other, undefined), undefined, "it is no quote");
  const repriced = await begin(journal, `${prefix}repriced`, quote(longMs), lease(longMs));
  assert.equal(await journal.write(repriced.key, repriced, quote(longMs, "another price")), true);
  assert.equal(await replace(repriced, undefined), undefined, "its owner has stored another quote since");
  assertSame(await journal.read(fresh.key), fresh);
  assertSame(await journal.read(expired.key), { ...expired, isExpired: true });
  assertSame(await journal.read(other.key), other);
}

export async function quoteReplacedOnce({ journal, second, prefix }: LawFixture): Promise<void> {
  for (const first of [0, 1]) {
    const quoted = await begin(journal, `${prefix}${first}`, quote(longMs), lease(longMs));
    const { key } = quoted;
    const replaced = await Promise.all(
      times(20, (index) => {
        const handle = pick(index, journal, second);
        if (index % 5 === first) return handle.fenceQuote(key, quoted, randomUUID());
        return handle.replaceQuote(key, quoted, quote(longMs, String(index)), lease(longMs), false);
      }),
    );
    const [winner, ...others] = replaced.filter(isEntry);
    assertSame(others, []);
    assertSame(await journal.read(key), winner);
  }
}

export async function quoteConfirmedInTime({ journal, second, prefix, shortMs, wait }: LawFixture): Promise<void> {
  const keys = times(60, (index) => `${prefix}${String(index).padStart(2, "0")}`);
  const quotes = await Promise.all(keys.map((key) => begin(journal, key, quote(shortMs), lease(longMs))));
  // From before the end of their time until after it.
  await wait(Math.max(0, shortMs - keys.length / 2));
  for (const [index, quoted] of quotes.entries()) {
    await wait(1);
    const handle = pick(index, journal, second);
    const state = open("confirmed", "funds-requested");
    const confirmed = await handle.replaceQuote(quoted.key, quoted, state, lease(longMs), false);
    if (confirmed === undefined) continue;
    // A clock that is finer than milliseconds has times before the end within its last one.
    const isInTime = confirmed.updatedAtMs <= (quoted.expiresAtMs ?? 0);
    assert.equal(isInTime, true, "a quote was confirmed when its time was over");
    await settleAll(journal, [confirmed.key]);
  }
}

export async function quoteFenced({ journal, second, prefix, shortMs, outliveShortLease }: LawFixture): Promise<void> {
  const quoted = await begin(journal, `${prefix}quote`, quote(longMs, "the price"), lease(longMs));
  const nonce = randomUUID();
  const fenced = defined(await second.fenceQuote(quoted.key, quoted, nonce));
  assertSame(fenced, { ...quoted, epoch: 2, revision: 2, nonce });
  assertSame(await journal.read(quoted.key), fenced);
  for (const expired of [undefined, true, false]) {
    const late = await journal.replaceQuote(quoted.key, quoted, open("late"), lease(longMs), expired);
    assert.equal(late, undefined, "the quote as it was seen is there no longer");
  }
  assert.equal(await journal.fenceQuote(quoted.key, quoted, randomUUID()), undefined);
  assertSame(await second.read(quoted.key), fenced);
  const confirmed = defined(await journal.replaceQuote(quoted.key, fenced, open(), lease(longMs), false));
  assertSame([confirmed.epoch, confirmed.revision], [3, 3]);
  assert.equal(await journal.fenceQuote(quoted.key, confirmed, randomUUID()), undefined, "it is a quote no longer");
  await settleAll(journal, [quoted.key]);
  const short = await begin(journal, `${prefix}short`, quote(shortMs), lease(longMs));
  assert.equal(await journal.write(short.key, short, quote(shortMs, "another price")), true);
  const repriced = defined(await journal.read(short.key));
  assert.equal(await second.fenceQuote(short.key, short, randomUUID()), undefined, "it is another quote by now");
  const kept = defined(await second.fenceQuote(short.key, repriced, randomUUID()));
  assert.equal(kept.expiresAtMs, repriced.expiresAtMs);
  await outliveShortLease();
  assert.equal((await journal.read(short.key))?.isExpired, true, "a fence does not prolong a quote");
}

export async function quotePrunedMeanwhile(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, shortMs, outliveShortLease, flows } = fixture;
  const keys = times(flows, (index) => `${prefix}${index}`);
  const quotes = await Promise.all(keys.map((key) => begin(journal, key, quote(shortMs), lease(longMs))));
  await outliveShortLease();
  const quotedBeforeMs = Math.max(...quotes.map(({ expiresAtMs = 0 }) => expiresAtMs)) + 1;
  const pruning = journal.prune({ quotedBeforeMs });
  const replaced = await Promise.all(
    quotes.map((quoted) => second.replaceQuote(quoted.key, quoted, open("confirmed"), lease(longMs), true)),
  );
  await pruning;
  for (const entry of replaced.filter(isEntry)) {
    assertSame(await journal.read(entry.key), entry);
  }
}
