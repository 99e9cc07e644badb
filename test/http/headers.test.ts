import { expect, it } from "vitest";
import { checkHeaders } from "../../src/http/prepare.js";

it.each([
  ["a name with its value", { "x-api-key: sk_live_51H": "" }, "a name of 22 characters is not a valid header name"],
  ["a value in place of a name", { sk_live_5123456: 1 }, "the value of a name of 15 characters is not a text"],
  ["a name", { "x-trace": 1 }, "the value of x-trace is not a text"],
  ["a name with small numbers", { "x-page-12-34": 1 }, "the value of x-page-12-34 is not a text"],
])("shows of a wrong header its name and nothing else: %s", (_, headers, message) => {
  expect(() => checkHeaders(headers as unknown as Record<string, string>)).toThrow(`headers: ${message}`);
});

it("refuses an object whose headers are not its properties", () => {
  const headers: unknown = new Headers({ "x-name": "value" });
  expect(() => checkHeaders(headers as Record<string, string>)).toThrow('headers must be an object such as { "x-name"');
});

it("refuses one header in two cases, and loses none, whatever its name", () => {
  expect(() => checkHeaders({ "X-A": "1", "x-a": "2" })).toThrow("headers: x-a is there twice");
  expect(Object.entries(checkHeaders(JSON.parse('{ "__proto__": "1", "x-a": "2" }')))).toEqual([
    ["__proto__", "1"],
    ["x-a", "2"],
  ]);
});

it("takes any text of Latin-1 characters on one line, and gives the names in lower case", () => {
  const headers = { "X-Trace": "00-abc\t~", "X-Name": "Zoë", "X-Empty": "" };
  expect(checkHeaders(headers)).toEqual({ "x-trace": "00-abc\t~", "x-name": "Zoë", "x-empty": "" });
});
