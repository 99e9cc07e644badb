import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeId, encodeQuery, fillPath, parsePathTemplate } from "../../src/api/path.js";
import { InvalidArgumentError } from "../../src/core/errors.js";

const origin = "https://service.test";
const nasty = [...Array.from("/\\?#%.'\"<> \t\n\0+&=;@:ä€😀\u2028{}|^`*~(!"), "%2e", "%2F", "..", "..."];
const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom(...nasty), { maxLength: 8 }).map((parts) => parts.join("")),
);
const anyId = anyText.filter((text) => !["", ".", "..", "undefined", "null"].includes(text) && !/\p{Cc}/u.test(text));
const base = fc.constantFrom("", "/gw", "/gw/v1", "/a%20b/c~d");

describe("fillPath", () => {
  const template = parsePathTemplate("/liquidity-providers/{liquidityProviderId}/deposits/{depositId}");

  it("makes paths that the URL parser leaves as they are, behind any base path, and that decode to the ids", () => {
    fc.assert(
      fc.property(base, anyId, anyId, (prefix, one, other) => {
        const path = prefix + fillPath(template, "liquidityProviders.deposits.get", [one, other]);
        const url = new URL(origin + path);
        expect(url.origin).toBe(origin);
        expect(url.pathname).toBe(path);
        expect(url.search + url.hash).toBe("");
        const segments = path.slice(prefix.length).split("/");
        expect(segments).toHaveLength(5);
        expect([segments[2], segments[4]].map((segment) => decodeURIComponent(segment ?? ""))).toEqual([one, other]);
      }),
    );
  });

  it("refuses an id that is missing", () => {
    expect(() => fillPath(template, "liquidityProviders.deposits.get", ["lp"])).toThrow(
      "liquidityProviders.deposits.get: depositId must be a string; got undefined",
    );
  });

  it("keeps what follows the last parameter, and a template without any", () => {
    expect(fillPath(parsePathTemplate("/a/{one}/b"), "a.get", ["1"])).toBe("/a/1/b");
    expect(fillPath(parsePathTemplate("/payments"), "payments.list", [])).toBe("/payments");
  });
});

describe("encodeId", () => {
  const control = "contains a control character, such as a line break";
  it.each<[value: unknown, problem: string]>([
    ["", "must be the id of a record; got an empty string"],
    ...[".", "..", "undefined", "null", "[object Object]"].map((text): [string, string] => [
      text,
      `must be the id of a record; got "${text}"`,
    ]),
    [1.5, "must be a string; got a number that isn't an exact id"],
    [2 ** 53, "must be a string; got a number that isn't an exact id"],
    [null, "must be a string; got null"],
    [undefined, "must be a string; got undefined. Is an environment variable unset?"],
    [{}, "must be a string; got an object"],
    ...["1\n", "\r\n1", "a\tb", "a\0", "\x7f", "\x85"].map((text): [string, string] => [text, control]),
    ["\ud800", "contains a lone surrogate, which has no encoding"],
    ["a\udc00b", "contains a lone surrogate, which has no encoding"],
  ])("refuses %j", (value, problem) => {
    expect(() => encodeId("payments.get", "paymentId", value)).toThrow(
      new InvalidArgumentError(`payments.get: paymentId ${problem}`),
    );
  });

  it.each([0, 17, 9_007_199_254_740_991])("takes the number %d, which a service may give as an id", (id) => {
    expect(encodeId("x.get", "id", id)).toBe(String(id));
  });
});

describe("encodeQuery", () => {
  it("makes queries that the URL parser leaves as they are and that decode to the values", () => {
    fc.assert(
      fc.property(fc.dictionary(anyText, anyText), (query) => {
        const text = encodeQuery("payments.list", query);
        const url = new URL(`${origin}/payments${text}`);
        expect(url.pathname + url.search).toBe(`/payments${text}`);
        const pairs = text === "" ? [] : text.slice(1).split("&");
        const decoded = pairs.map((pair) => pair.split("=").map(decodeURIComponent));
        expect(decoded).toEqual(Object.entries(query));
      }),
    );
  });

  it("leaves out what is undefined and sends what is empty or zero", () => {
    expect(encodeQuery("x", { a: undefined, b: "", c: 0, _sort: "createdAt.desc,id.asc" })).toBe(
      "?b=&c=0&_sort=createdAt.desc%2Cid.asc",
    );
    expect(encodeQuery("x", { a: undefined })).toBe("");
  });

  it("names the field that contains a lone surrogate", () => {
    expect(() => encodeQuery("payments.list", { memo: "\ud800" })).toThrow(
      "payments.list: memo contains a lone surrogate, which has no encoding",
    );
  });
});
