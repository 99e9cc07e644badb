import { expect, it } from "vitest";
import { run } from "./run.js";

const day = "2026-03-02";

it.each<[said: string, line: string[]]>([
  ...["0", "-1", "1.5", "1e3", "x"].map((size): [string, string[]] => [
    "Give a whole number from 1",
    [`--size=${size}`],
  ]),
  ["Give a whole number from 1", ["--limit", "0"]],
  ["Allowed choices are table, csv, json, ndjson", ["--format", "xml"]],
  ...["id", "=1"].map((pair): [string, string[]] => [`--filter ${pair} is not FIELD=VALUE`, ["--filter", pair]]),
  ["--filter: the service knows one value per field", ["--filter", "memo=a", "--filter", "memo=b"]],
  ["--filter: payments have no field memos; did you mean memo?", ["--filter", "memos=1"]],
  ["--filter: payments have no field x; they have id, ", ["--filter", "x=1", "--from", day]],
  ["--fields: payments have no field memos; did you mean memo?", ["--fields", "id,memos"]],
  ["--to requires an earlier --from", ["--to", "today"]],
  ["--to requires an earlier --from", ["--from", day, "--to", day]],
  ["'--from <time>' cannot be used with option '--sort", ["--from", day, "--sort", "id.asc"]],
  ["'--from <time>' cannot be used with option '--after", ["--from", day, "--after", "1"]],
  ["'--from <time>' cannot be used with option '--follow", ["--from", day, "--follow"]],
  ...["x", "2026-02-30", "2026-03-02T10:00:00"].map((time): [string, string[]] => [
    "Give a day such as",
    ["--from", time],
  ]),
  ...["5", "-1s", "0s", "5 weeks ago"].map((time): [string, string[]] => [
    "Give a number and a unit",
    [`--every=${time}`],
  ]),
  ["'--follow' cannot be used with option '--sort", ["--follow", "--sort", "id.asc"]],
  ["'--follow' cannot be used with option '--out", ["--follow", "--out", "o"]],
  ["--follow has no end, which --format json needs", ["--follow", "--format", "json"]],
])("refuses: %s %j", async (said, line) => {
  const { code, stdout, stderr } = await run(["payments", "list", ...line]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
});
