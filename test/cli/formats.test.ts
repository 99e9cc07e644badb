import { expect, it } from "vitest";
import {
  columnsOf,
  type FormatName,
  type FormatOptions,
  formatOf,
  type ListedRecord,
} from "../../src/cli/lists/output.js";

const fields = { id: "text", memo: "text", accountVerificationBearerToken: "secret" } as const;
const credential = "accountVerificationBearerToken";
const plain: ListedRecord = { id: 7, memo: null, [credential]: "s", other: [{ [credential]: "s", id: "o" }] };
const odd: ListedRecord = { id: "x".repeat(40), memo: 'say "a",\u001b b' };

/** One page for each array. */
function written(name: FormatName, pages: readonly ListedRecord[][], more: Partial<FormatOptions> = {}): string {
  const format = formatOf(name, { fields, columns: columnsOf("id both=memo+id"), ...more });
  return pages.map((page) => format.write(page)).join("") + (format.end?.() ?? "");
}

it.each<[name: FormatName, more: Partial<FormatOptions>, text: string]>([
  ["table", {}, `id  both\n7    7\n${odd.id}  say "a",  b ${odd.id}\n`],
  ["table", { width: 44 }, `id  both\n7    7\n${"x".repeat(35)}…  say "…\n`],
  ["table", { chosen: [credential, "id"] }, `id\n7\n${odd.id}\n`],
  ["csv", {}, `id,memo,${credential}\r\n7,,\r\n${odd.id},"say ""a"",\u001b b",\r\n`],
  ["csv", { width: 80, chosen: ["memo"] }, 'memo\r\n\r\n"say ""a"",  b"\r\n'],
  ["csv", { chosen: [credential], withCredentials: true }, `${credential}\r\ns\r\n\r\n`],
  ["ndjson", {}, `{"id":7,"memo":null,"other":[{"id":"o"}]}\n${JSON.stringify(odd)}\n`],
  [
    "ndjson",
    { chosen: ["memo", "id", credential] },
    `{"memo":null,"id":7}\n{"memo":${JSON.stringify(odd.memo)},"id":"${odd.id}"}\n`,
  ],
  ["json", { chosen: ["other"], withCredentials: true }, `[\n{"other":${JSON.stringify(plain.other)}},\n{}\n]\n`],
])("writes pages as %s with %j", (name, more, text) => {
  expect(written(name, [[plain], [odd]], more)).toBe(text);
});

it("writes no records as an empty array", () => {
  expect(written("json", [])).toBe("[]\n");
});

it.each(["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])("lets no spreadsheet take %j for a formula", (memo) => {
  expect(written("csv", [[{ id: "1", memo }]], { chosen: ["memo"] })).toBe(`memo\r\n'${memo}\r\n`);
});

it.each(["c\rd", "e\nf"])("quotes the line break of %j for a file, and leaves it out at a terminal", (memo) => {
  expect(written("csv", [[{ memo }]], { chosen: ["memo"] })).toBe(`memo\r\n"${memo}"\r\n`);
  expect(written("csv", [[{ memo }]], { chosen: ["memo"], width: 1 })).toBe(`memo\r\n${memo.replace(/\s/, " ")}\r\n`);
});
