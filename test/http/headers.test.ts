import { expect, it } from "vitest";
import { checkHeaders } from "../../src/http/headers.js";

it.each([
  ["a name with its value", { "x-api-key: sk_live_51H": "" }, "a name of 22 characters is not a valid header name"],
  ["a value in place of a name", { sk_live_5123456: 1 }, "the value of a name of 15 characters is not a text"],
  ["a name", { "x-trace": 1 }, "the value of x-trace is not a text"],
])("shows of a wrong header its name and nothing else: %s", (_, headers, message) => {
  expect(() => checkHeaders(headers as unknown as Record<string, string>)).toThrow(`headers: ${message}`);
});
