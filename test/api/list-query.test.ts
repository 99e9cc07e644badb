import { describe, expect, it } from "vitest";
import { parseListQuery } from "../../src/api/list-query.js";
import { deposits } from "../../src/resources/deposits.js";
import { payments } from "../../src/resources/payments.js";

const parse = (query: unknown) => parseListQuery(payments.list, query);

describe("sort", () => {
  it.each([
    ["a term", "createdAt.desc", ["createdAt.desc"]],
    ["the description's own form", "createdAt.desc,id.asc", ["createdAt.desc", "id.asc"]],
    ["an array", ["createdAt.desc", "id.asc"], ["createdAt.desc", "id.asc"]],
    ["an array of one", ["id.asc"], ["id.asc"]],
  ])("takes %s", (_, sort, terms) => {
    expect(parse({ sort })).toEqual({ sort: terms });
  });

  it.each([
    ["no direction", "createdAt"],
    ["another direction", "createdAt.up"],
    ["a direction in capitals", "createdAt.DESC"],
    ["no field", ".asc"],
    ["nothing", ""],
    ["a comma at the end", "createdAt.desc,"],
    ["a comma at the start", ",createdAt.desc"],
    ["a space behind the comma", "createdAt.desc, id.asc"],
    ["several in one entry of an array", ["createdAt.desc,id.asc"]],
    ["an empty array", []],
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    ["an array with a hole", [, "id.asc"]],
    ["only holes", new Array(2)],
    ["another type in an array", ["id.asc", 7]],
    ["an object", { createdAt: "desc" }],
    ["a number", 7],
    ["null", null],
    ["a Set", new Set(["id.asc"])],
  ])("refuses %s, and says what it takes", (_, sort) => {
    expect(() => parse({ sort })).toThrow(
      /^payments\.list: sort must be a term such as "createdAt\.desc", several with commas \(and no spaces\) between them, or an array of terms/,
    );
  });
});

describe("a parsed query", () => {
  it("shares nothing with what was given", () => {
    const given = { sort: ["id.asc"], filter: { memo: "rent" }, size: 5 };
    const parsed = parse(given);
    given.sort.push("x");
    given.filter.memo = "other";
    given.size = 6;
    expect(parsed).toEqual({ sort: ["id.asc"], filter: { memo: "rent" }, size: 5 });
  });

  it("is refused where a filter has the name of a paging parameter", () => {
    expect(() => parse({ filter: { _size: "5" } })).toThrow(/filter must be .* got "_size"/);
  });
});

describe("filters that the description does not name", () => {
  it("stand in other, and are filters like the others", () => {
    const filter = { memo: "x", other: { region: "east" } };
    expect(parse({ filter })).toEqual({ filter: { memo: "x", region: "east" } });
    expect(filter).toEqual({ memo: "x", other: { region: "east" } });
  });

  it("may stand beside the fields where nothing checks types, and one may be called other", () => {
    expect(parse({ filter: { region: "east", other: "y" } })).toEqual({ filter: { region: "east", other: "y" } });
    expect(parse({ filter: { memo: "x", other: undefined } })).toEqual({ filter: { memo: "x" } });
  });

  it("are refused as paging, and if the filters are described", () => {
    expect(() => parse({ filter: { other: { _size: "1" } } })).toThrow('got "_size"');
    // The field other, which the call refuses as one that there is not.
    const filter = { other: { region: "east" } };
    expect(parseListQuery(deposits.list, { filter })).toEqual({ filter });
  });
});
