import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PagingError } from "../../src/errors/errors.js";
import {
  assertAfter,
  assertNotRequested,
  assertOneOrder,
  canBeFollowed,
  compareTokens,
  cursorFieldsOf,
  type Direction,
  directionOf,
  type ListOrder,
  whyUnsound,
} from "../../src/paging/cursor-order.js";
import { runs } from "../support/thorough.js";

const fields = (
  tokens: (string | undefined)[],
  ids: (string | undefined)[] = tokens.map(() => undefined),
  direction: Direction = "up",
) => {
  const items = tokens.map((token, index) => ({ token, id: ids[index] }));
  return cursorFieldsOf(items, ({ token }) => token, direction);
};
const behind = (
  page: ReturnType<typeof fields>,
  before: ReturnType<typeof fields>,
  direction: "up" | "down",
  trust = false,
) => assertAfter("payments.list", page, before, direction, trust);

describe("directionOf", () => {
  it("is down where the first sort term falls, and up everywhere else", () => {
    expect([undefined, "createdAt.asc", "createdAt.desc"].map(directionOf)).toEqual(["up", "up", "down"]);
    expect([[], ["a.desc", "b.asc"], ["a.asc", "b.desc"]].map(directionOf)).toEqual(["up", "down", "up"]);
    expect([undefined, "desc", "description.asc"].map(directionOf)).toEqual(["up", "up", "up"]);
  });
});

describe("canBeFollowed", () => {
  it("is true of the tokens' own order and of that of creation", () => {
    const followed = [
      undefined,
      [],
      "createdAt.desc",
      "pagingToken.asc",
      "pagingToken.asc,name.desc",
      ["createdAt.asc", "pagingToken.asc"],
    ];
    expect(followed.map(canBeFollowed)).toEqual(followed.map(() => true));
  });

  it("is false of any other, which further terms make of that of creation too", () => {
    const others = [
      "name.asc",
      "createdAtAll.asc",
      "sender.createdAt.asc",
      "sender.pagingToken.asc",
      "name.asc,pagingToken.asc",
      "createdAt.desc,id.asc",
      ["createdAt.desc", "pagingToken.asc"],
    ];
    expect(others.map(canBeFollowed)).toEqual(others.map(() => false));
  });
});

describe("compareTokens", () => {
  it("compares whole numbers of any length by value", () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 60n), 10n ** 60n), fc.bigInt(-(10n ** 60n), 10n ** 60n), (one, other) => {
        expect(Math.sign(compareTokens(`${one}`, `${other}`))).toBe(one < other ? -1 : one > other ? 1 : 0);
      }),
    );
  });

  it("ignores leading zeros, and the sign of zero", () => {
    expect(compareTokens("0012", "12")).toBe(0);
    expect(compareTokens("0009", "10")).toBeLessThan(0);
    expect([compareTokens("-0", "00"), compareTokens("00", "-0")]).toEqual([0, 0]);
  });

  it("compares everything else by code units", () => {
    const text = fc.string().filter((value) => !/^-?\d+$/.test(value));
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(Math.sign(compareTokens(one, other))).toBe(one < other ? -1 : one > other ? 1 : 0);
      }),
    );
  });
});

describe("whyUnsound", () => {
  it.each([
    [["1", "2", "10"], "up", true],
    [["10", "2", "1"], "up", false],
    [["1", "1"], "up", false],
    [["10", "2", "1"], "down", true],
    [["1", "2"], "down", false],
    [["2", "2"], "down", false],
    [["2024-01-01", "2024-01-02"], "up", true],
    [["1"], "up", true],
    [[], "down", true],
  ] as const)("of %j going %s: sound is %s", (tokens, direction, sound) => {
    expect(whyUnsound(fields([...tokens], undefined, direction), direction) === undefined).toBe(sound);
  });
});

describe("assertOneOrder", () => {
  /** The place of the first page that is refused. */
  function refusedAt(pages: readonly (readonly (string | undefined)[])[], direction: Direction): number | undefined {
    let before: ReturnType<typeof fields> | undefined;
    let order: ListOrder | undefined;
    for (const [index, tokens] of pages.entries()) {
      const page = fields([...tokens], undefined, direction);
      try {
        order = assertOneOrder("payments.list", page, before, order, direction);
      } catch (error) {
        expect(error).toMatchObject({
          operation: "payments.list",
          message: expect.stringMatching(/^payments\.list: the paging tokens of this list are in no one order/),
        });
        return index;
      }
      before = page;
    }
    return undefined;
  }

  it.each<[Direction, ...(string | undefined)[][]]>([
    ["up", ["8", "9"], ["10", "20"], ["100"]],
    ["up", ["19", "1a"], ["20", "2f"], ["9"]],
    ["down", ["20", "10"], ["9", "8"]],
    ["down", ["9", "2f"], ["20", "1a"], ["19"]],
    // Records without a token are an obstacle of their own.
    ["up", ["9"], ["10", undefined]],
    ["down", ["1a"], [undefined]],
  ])("lets a list go %s: %j, %j, %j", (direction, ...pages) => {
    expect(refusedAt(pages, direction)).toBeUndefined();
  });

  it.each<[Direction, number, ...string[][]]>([
    ["up", 2, ["9"], ["10"], ["1a"]],
    ["up", 2, ["1a"], ["9"], ["10"]],
    ["up", 2, ["10"], ["1a"], ["9", "10"]],
    ["down", 2, ["10"], ["9"], ["1a"]],
    ["down", 2, ["1a"], ["10"], ["9"]],
    ["up", 1, ["1"], ["2b", "2b"]],
    ["down", 1, ["3"], ["2b", "2b"]],
    ["down", 1, ["3b"], ["1b", "2b"]],
  ])("refuses a list that goes %s, at page %i: %j, %j, %j", (direction, place, ...pages) => {
    expect(refusedAt(pages, direction)).toBe(place);
  });
});

describe("assertBehind", () => {
  it("lets a page pass that begins after the last one", () => {
    expect(() => behind(fields(["3", "4"], ["c", "d"]), fields(["1", "2"], ["a", "b"]), "up")).not.toThrow();
    expect(() =>
      behind(fields(["2", "1"], undefined, "down"), fields(["4", "3"], undefined, "down"), "down"),
    ).not.toThrow();
    expect(() => behind(fields([undefined]), fields(["1"]), "up")).not.toThrow();
  });

  it.each([
    [
      "a token that was on the last page",
      ["2", "3"],
      [undefined, undefined],
      "a paging token of an earlier page appears again",
    ],
    ["a record that was on the last page", ["3", "4"], ["b", "c"], "a record of an earlier page appears again"],
    ["the same number written otherwise", ["02"], [undefined], "reaches back before the end"],
    ["a token before the end", ["0"], [undefined], "reaches back before the end"],
    ["a later token before the end", ["3", "0"], [undefined, undefined], "reaches back before the end"],
  ])("refuses a page with %s", (_, tokens, ids, message) => {
    const check = () => behind(fields(tokens, ids), fields(["1", "2"], ["a", "b"]), "up");
    expect(check).toThrow(PagingError);
    expect(check).toThrow(message);
    expect(check).toThrow(expect.objectContaining({ operation: "payments.list" }));
  });

  it("refuses the same on the way down", () => {
    expect(() => behind(fields(["1", "9"], undefined, "down"), fields(["3", "2"], undefined, "down"), "down")).toThrow(
      "reaches back before the end",
    );
  });

  it("wants no order of a trusted cursor, but never lets a record appear again", () => {
    expect(() => behind(fields(["0"]), fields(["1", "2"]), "up", true)).not.toThrow();
    expect(() => behind(fields(["1"]), fields(["1", "2"]), "up", true)).toThrow("a paging token of an earlier page");
  });
});

it("judges ordered pages as looking at every token would", () => {
  const token = fc.oneof(fc.stringMatching(/^-?\d{1,2}$/), fc.stringMatching(/^[\da-b]{1,2}$/), fc.constant(undefined));
  const tokens = fc.uniqueArray(token, { maxLength: 4 }).chain((some) =>
    // Sorted half of the time: sorted pages take a faster path in the code.
    fc.constantFrom(
      some,
      some.toSorted((one, other) => compareTokens(one ?? "", other ?? "")),
    ),
  );
  const lookAtEach = (
    page: readonly (string | undefined)[],
    before: readonly (string | undefined)[],
    direction: Direction,
  ) => {
    const last = before.at(-1);
    return page.every((each) => {
      if (each === undefined) return true;
      if (before.includes(each)) return false;
      const step = last === undefined ? undefined : compareTokens(last, each);
      return step === undefined || (direction === "up" ? step < 0 : step > 0);
    });
  };
  fc.assert(
    fc.property(tokens, tokens, fc.constantFrom<Direction>("up", "down"), (page, before, direction) => {
      const check = () => behind(fields(page, undefined, direction), fields(before, undefined, direction), direction);
      if (lookAtEach(page, before, direction)) expect(check).not.toThrow();
      else expect(check).toThrow(PagingError);
    }),
    { numRuns: runs(2000) },
  );
});

it("refuses a cursor that was requested before", () => {
  const requested = new Set<string>();
  assertNotRequested("payments.list", "7", requested);
  assertNotRequested("payments.list", "8", requested);
  expect(() => assertNotRequested("payments.list", "7", requested)).toThrow(
    new PagingError("payments.list: the cursor of an earlier page appears again: the service ignores the cursor", {
      operation: "payments.list",
    }),
  );
});
