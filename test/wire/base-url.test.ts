import fc from "fast-check";
import { expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { parseBaseUrl } from "../../src/wire/base-url.js";

it.each([
  ["https://host", "https://host", ""],
  ["https://host/", "https://host", ""],
  ["https://host/gw/v1", "https://host", "/gw/v1"],
  ["https://host/gw/v1/", "https://host", "/gw/v1"],
  ["https://host/gw//", "https://host", "/gw"],
  ["https://host:8443/a%20b/~c", "https://host:8443", "/a%20b/~c"],
  ["HTTPS://Host:443/Path", "https://host", "/Path"],
])("takes %s apart", (value, origin, path) => {
  expect(parseBaseUrl(value, "baseUrl")).toEqual({ origin, path });
});

it.each(["http://localhost:3000", "http://127.0.0.1:80/x", "http://127.8.9.10", "http://[::1]:1234"])(
  "allows %s, since it does not leave the machine",
  (value) => {
    expect(() => parseBaseUrl(value, "baseUrl")).not.toThrow();
  },
);

it("allows http to other hosts if that is permitted, and nothing else", () => {
  expect(parseBaseUrl("http://host/x", "baseUrl", true)).toEqual({ origin: "http://host", path: "/x" });
  expect(() => parseBaseUrl("ftp://host", "baseUrl", true)).toThrow("neither https nor http");
});

it.each([
  ["http://host/x", "in the clear"],
  ["http://127.0.0.1.example.org", "in the clear"],
  ["http://0.0.0.0", "in the clear"],
  ["ftp://host", "neither https nor http"],
  ["javascript:alert(1)", "not an absolute address"],
  ["//host/path", "not an absolute address"],
  ["https:host", "not an absolute address"],
  [" https://host", "not an absolute address"],
  ["https://host:99999", "not an absolute address"],
  ["https://user:word@host", "a user name or a password"],
  ["https://@host", "a user name or a password"],
  ["https://host?", "a query"],
  ["https://host/#a", "a fragment"],
  ["https://host/a\\b", "not written as it goes over the wire"],
  ["https://host\\a", "not written as it goes over the wire"],
  ["https://host/a\n", "not written as it goes over the wire"],
  ["https://host/a b", "not written as it goes over the wire"],
  ["https://host/a/../b", "not written as it goes over the wire"],
  ["https://host/%2e%2E/b", "not written as it goes over the wire"],
  ["https://host/grün", "not written as it goes over the wire"],
  ["", "an empty string. Is the environment variable set?"],
  [undefined, "undefined. Is the environment variable set?"],
  [42, "a number"],
  [new URL("https://host"), "a URL"],
])("refuses %j and says why", (value, why) => {
  expect(() => parseBaseUrl(value, "baseUrl")).toThrow(ConfigError);
  expect(() => parseBaseUrl(value, "baseUrl")).toThrow(/^baseUrl is /);
  expect(() => parseBaseUrl(value, "baseUrl")).toThrow(why);
});

it.each(["https://user:canary@host", "http://a:canary@host?q", "https://u:canary@ho st"])(
  "refuses %s without repeating it",
  (value) => {
    expect(() => parseBaseUrl(value, "baseUrl")).toThrow(/^(?!.*canary)/s);
  },
);

it("gives two parts that a URL parser leaves exactly as they are", () => {
  fc.assert(
    fc.property(fc.webUrl({ validSchemes: ["https"], withQueryParameters: false, withFragments: false }), (address) => {
      let base: ReturnType<typeof parseBaseUrl>;
      try {
        base = parseBaseUrl(address, "baseUrl");
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        return;
      }
      const url = new URL(`${base.origin}${base.path}/payments`);
      expect(url.href).toBe(`${base.origin}${base.path}/payments`);
    }),
  );
});
