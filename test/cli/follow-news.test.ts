import { getEventListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { fits, followList, outageReports, writtenIds } from "../../src/cli/lists/follow.js";
import type { Terminal } from "../../src/cli/terminal.js";
import type { CrossBorderClient } from "../../src/client.js";
import { type ErrorCode, PagingError } from "../../src/errors/errors.js";
import { writeCursor } from "../../src/reconcile/watch-cursor.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

type Page = readonly Record<string, unknown>[];

const moved = () => new PagingError("the list has changed");
const unproved = () => new PagingError("nothing shows the end", { code: "paging_end_unproved" });

/** Follows a list that is read so one time after another: pages, or an error after them. The last of them ends the following. */
async function follow(readings: readonly (readonly (Page | Error)[])[], written: readonly string[] = []) {
  const stop = new AbortController();
  const left = [...readings];
  const open = (signal: AbortSignal) => ({
    async *pages() {
      const reading = left.shift() ?? [];
      for (const page of reading) {
        if (page instanceof Error) throw page;
        yield { items: page };
      }
      if (left.length > 0) return;
      stop.abort();
      // As a request does.
      signal.throwIfAborted();
    },
  });
  const news = followList(open as never, {
    ...{ everyMs: 1, signal: stop.signal, mark: undefined, written: new Set(written) },
  });
  const ids: unknown[] = [];
  try {
    for await (const { records, mark } of news) ids.push([mark, ...records.map(({ id }) => id)]);
  } finally {
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  }
  return ids;
}

describe("a list that is read again and again", () => {
  beforeEach(() => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    return () => random.mockRestore();
  });

  it("gives what is new, and ends when it is stopped", async () => {
    const readings = [[[{ id: "a" }, { id: "b" }], [{ id: "c" }]], [[{ id: "c" }]], [[{ id: "d" }, { id: "a" }]]];
    expect(await follow(readings, ["b"])).toEqual([
      ["", "a"],
      ["", "c"],
      ["", "d"],
    ]);
  });

  it("goes on where the list changed while it was read, three times in a row", async () => {
    const changed = [moved()];
    const readings = [[[{ id: "a" }]], changed, changed, changed, [[{ id: "b" }]], changed, changed, changed];
    expect(await follow([...readings, [[{ id: "c" }]]])).toEqual([
      ["", "a"],
      ["", "b"],
      ["", "c"],
    ]);
    await expect(follow([...readings, changed, []])).rejects.toThrow("the list has changed");
  });

  it("waits from the first reading on where the next can show the end, and for nothing else", async () => {
    expect(await follow([[unproved()], [[{ id: "a" }]]])).toEqual([["", "a"]]);
    await expect(follow([[moved()], []])).rejects.toThrow("the list has changed");
    await expect(follow([[new RangeError("a bug")], []])).rejects.toThrow("a bug");
    for (const record of [{ id: "" }, { id: 7 }, {}]) {
      await expect(follow([[[record]], []])).rejects.toThrow(
        "a record has no id, so nothing tells whether it is new: the list can't be followed",
      );
    }
  });
});

it("reads back ids that could come again: of payments those that the cursor does not leave behind", async () => {
  const path = join(folder, "written.ndjson");
  const records = [
    ...["1", "2", "3"].map((token) => ({ id: `p-${token}`, pagingToken: token })),
    { id: "none" },
    { id: 7 },
    7,
  ];
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const after = writeCursor("", { after: "2", stretches: [], newestMs: undefined });
  const idsFrom = (cursor?: string) => writtenIds(path, {} as Terminal, {} as CrossBorderClient, cursor);
  expect([...(await idsFrom(after))]).toEqual(["p-3", "none"]);
  expect([...(await idsFrom())]).toEqual(["p-1", "p-2", "p-3", "none"]);
});

it("compares filters as the service does: amounts by their value, all else by its text", () => {
  const record = { receiverAmount: "7.50", memo: "7.50", feeIncluded: true };
  expect(fits(record, {})).toBe(true);
  expect(fits(record, { receiverAmount: "7.5", feeIncluded: "true" })).toBe(true);
  expect(fits(record, { memo: "7.5" })).toBe(false);
  expect(fits(record, { receiverAmount: "7.5", memo: "other" })).toBe(false);
  expect(fits({}, { receiverAmount: "7.5" })).toBe(false);
});

describe("an outage", () => {
  function reports(showsProgress = false) {
    const stderr = new PassThrough({ encoding: "utf8" });
    const events = outageReports({ stderr, showsProgress } as Partial<Terminal> as Terminal);
    return {
      fails: (code: string, status?: number): string => {
        events.failure?.({ operation: "payments.list", code: code as ErrorCode, status } as never);
        return stderr.read() ?? "";
      },
      responds: (status: number): string => {
        events.response?.({ operation: "payments.list", status } as never);
        return stderr.read() ?? "";
      },
    };
  }
  const failed = (why: string) =>
    `cross-border: payments.list failed (${why}); it is tried again for as long as that can help\n`;

  it.each<[code: string, status: number | undefined, why: string]>([
    ["connection_failed", undefined, "connection_failed"],
    ...[403, 408, 429, 500, 503].map((status): [string, number, string] => ["http", status, `http, status ${status}`]),
    ["unreadable", 200, "unreadable, status 200"],
  ])("is told of once, as is its end: %s %s", (code, status, why) => {
    const { fails, responds } = reports();
    expect(responds(200)).toBe("");
    expect(fails(code, status)).toBe(failed(why));
    expect(fails(code, status)).toBe("");
    expect([responds(400), responds(503)]).toEqual(["", ""]);
    expect(responds(200)).toBe("cross-border: the service is there again\n");
    expect(fails(code, status)).toBe(failed(why));
  });

  it.each([
    ["aborted", undefined],
    ["http", 400],
    ["http", 401],
    ["http", 404],
    ["http", 499],
  ])("is none: %s %s", (code, status) => {
    expect(reports().fails(code, status)).toBe("");
  });

  it("takes the place of the line that shows progress", () => {
    const { fails, responds } = reports(true);
    expect(fails("connection_failed")).toBe(`\r\x1b[K${failed("connection_failed")}`);
    expect(responds(399)).toBe("\r\x1b[Kcross-border: the service is there again\n");
  });
});
