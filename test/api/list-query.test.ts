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
  ])("takes %s", (_, sort, terms) => {
    expect(parse({ sort })).toEqual({ sort: terms });
  });

  it.each([
    ["no direction", "createdAt"],
    ["another direction", "createdAt.up"],
    ["no field", ".asc"],
    ["nothing", ""],
    ["a comma at the end", "createdAt.desc,"],
    ["a space behind the comma", "createdAt.desc, id.asc"],
    ["several in one entry of an array", ["createdAt.desc,id.asc"]],
    ["an empty array", []],
    ["another type in an array", ["id.asc", 7]],
    ["an object", { createdAt: "desc" }],
    ["null", null],
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

  it.each([{ _size: "5" }, { other: { _size: "1" } }])(
    "is refused with a paging parameter as a filter: %j",
    (filter) => {
      expect(() => parse({ filter })).toThrow(/filter must be .* got "_size"/);
    },
  );
});

describe("filters that the description does not name", () => {
  it("stand in other, and are filters like the others", () => {
    const filter = { memo: "x", other: { region: "east" } };
    expect(parse({ filter })).toEqual({ filter: { memo: "x", region: "east" } });
    expect(filter).toEqual({ memo: "x", other: { region: "east" } });
  });

  it("may stand beside the fields if nothing checks types, and one may be called other", () => {
    expect(parse({ filter: { region: "east", other: "y" } })).toEqual({ filter: { region: "east", other: "y" } });
    // If the filters are described, the call refuses the field other.
    const filter = { other: { region: "east" } };
    expect(parseListQuery(deposits.list, { filter })).toEqual({ filter });
  });
});
