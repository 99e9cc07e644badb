import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeId, encodeQuery, fillPath, parsePathTemplate } from "../../src/api/path.js";
import { InvalidArgumentError } from "../../src/core/errors.js";

const origin = "https://service.test";
const nasty = [
  "/",
  "\\",
  "?",
  "#",
  "%",
  "%2e",
  "%2F",
  ".",
  "..",
  "...",
  "'",
  '"',
  "<",
  ">",
  " ",
  "\t",
  "\n",
  "\0",
  "+",
  "&",
  "=",
  ";",
  "@",
  ":",
  "ä",
  "€",
  "😀",
  "\u2028",
  "{",
  "}",
  "|",
  "^",
  "`",
  "*",
  "~",
  "(",
  "!",
];
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

  it("makes different paths of different ids", () => {
    fc.assert(
      fc.property(anyId, anyId, anyId, anyId, (a, b, c, d) => {
        fc.pre(a !== c || b !== d);
        expect(fillPath(template, "x", [a, b])).not.toBe(fillPath(template, "x", [c, d]));
      }),
    );
  });

  it("refuses an id that is missing", () => {
    expect(() => fillPath(template, "liquidityProviders.deposits.get", ["lp"])).toThrow(
      "liquidityProviders.deposits.get: depositId must be a string; got undefined",
    );
  });

  it("leaves a template without parameters as it is", () => {
    expect(fillPath(parsePathTemplate("/payments"), "payments.list", [])).toBe("/payments");
  });
});

describe("parsePathTemplate", () => {
  it("takes texts and parameters apart", () => {
    expect(parsePathTemplate("/a/{one}/b/{two}")).toEqual({
      text: "/a/{one}/b/{two}",
      texts: ["/a/", "/b/", ""],
      parameters: ["one", "two"],
    });
  });

  it("keeps what follows the last parameter", () => {
    expect(parsePathTemplate("/a/{one}/b")).toMatchObject({ texts: ["/a/", "/b"], parameters: ["one"] });
  });
});

describe("encodeId", () => {
  it.each([
    ["", "an empty string"],
    [".", '"."'],
    ["..", '".."'],
    ["undefined", '"undefined"'],
    ["null", '"null"'],
    ["[object Object]", '"[object Object]"'],
  ])("refuses %j", (value, found) => {
    expect(() => encodeId("payments.get", "paymentId", value)).toThrow(
      new InvalidArgumentError(`payments.get: paymentId must be the id of a record; got ${found}`),
    );
  });

  it.each([
    [1.5, "a number that isn't an exact id"],
    [2 ** 53, "a number that isn't an exact id"],
    [null, "null"],
    [undefined, "undefined. Is an environment variable unset?"],
    [{}, "an object"],
    [["a"], "an array"],
    [true, "a boolean"],
    [10n, "a bigint"],
  ])("refuses %o, which is not a string", (value, found) => {
    expect(() => encodeId("x.get", "id", value)).toThrow(`x.get: id must be a string; got ${found}`);
  });

  it.each([0, 17, 9_007_199_254_740_991])("takes the number %d, which a service may give as an id", (id) => {
    expect(encodeId("x.get", "id", id)).toBe(String(id));
  });

  it.each(["1\n", "\r\n1", "a\tb", "a\0", "\x7f", "\x85"])("refuses a control character: %j", (value) => {
    expect(() => encodeId("x.get", "id", value)).toThrow(
      "x.get: id contains a control character, such as a line break",
    );
  });

  it.each(["\ud800", "a\udc00b", "\udc00\ud800"])("refuses a lone surrogate", (value) => {
    expect(() => encodeId("x.get", "id", value)).toThrow(InvalidArgumentError);
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

  it("makes different queries of different values", () => {
    const query = fc.dictionary(fc.constantFrom("a", "b", "ab"), anyText, { maxKeys: 3 });
    fc.assert(
      fc.property(query, query, (one, other) => {
        fc.pre(JSON.stringify(Object.entries(one)) !== JSON.stringify(Object.entries(other)));
        expect(encodeQuery("x", one)).not.toBe(encodeQuery("x", other));
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

it("leaves out of a query what others have added to every object", () => {
  let text: string;
  Object.defineProperty(Object.prototype, "polluted", { value: "y", enumerable: true, configurable: true });
  try {
    text = encodeQuery("payments.list", { a: "1" });
  } finally {
    Reflect.deleteProperty(Object.prototype, "polluted");
  }
  expect(text).toBe("?a=1");
});
