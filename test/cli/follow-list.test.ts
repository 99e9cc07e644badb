import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { follow } from "../../src/cli/lists/follow.js";
import type { ListedRecord } from "../../src/cli/lists/formats.js";
import { fits } from "../../src/cli/lists/list.js";
import { PagingError } from "../../src/core/errors.js";

/** A service whose records come in turns, one turn before each reading; after the last one the follower is stopped. */
interface Service {
  readonly turns: readonly (readonly ListedRecord[] | Error)[];
  readonly isInclusive?: boolean;
  readonly after?: string;
}

const pageSize = 7;

async function followed({ turns, isInclusive = false, after }: Service) {
  const stop = new AbortController();
  const left = [...turns];
  const records: ListedRecord[] = [];
  const bounds: (string | undefined)[] = [];
  const open = (query: { readonly after?: string | undefined }, signal: AbortSignal) => ({
    async *pages() {
      const turn = left.shift();
      if (turn === undefined) {
        stop.abort();
        // As a request does.
        signal.throwIfAborted();
      }
      if (turn instanceof Error) throw turn;
      for (const record of turn ?? []) {
        // A record that moves leaves its place; one that has a place of its own takes that.
        const old = records.findIndex(({ id }) => id === record.id);
        if (old >= 0) records.splice(old, 1);
        const place = typeof record.place === "number" ? records.length - record.place : records.length;
        records.splice(place, 0, record);
      }
      bounds.push(query.after);
      const bound = records.findIndex(({ pagingToken }) => String(pagingToken) === query.after);
      const listed = records.slice(bound + (isInclusive && bound >= 0 ? 0 : 1));
      for (let at = 0; at < listed.length; at += pageSize) yield { items: listed.slice(at, at + pageSize) };
    },
  });
  const given: unknown[] = [];
  const continuations: string[] = [];
  const outages: (string | undefined)[] = [];
  try {
    const onOutage = (error: Error | undefined) => void outages.push(error?.message);
    const options = { name: "payments", everyMs: 1, signal: stop.signal, after, onOutage };
    for await (const news of follow(open, options)) {
      given.push(...news.records.map(({ id }) => id));
      continuations.push(news.after);
    }
  } finally {
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  }
  return { given, continuations, bounds, outages };
}

const kinds: Readonly<Record<string, (index: number) => string | number>> = {
  numbers: (index) => String(index + 1),
  "JSON numbers": (index) => index + 1,
  base64: (index) => btoa(`token ${(index * 7919) % 104_729}`),
  UUIDs: (index) => `${((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`,
};

const turnsOf = (tokenOf: (index: number) => string | number, ...counts: readonly number[]) => {
  let made = 0;
  return counts.map((count) =>
    Array.from({ length: count }, () => ({ id: `p-${made}`, pagingToken: tokenOf(made++) })),
  );
};

beforeEach(() => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  return () => random.mockRestore();
});

describe("a list that is followed", () => {
  const services = Object.entries(kinds).flatMap(([kind, tokenOf]) =>
    [false, true].map((isInclusive) => ({ kind, tokenOf, isInclusive })),
  );

  it.each(services)("gives each record once: tokens $kind, bounds inclusive $isInclusive", async (service) => {
    const turns = turnsOf(service.tokenOf, 0, 1, 0, 2, 30, 0, 600, 1, 0);
    const { given } = await followed({ ...service, turns });
    expect(given).toEqual(turns.flat().map(({ id }) => id));
  });

  it("reads no more than a few records again, and says where to continue", async () => {
    const tokenOf = kinds.numbers ?? String;
    const { bounds, continuations } = await followed({ turns: turnsOf(tokenOf, 30, 0, 2), after: "0" });
    expect(bounds).toEqual(["0", "21", "21"]);
    expect(continuations).toEqual(["7", "14", "21", "28", "30", "32"]);
  });

  it("begins after a token", async () => {
    const turns = turnsOf(String, 20, 0, 1);
    expect((await followed({ turns, after: "17" })).given).toEqual(["p-18", "p-19", "p-20"]);
  });

  it("gives a record that is listed late, among the last ones", async () => {
    const late = { id: "late", pagingToken: "none of the others", place: 5 };
    const { given } = await followed({ turns: [...turnsOf(String, 20), [late], ...turnsOf(String, 0)] });
    expect(given.slice(19)).toEqual(["p-19", "late"]);
  });

  it.each([
    [498, []],
    [500, ["moved"]],
  ])("remembers the last 500 ids, and no more: %i others came", async (count, again) => {
    const [others = []] = turnsOf(String, count);
    const moved = (pagingToken: string) => ({ id: "moved", pagingToken });
    const { given } = await followed({ turns: [[moved("a")], others, [moved("b")]] });
    expect(given.slice(count + 1)).toEqual(again);
  });

  it.each<[lacks: string, record: ListedRecord]>([
    ["paging tokens", { id: "a" }],
    ["paging tokens", { id: "a", pagingToken: "" }],
    ["paging tokens", { id: "a", pagingToken: null }],
    ["ids", { pagingToken: "1" }],
  ])("says why it can't be followed without %s", async (lacks, record) => {
    await expect(followed({ turns: [[record]] })).rejects.toThrow(
      `payments can't be followed: the service lists them without ${lacks}, so nothing tells`,
    );
  });

  it("waits if the next reading can show the end, and for nothing else", async () => {
    const unproved = new PagingError("nothing shows the end", { code: "paging_end_unproved" });
    const [first = [], second = []] = turnsOf(String, 3, 2);
    const { given, outages } = await followed({ turns: [unproved, unproved, first, unproved, second] });
    expect(given).toHaveLength(5);
    expect(outages).toEqual([unproved.message, undefined, unproved.message, undefined]);
    await expect(followed({ turns: [new PagingError("no order")] })).rejects.toThrow("no order");
    await expect(followed({ turns: [new RangeError("a bug")] })).rejects.toThrow("a bug");
  });
});

it("compares filters as the service does: amounts by their value, all else by its text", () => {
  const record = { receiverAmount: "7.50", memo: "7.50", feeIncluded: true };
  expect(fits(record, {})).toBe(true);
  expect(fits(record, { receiverAmount: "7.5", feeIncluded: "true" })).toBe(true);
  expect(fits(record, { memo: "7.5" })).toBe(false);
  expect(fits(record, { receiverAmount: "7.5", memo: "other" })).toBe(false);
  expect(fits({}, { receiverAmount: "7.5" })).toBe(false);
});
