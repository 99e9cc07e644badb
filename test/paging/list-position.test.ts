import { describe, expect, it } from "vitest";
import { cursorFieldsOf, type Direction, nonEmptyText } from "../../src/paging/cursor-order.js";
import { ListPosition, type PageStart, type ReceivedPage } from "../../src/paging/list-position.js";

/** A record: its token, which is also its id, or both. */
type Row = number | { readonly id?: unknown; readonly token?: string; readonly createdAt?: unknown };
type Item = Exclude<Row, number>;

const toItem = (row: Row): Item => (typeof row === "number" ? { id: `r${row}`, token: String(row) } : row);
const tokenOf = ({ token }: Item) => nonEmptyText(token);
const nameless = (...tokens: readonly number[]): Item[] => tokens.map((token) => ({ token: String(token) }));

function pageOf(direction: Direction, start: PageStart, rows: readonly Row[]): ReceivedPage<Item> {
  const items = rows.map(toItem);
  return { items, fields: cursorFieldsOf(items, tokenOf, direction), start };
}

/** A list that was read so far, each page after the one before it. */
function read(direction: Direction, pages: readonly (readonly Row[])[], size?: number): ListPosition {
  const position = new ListPosition(direction, tokenOf);
  for (const rows of pages) {
    const page = pageOf(direction, "after", rows);
    position.advance(page, page.items, size);
  }
  return position;
}

it("has read nothing at first", () => {
  const position = new ListPosition("up", tokenOf);
  expect(position).toMatchObject({ isAtStart: true, isWhole: false, isOrderShown: false, pages: 0, head: [] });
  expect([position.next, position.tokenBefore("after"), position.canShowEnd]).toEqual(["after", undefined, false]);
});

it("knows what it has read", () => {
  const position = read("up", [[1], [2], [3, 4]]);
  expect(position).toMatchObject({ isAtStart: false, isOrderShown: true, pages: 3, head: ["1", "2"] });
  expect([position.first?.tokens, position.last?.tokens]).toEqual([["1"], ["3", "4"]]);
  expect(position.unproved).toBeUndefined();
  expect(read("up", [[1], [2]]).unproved).toMatchObject({ page: { tokens: ["2"] }, before: { tokens: ["1"] } });
  expect(read("down", [[5], [6], [4, 3]]).head).toEqual(["5", "4"]);
  // What has no token shows nothing of the order.
  expect(read("up", [[{ id: "x" }, 1]]).head).toEqual(["1"]);
  expect(read("up", [[1, { id: "x" }]]).tokenBefore("after")).toBe("1");
  expect(read("up", [[]]).pages).toBe(1);
});

it("knows of each page outside of its order whether the service has had longer ones", () => {
  const position = new ListPosition("down", tokenOf);
  expect([3, 2, 2, 4, 3].map((length) => position.isShorter(length))).toEqual([false, true, true, false, true]);
});

describe("the next page", () => {
  it.each<[string, PageStart, Direction, readonly (readonly Row[])[], number | undefined]>([
    ["follows a full one", "after", "up", [[1, 2]], 2],
    ["follows the first one where nobody says how many it may have", "after", "up", [[1, 2]], undefined],
    ["repeats the last record of one that was not full", "overlap", "up", [[1, 2]], 3],
    ["repeats the last record of one that was shorter than another", "overlap", "up", [[1, 2, 3], [4]], undefined],
    [
      "follows one that has as many as another",
      "after",
      "up",
      [
        [1, 2],
        [3, 4],
      ],
      3,
    ],
    ["follows a record where they come one by one", "after", "up", [[1]], 3],
    ["of a descending list repeats a record", "overlap", "down", [[3, 2]], 2],
    ["of a descending list follows its only record", "after", "down", [[3]], 2],
  ])("%s", (_, start, direction, pages, size) => {
    expect(read(direction, pages, size).next).toBe(start);
  });

  it("is not taken for a short one where more was too large to be read", () => {
    const position = read("up", [
      [1, 2, 3],
      [4, 5],
    ]);
    expect(position.next).toBe("overlap");
    position.narrow(2);
    expect(position.next).toBe("after");
    const page = pageOf("up", "after", [6, 7]);
    position.advance(page, page.items, 2);
    expect(position.next).toBe("after");
    position.narrow(5);
    const short = pageOf("up", "after", [8]);
    position.advance(short, short.items, 2);
    expect(position.next).toBe("overlap");
  });

  it.each([
    [1, "after"],
    [2, "overlap"],
  ] as const)("of a descending list has room for %i records, and begins %s", (size, start) => {
    const position = read("down", [[5, 4, 3]]);
    position.narrow(size);
    expect([position.next, position.canShowEnd]).toEqual([start, size > 1]);
  });

  it("begins after one of the last three records", () => {
    const position = read("up", [[1, 2], [3]]);
    const starts = ["after", "overlap", "further back"] as const;
    const tokens = () => starts.map((start) => position.tokenBefore(start));
    expect(tokens()).toEqual(["3", "2", "1"]);
    const page = pageOf("up", "overlap", [3, 4]);
    position.advance(page, position.newsOf(page), undefined);
    expect(tokens()).toEqual(["4", "3", "2"]);
    expect(read("up", [[1]]).tokenBefore("overlap")).toBeUndefined();
  });

  it("has room for what it repeats, and one more", () => {
    const position = read("up", [[1]]);
    const sizes = [undefined, 1, 5];
    expect(sizes.map((size) => position.sizeOf("after", size))).toEqual([undefined, 1, 5]);
    expect(sizes.map((size) => position.sizeOf("overlap", size))).toEqual([undefined, 2, 5]);
    expect(sizes.map((size) => position.sizeOf("further back", size))).toEqual([undefined, 3, 5]);
  });

  it("is compared with what lies before it", () => {
    const position = read("up", [
      [1, 2],
      [3, 4],
    ]);
    expect(position.pageBefore(pageOf("up", "after", []))).toBe(position.last);
    expect(position.pageBefore(pageOf("up", "overlap", []))).toEqual({ tokens: ["3"] });
    expect(read("up", [[1]]).pageBefore(pageOf("up", "overlap", []))).toBeUndefined();
  });
});

const grown = { id: "r5", token: "9" };
const tokenless = { id: "x" };

describe("the news of a page", () => {
  it.each<[string, Direction, readonly Row[], PageStart, readonly Row[], readonly Row[]]>([
    ["are all of it after the position", "up", [1, 2], "after", [2, 3], [2, 3]],
    ["are not the last record", "up", [1, 2], "overlap", [2, 3], [3]],
    ["are not the last record, whose token has grown", "up", [1, 5], "overlap", [grown, 10], [10]],
    ["are not the last record, which has no id", "up", nameless(1, 2), "overlap", nameless(2, 3), nameless(3)],
    ["are no records of the last page", "up", [1, 2, 5], "further back", [2, 5], []],
    ["are no records of the last page, without ids", "up", nameless(1, 2, 5), "further back", nameless(2, 5), []],
    [
      "are no records of the last page, whose token has grown",
      "up",
      [2, 5],
      "overlap",
      [{ id: "r2", token: "4" }, 5],
      [],
    ],
    ["are those before the position too that are listed late", "up", [1, 2, 4], "overlap", [3, 4, 5], [3, 5]],
    ["are those before the first record of a list", "up", [2], "overlap", [1, 2, 3], [1, 3]],
    ["are not those that came to the beginning of a descending list", "down", [2], "overlap", [3, 2, 1], [1]],
    ["are those that a descending list shows late", "down", [5, 4, 2], "overlap", [3, 2, 1], [3, 1]],
    ["are those without a token, which nobody can place", "up", [1, 2], "overlap", [2, tokenless], [tokenless]],
    ["are all of it before anything was read", "up", [], "overlap", [1, 2], [1, 2]],
  ])("%s", (_, direction, before, start, rows, news) => {
    const position = read(direction, before.length === 0 ? [] : [before]);
    expect(position.newsOf(pageOf(direction, start, rows))).toEqual(news.map(toItem));
  });
});

describe("a page says of what follows", () => {
  it.each<["more" | "end" | "none", string, Direction, readonly Row[], PageStart, readonly Row[]]>([
    ["more", "it has records", "up", [1, 2], "after", [3]],
    ["more", "it has records, in a descending list", "down", [3, 2], "after", [1]],
    ["none", "it is empty, and may be too old", "up", [1, 2], "after", []],
    ["end", "it shows the last record alone", "up", [1, 2], "overlap", [2]],
    ["end", "it shows the last record alone, which has no id", "up", nameless(1, 2, 3), "overlap", nameless(3)],
    ["none", "it lacks the last record", "up", [1, 2], "overlap", []],
    ["none", "it has room for no other", "up", [1, 2], "overlap", [1, 2]],
    ["end", "where they come one by one, it has room for another", "up", [1], "overlap", [1]],
    ["more", "it shows the last record, and another", "up", [1, 2], "overlap", [2, 3]],
    ["more", "the last record is gone, and it ends further on", "up", [1, 2, 5], "overlap", [6, 7]],
    ["none", "a record that is listed late fills it", "up", [1, 2, 5], "overlap", [3]],
    ["more", "its end can't be placed", "up", [1, 2], "overlap", [tokenless]],
    ["none", "it is older, in a descending list", "down", [7, 6, 5], "overlap", [4, 3]],
    [
      "none",
      "it shows a record of the last page, which may be older than the last",
      "down",
      [7, 6, 5],
      "overlap",
      [6, 4],
    ],
    ["more", "it shows a record of the last page", "down", [7, 6, 5], "further back", [6, 4]],
    ["more", "it shows one of the last page, without ids", "down", nameless(7, 6, 5), "further back", nameless(6, 4)],
    ["none", "it shows none of the last page, without ids", "down", nameless(7, 6, 5), "further back", nameless(4)],
    ["none", "its last record has no token", "down", [7, 6, 5], "overlap", [{ id: "r5" }]],
  ])("%s, where %s", (evidence, _, direction, before, start, rows) => {
    expect(read(direction, [before]).evidenceOf(pageOf(direction, start, rows))).toBe(evidence);
  });

  it("more, before anything was read, where its last record is not shown", () => {
    expect(new ListPosition("up", tokenOf).evidenceOf(pageOf("up", "overlap", [1]))).toBe("more");
  });

  it.each<[Direction, readonly Row[], PageStart]>([
    ["up", [1, 2, 3], "overlap"],
    ["down", [3, 2], "overlap"],
    ["down", [3, 2, 1], "further back"],
  ])("nothing, and is asked for again (%s, %j) from %s", (direction, rows, start) => {
    expect(read(direction, [rows]).again).toBe(start);
  });

  it("what one of two records shows, of which a list that gives them one by one has none", () => {
    expect([read("up", [[1]]).canShowEnd, read("up", [[1, 2]]).canShowEnd]).toEqual([false, true]);
    const lists = [read("down", [[1]]), read("up", [[1]]), read("down", [[2, 1]])];
    expect(lists.map(({ isOneOfDescending }) => isOneOfDescending)).toEqual([true, false, false]);
  });
});

describe("what stands above a descending list that was read", () => {
  const row = (id: unknown): Item => ({ id, token: `t-${String(id)}` });
  const [a, b, c] = [row("a"), row("b"), row("c")];

  it.each<[string, boolean, Item]>([
    ["was read where its id was", true, a],
    ["was read where its id was, though its token has grown", true, { ...a, token: "t-9" }],
    ["was not read where its id was not", false, row("d")],
    ["has no id, and was read where its token was", true, { id: "", token: "t-7" }],
    ["has no id, and was not read where its token was not", false, { id: 8, token: "t-8" }],
  ])("%s: %s", (_, wasRead, item) => {
    const position = read("down", [[b, a], [{ id: 7, token: "t-7" }]]);
    expect(position.wasRead(item)).toBe(wasRead);
  });

  it.each<[string, boolean, readonly Item[]]>([
    ["a record that was read is there", true, [a]],
    ["a new one is there as well", true, [row("d"), a]],
    ["none that was read is there, since the page may be of a machine that lacks them", false, [row("d")]],
    ["it is full, since more may stand below", false, [row("d"), row("e"), a]],
    ["it is empty", false, []],
  ])("is all on a page where %s: %s", (_, isAll, items) => {
    expect(read("down", [[a, b, c], [row("f")]]).isAllAbove(items)).toBe(isAll);
  });

  it("is not noted of an ascending list, and is where it was handed out of another place", () => {
    const position = read("up", [[a, b]]);
    expect(position.wasRead(a)).toBe(false);
    position.noteAbove(a);
    expect(position.wasRead(a)).toBe(true);
  });
});
