import { expect, it } from "vitest";
import { columnsOf, type FormatOptions, formatOf, shown, table } from "../../src/cli/lists/output.js";

const fields = { id: "text", memo: "text", accountVerificationBearerToken: "secret" } as const;

function written(
  name: "table" | "csv" | "json" | "ndjson",
  records: readonly object[],
  more: Partial<FormatOptions> = {},
) {
  const format = formatOf(name, {
    ...{ fields, columns: columnsOf("id both=memo+id"), chosen: undefined },
    ...{ width: undefined, withCredentials: false, ...more },
  });
  return format.write(records as never) + (format.end?.() ?? "");
}

it("shows a value as its text, and one with parts as JSON without credentials", () => {
  expect([undefined, null, "a b", 1, false].map((value) => shown(value))).toEqual(["", "", "a b", "1", "false"]);
  const value = [{ accountVerificationBearerToken: "s", id: "1" }];
  expect([shown(value), shown(value, true)]).toEqual(['[{"id":"1"}]', JSON.stringify(value)]);
});

it("has a table whose columns grow with their values, under one head", () => {
  const format = table(columnsOf("id both=memo+id"));
  expect(format.write([{ id: "1", memo: "a" }])).toBe("id  both\n1   a 1\n");
  expect(format.write([{ id: 12345, memo: null }, {}])).toBe("12345   12345\n\n");
  expect(format.write([{ id: "\u001b1", memo: "b" }])).toBe(" 1     b  1\n");
  const long = "x".repeat(40);
  expect(format.write([{ id: long, memo: "c" }])).toBe(`${long}  c ${long}\n`);
});

it("cuts what does not fit into a window: a column at the width of an id, and the line at its end", () => {
  const columns = columnsOf("id memo");
  expect(table(columns, 50).write([{ id: "x".repeat(40), memo: "m".repeat(20) }])).toBe(
    `id${" ".repeat(36)}memo\n${"x".repeat(35)}…  ${"m".repeat(11)}…\n`,
  );
  expect(written("table", [{ id: "123456", memo: "m" }], { width: 5 })).toBe("id  …\n1234…\n");
});

it.each([
  ["table", "id  both\n7    7\n"],
  ["csv", "id,memo,accountVerificationBearerToken\r\n7,,\r\n"],
  ["ndjson", '{"id":7,"pagingToken":12}\n'],
  ["json", '[\n{"id":7,"pagingToken":12}\n]\n'],
] as const)("writes ids and tokens that are JSON numbers as they came: %s", (name, text) => {
  expect(written(name, [{ id: 7, pagingToken: 12 }])).toBe(text);
});

it("writes the fields that are chosen, but no credential unless it is asked for", () => {
  const record = { id: "1", other: "o", accountVerificationBearerToken: "s" };
  const chosen = ["accountVerificationBearerToken", "memo", "id"];
  expect(written("ndjson", [record, record], { chosen })).toBe('{"id":"1"}\n{"id":"1"}\n');
  expect(written("csv", [record], { chosen })).toBe(`${chosen.join(",")}\r\n,,1\r\n`);
  expect(written("table", [record], { chosen })).toBe("memo  id\n      1\n");
  const asked = { chosen, withCredentials: true };
  expect(written("ndjson", [record], asked)).toBe('{"accountVerificationBearerToken":"s","id":"1"}\n');
  expect(written("csv", [record], asked)).toBe(`${chosen.join(",")}\r\ns,,1\r\n`);
  expect(written("table", [record], asked)).toMatch(/^accountVerificationBearerToken {2}memo {2}id\ns +1\n$/);
  expect(written("ndjson", [record])).toBe('{"id":"1","other":"o"}\n');
});

it("has CSV by RFC 4180, whose values steer no terminal", () => {
  const memos = ["plain", "a,b", 'say "a"', "c\rd", "e\nf"];
  const records = memos.map((memo, index) => ({ id: `${index}`, memo }));
  const chosen = ["id", "memo"];
  const [, ...lines] = written("csv", records, { chosen }).split("\r\n");
  expect(lines).toEqual(["0,plain", '1,"a,b"', '2,"say ""a"""', '3,"c\rd"', '4,"e\nf"', ""]);
  const [, ...shownLines] = written("csv", records, { chosen, width: 1 }).split("\r\n");
  expect(shownLines.slice(3)).toEqual(["3,c d", "4,e f", ""]);
});

it.each(["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])("lets no spreadsheet take %j for a formula", (memo) => {
  expect(written("csv", [{ id: "1", memo }], { chosen: ["memo"] })).toBe(`memo\r\n'${memo}\r\n`);
});

it("writes JSON in pages, and an empty list", () => {
  const format = formatOf("json", { ...{ fields, columns: [], chosen: ["id"], width: 80, withCredentials: false } });
  const text = format.write([{ id: "1" }]) + format.write([{ id: "2" }]) + format.end?.();
  expect(JSON.parse(text)).toEqual([{ id: "1" }, { id: "2" }]);
  expect(written("json", [])).toBe("[]\n");
});
