import { expect, it } from "vitest";
import { column, type FormatOptions, formatOf, ndjson, shown, table } from "../../src/cli/lists/formats.js";

const fields = { id: "text", memo: "text", accountVerificationBearerToken: "secret" } as const;

function written(name: "table" | "csv" | "ndjson", records: readonly object[], more: Partial<FormatOptions> = {}) {
  const format = formatOf(name, {
    ...{ fields, columns: [column("id"), column("both", "memo", "id")], chosen: undefined },
    ...{ width: undefined, withCredentials: false, isRaw: false, ...more },
  });
  return { text: format.head + format.write(records as never), leftOut: format.leftOut?.() };
}

it("shows a value as its text, and one with parts as JSON without credentials", () => {
  expect([undefined, null, "a b", 1, false].map((value) => shown(value))).toEqual(["", "", "a b", "1", "false"]);
  const value = [{ accountVerificationBearerToken: "s", id: "1" }];
  expect([shown(value), shown(value, true)]).toEqual(['[{"id":"1"}]', JSON.stringify(value)]);
});

it("has a table whose columns grow with their values, as far as an id needs, under one head", () => {
  const [long, longer] = ["x".repeat(36), "x".repeat(40)];
  const format = table([column("id"), column("both", "memo", "id")]);
  expect(format.head).toBe("");
  expect(format.write([{ id: "1", memo: "a" }])).toBe("id  both\n1   a 1\n");
  expect(format.write([{ id: 12345, memo: null }, {}])).toBe("12345   12345\n\n");
  expect(format.write([{ id: "\u001b1", memo: "b" }])).toBe(" 1     b  1\n");
  // Nothing is cut where it goes elsewhere; there the next line is no wider than it has to be.
  expect(format.write([{ id: longer, memo: "c" }])).toBe(`${longer}  c ${longer}\n`);
  expect(format.write([{ id: long, memo: "d" }])).toBe(`${long}  d ${long}\n`);
  expect(format.write([{ id: "1", memo: "e" }])).toBe(`1${" ".repeat(37)}e 1\n`);
  expect(format.write([])).toBe("");
});

it("cuts what does not fit into a window: a column at the width of an id, and the line at its end", () => {
  const format = table([column("id"), column("memo")], 50);
  expect(format.write([{ id: "x".repeat(40), memo: "m".repeat(20) }])).toBe(
    `id${" ".repeat(36)}memo\n${"x".repeat(35)}…  ${"m".repeat(11)}…\n`,
  );
  expect(written("table", [{ id: "123456", memo: "m" }], { width: 5 }).text).toBe("id  …\n1234…\n");
});

it.each([
  ["table", "id  both\n7    7\n"],
  ["csv", "id,memo,accountVerificationBearerToken\r\n7,,\r\n"],
  ["ndjson", '{"id":7,"pagingToken":12}\n'],
] as const)("writes ids and tokens that are JSON numbers as they came: %s", (name, text) => {
  expect(written(name, [{ id: 7, pagingToken: 12 }]).text).toBe(text);
});

it("writes the fields that are chosen, but no credential unless it is asked for", () => {
  const record = { id: "1", other: "o", accountVerificationBearerToken: "s" };
  const chosen = ["accountVerificationBearerToken", "memo", "id"];
  expect(written("ndjson", [record, record], { chosen }).text).toBe('{"id":"1"}\n{"id":"1"}\n');
  expect(written("csv", [record], { chosen })).toEqual({ text: `${chosen.join(",")}\r\n,,1\r\n`, leftOut: "" });
  expect(written("table", [record], { chosen }).text).toBe("memo  id\n      1\n");
  const asked = { chosen, withCredentials: true };
  expect(written("ndjson", [record], asked).text).toBe('{"accountVerificationBearerToken":"s","id":"1"}\n');
  expect(written("csv", [record], asked).text).toBe(`${chosen.join(",")}\r\ns,,1\r\n`);
  expect(written("table", [record], asked).text).toMatch(/^accountVerificationBearerToken {2}memo {2}id\ns +1\n$/);
  expect(ndjson.head + ndjson.write([record as never])).toBe('{"id":"1","other":"o"}\n');
});

it("has CSV by RFC 4180, whose values steer no terminal", () => {
  const memos = ["plain", "a,b", 'say "a"', "c\rd", "e\nf"];
  const records = memos.map((memo, index) => ({ id: `${index}`, memo }));
  const chosen = ["id", "memo"];
  const [, ...lines] = written("csv", records, { chosen }).text.split("\r\n");
  expect(lines).toEqual(["0,plain", '1,"a,b"', '2,"say ""a"""', '3,"c\rd"', '4,"e\nf"', ""]);
  const [, ...shownLines] = written("csv", records, { chosen, width: 1 }).text.split("\r\n");
  expect(shownLines.slice(3)).toEqual(["3,c d", "4,e f", ""]);
  // The first cell is the whole line for a spreadsheet whose separator is another.
  const negative = [{ id: "-1", memo: "-1" }];
  expect(written("csv", negative, { chosen }).text).toBe("id,memo\r\n'-1,-1\r\n");
  expect(written("csv", negative, { chosen, isRaw: true }).text).toBe("id,memo\r\n-1,-1\r\n");
});

it("names ten of the fields that a CSV has no columns for, each once", () => {
  const names = Array.from({ length: 10 }, (_, index) => `made_up_${index}`);
  const withNames = (more: readonly string[]) =>
    more.map((name) => ({ id: "1", [name]: "x" })).concat({ id: "2", [names[0] ?? ""]: "y" });
  expect(written("csv", withNames([])).leftOut).toBe("made_up_0");
  expect(written("csv", [{ id: "1", memo: "" }]).leftOut).toBe("");
  expect(written("csv", withNames(names)).leftOut).toBe(names.join(", "));
  expect(written("csv", withNames([...names, "eleventh", "twelfth"])).leftOut).toBe(`${names.join(", ")} and others`);
  expect(written("csv", withNames(["a b", "é", "x".repeat(40), "y".repeat(41), ""])).leftOut).toBe(
    `"a b", "é", ${"x".repeat(40)}, "${"y".repeat(39)}…", "", made_up_0`,
  );
});
