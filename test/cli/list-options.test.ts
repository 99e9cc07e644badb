import { expect, it, onTestFinished } from "vitest";
import { parseListOptions, type Values } from "../../src/cli/lists/list-options.js";
import { hasList, sources } from "../../src/cli/lists/sources.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { clock, setClock } from "../../src/core/clock.js";

function parse(values: Values, { of = "payments", width }: { of?: string; width?: number } = {}) {
  const source = sources.filter(hasList).find(({ name }) => name === of);
  if (source === undefined) throw new Error(`no list of ${of}`);
  return parseListOptions(source, values, { width } as Partial<Terminal> as Terminal);
}

it("are nothing but a format unless they are given", () => {
  const nothing = ["filter", "sort", "size", "after", "limit", "period", "fields", "out", "everyMs"];
  const absent = Object.fromEntries(nothing.map((name) => [name, undefined]));
  expect(parse({})).toEqual({ ...absent, format: "ndjson", isRaw: false });
  expect(parse({}, { width: 80 })).toEqual({ ...absent, format: "table", isRaw: false });
});

it.each<[what: string, values: Values, parsed: object]>([
  ["JSON at a terminal", { json: true }, { format: "ndjson" }],
  ["a file at a terminal", { out: "o" }, { format: "ndjson", out: "o" }],
  ["another format before JSON", { json: true, format: "csv" }, { format: "csv" }],
  ["values as they are", { format: "csv", raw: true }, { format: "csv", isRaw: true }],
  ["a file of CSV", { format: "csv", out: "o", fields: "id" }, { format: "csv", fields: ["id"] }],
  [
    "orders",
    { sort: ["createdAt.desc,id.asc", "pagingToken.asc"] },
    { sort: ["createdAt.desc", "id.asc", "pagingToken.asc"] },
  ],
  ["fields, each once", { fields: " memo, id,memo ,pagingToken" }, { fields: ["memo", "id", "pagingToken"] }],
  ["filters", { filter: ["memo=a=b", "id="] }, { filter: { memo: "a=b", id: "" } }],
  ["a filter by what only the service may know", { filter: ["x=y", "branch=1"] }, { filter: { x: "y", branch: "1" } }],
  ["filters that are compared here", { filter: ["memo=1"], from: "today" }, { filter: { memo: "1" } }],
  ["counts", { size: "1", limit: "0020" }, { size: 1, limit: 20 }],
  ["a cursor", { after: "t" }, { after: "t" }],
  ["following", { follow: true }, { everyMs: 10_000 }],
  ["following at its own pace", { follow: true, every: "50ms" }, { everyMs: 50 }],
])("can be %s", (_, values, parsed) => {
  expect(parse(values, { width: 80 })).toMatchObject(parsed);
});

it("can name paging tokens of any list, which the description shows on payments alone", () => {
  expect(parse({ fields: "pagingToken" }, { of: "payment-gateways" })).toMatchObject({ fields: ["pagingToken"] });
});

it("can be a period, whose end may be open", () => {
  setClock({ ...clock, wallMs: () => Date.parse("2026-03-03T10:00:00Z") });
  onTestFinished(() => setClock(undefined));
  const [from, to] = [new Date("2026-03-02T00:00:00Z"), new Date("2026-03-03T00:00:00Z")];
  expect(parse({ from: "yesterday", to: "today" }).period).toEqual({ from, to });
  expect(parse({ from: "2026-03-02" }).period).toEqual({ from, to: undefined });
});

const noCount = ["0", "-1", "1.5", "1e3", " 1", "1 ", "x", ""];
const direction = (given: string, name: string) =>
  `--sort "${given}" does not say in which direction: ${name}.asc or ${name}.desc`;

it.each<[said: string, values: Values]>([
  ...noCount.map((size): [string, Values] => ["--size is a number from 1 on", { size }]),
  ["--limit is a number from 1 on", { limit: "0" }],
  ["--after is a paging token, and not empty", { after: "" }],
  ["--format is one of table, ndjson, csv", { format: "xml" }],
  ["--raw is for --format csv: the others are exact", { raw: true }],
  ...["id", "=1", ""].map((pair): [string, Values] => [`--filter ${pair} is not FIELD=VALUE`, { filter: [pair] }]),
  [
    "--filter memo=… is there twice: the service knows one value a field",
    { filter: ["id=1", "memo=a", "receiverAccount=1", "memo=b"] },
  ],
  ["--filter: payments have no field memos; did you mean memo?", { filter: ["id=1", "memos=1"] }],
  ["--filter: payments have no field x; they have id, ", { filter: ["memo=1", "x=1"], from: "2026-03-02" }],
  ["--fields: payments have no field memos; did you mean memo?", { fields: "id,memos" }],
  ["--fields: payments have no field ; they have id, ", { fields: "id,,memo" }],
  ["--sort: payments have no field memos; did you mean memo?", { sort: ["memos.asc"] }],
  [direction("memo", "memo"), { sort: ["memo"] }],
  [direction("memo.up", "memo"), { sort: ["memo.up"] }],
  [direction("id memo.asc", "createdAt"), { sort: ["id memo.asc"] }],
  [direction("memo.asc.id", "createdAt"), { sort: ["memo.asc.id"] }],
  [direction("memo.asc!", "createdAt"), { sort: ["memo.asc!"] }],
  [direction("", "createdAt"), { sort: ["id.asc,"] }],
  ["--to goes with --from", { to: "today" }],
  ...Object.entries({ sort: ["id.asc"], after: "1", follow: true }).map(([name, given]): [string, Values] => [
    `--from reads the newest payments first: leave --${name} out`,
    { from: "today", out: "o", [name]: given },
  ]),
  [
    "--from lies before --to: what was created at --to itself is not part of the list",
    { from: "2026-03-02", to: "2026-03-02" },
  ],
  ["--from is a day such as 2026-01-31", { from: "x" }],
  ["--to is a day such as 2026-01-31", { from: "today", to: "x" }],
  ["--every goes with --follow", { every: "1s" }],
  ["--every is a number and a unit", { follow: true, every: "5" }],
  ["--follow goes by paging tokens: leave --sort out", { follow: true, sort: ["id.asc"] }],
  ["--follow has no end, at which --out would be whole: write to stdout", { follow: true, out: "o" }],
])("are refused: %s", (said, values) => {
  expect(() => parse(values)).toThrow(said);
});
