import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  bodyVariants,
  joinVariants,
  pathVariants,
  type Variant,
  wholeVariants,
} from "../../src/verification/signed-text-variants.js";

const textsOf = (variants: readonly Variant<Uint8Array>[]) =>
  variants.map(({ mistake, value }) => [mistake, Buffer.from(value).toString()]);
const digestOf = (text: string) => createHash("sha256").update(text).digest();

describe("in place of the path", () => {
  const known = { basePath: undefined, origin: undefined };
  const methods = (path: string) =>
    ["POST", "PUT", "PATCH", "GET", "DELETE"].flatMap((method) =>
      [" ", "\n", ""].map((separator) => ["the method in front of the path", method + separator + path]),
    );

  it("are these, of a path with a query, the likely ones first", () => {
    const path = "/v1/Zoë/a%20b?c=d";
    expect(textsOf(pathVariants({ ...known, path }))).toEqual([
      [undefined, path],
      ["no query, though the request has one", "/v1/Zoë/a%20b"],
      ["no base path (/v1)", "/Zoë/a%20b?c=d"],
      ["neither base path (/v1) nor query", "/Zoë/a%20b"],
      ["no base path (/v1/Zoë)", "/a%20b?c=d"],
      ["neither base path (/v1/Zoë) nor query", "/a%20b"],
      ["a slash at the end of the path", "/v1/Zoë/a%20b/?c=d"],
      ["no slash at the beginning of the path", "v1/Zoë/a%20b?c=d"],
      ["two slashes where the request has one", "//v1/Zoë/a%20b?c=d"],
      ["two slashes where the request has one", "/v1//Zoë/a%20b?c=d"],
      ["two slashes where the request has one", "/v1/Zoë//a%20b?c=d"],
      ["the path decoded, where the request has it percent-encoded", "/v1/Zoë/a b?c=d"],
      ["the path percent-encoded, where the request has it plain", "/v1/Zo%C3%AB/a%2520b?c=d"],
      ["all of the path percent-encoded, where the request has some of it plain", "/v1/Zo%C3%AB/a%20b?c=d"],
      ["the path percent-encoded as a whole, slashes too", "%2Fv1%2FZo%C3%AB%2Fa%2520b%3Fc%3Dd"],
      ["the path in lower case", "/v1/zoë/a%20b?c=d"],
      ...methods(path),
      ["no path", ""],
    ]);
  });

  it("are these, of a service with a known address and base path", () => {
    const facts = { path: "/api/pay//?q", basePath: "/api", origin: "HTTPS://service.test:8443" };
    expect(textsOf(pathVariants(facts)).slice(1, 11)).toEqual([
      ["no query, though the request has one", "/api/pay//"],
      ["no base path (/api)", "/pay//?q"],
      ["neither base path (/api) nor query", "/pay//"],
      ["the whole address (HTTPS://service.test:8443) in place of the path", "HTTPS://service.test:8443/api/pay//?q"],
      ["the host (service.test:8443) in front of the path", "service.test:8443/api/pay//?q"],
      ["the whole address without its query", "HTTPS://service.test:8443/api/pay//"],
      ["no slash at the end of the path", "/api/pay?q"],
      ["no slash at the beginning of the path", "api/pay//?q"],
      ["two slashes where the request has one", "/api//pay//?q"],
      ["one slash where the request has more", "/api/pay/?q"],
    ]);
  });

  it("are a slash where nothing of it is left", () => {
    const texts = textsOf(pathVariants({ ...known, path: "/api?q", basePath: "/api" }));
    expect(texts).toContainEqual(["neither base path (/api) nor query", "/"]);
    expect(textsOf(pathVariants({ ...known, path: "/api", basePath: "/api" }))).toContainEqual([
      "no base path (/api)",
      "/",
    ]);
  });

  it("are the path after a base path that it lacks, or with that in place of another one", () => {
    const texts = textsOf(pathVariants({ ...known, path: "/pay/more", basePath: "/api" }));
    expect(texts.filter(([mistake]) => mistake?.includes("base path"))).toEqual([
      ["the base path (/api) in front of the path", "/api/pay/more"],
      ["the base path (/api) in place of /pay", "/api/more"],
    ]);
    const bare = textsOf(pathVariants({ ...known, path: "/pay/more", basePath: "" }));
    expect(bare.filter(([mistake]) => mistake?.includes("base path"))).toEqual([]);
  });

  it("are each said once, and no decoded one where the path can't be decoded", () => {
    const texts = textsOf(pathVariants({ ...known, path: "/a%" }));
    expect(texts).toEqual([
      [undefined, "/a%"],
      ["a slash at the end of the path", "/a%/"],
      ["no slash at the beginning of the path", "a%"],
      ["two slashes where the request has one", "//a%"],
      ["the path percent-encoded, where the request has it plain", "/a%25"],
      ["the path percent-encoded as a whole, slashes too", "%2Fa%25"],
      ...methods("/a%"),
      ["no path", ""],
    ]);
  });
});

describe("in place of the body", () => {
  const of = (body: string) => textsOf(bodyVariants(Buffer.from(body)));

  it("are these, of one that is not JSON", () => {
    const body = "\ufeff a\r\nb\r\n";
    expect(of(body).slice(0, -1)).toEqual([
      [undefined, body],
      ["a newline at the end of the body, which was not sent", `${body}\n`],
      ["a newline (CR LF) at the end of the body, which was not sent", `${body}\r\n`],
      ["no newline at the end of the body, though one was sent", "\ufeff a\r\nb"],
      ["the body without the white space around it", "a\r\nb"],
      ["LF for each CR LF of the body", "\ufeff a\nb\n"],
      ["a byte order mark in front of the body", `\ufeff${body}`],
      ["no byte order mark in front of the body, though one was sent", " a\r\nb\r\n"],
      ["no body", ""],
      ["the Base64 of the body", Buffer.from(body).toString("base64")],
      ["the SHA-256 of the body (hex) in place of the body", digestOf(body).toString("hex")],
      ["the SHA-256 of the body (base64) in place of the body", digestOf(body).toString("base64")],
      ["the body percent-encoded", "%EF%BB%BF%20a%0D%0Ab%0D%0A"],
      ["the body in UTF-16", Buffer.from(body, "utf16le").toString()],
    ]);
    const values = of('{"a": 1}')
      .map(([, value]) => value)
      .slice(0, -1);
    expect(new Set(values).size).toBe(values.length);
    expect(of("a\nb")).toContainEqual(["CR LF for each LF of the body", "a\r\nb"]);
    expect(of("a\r\nb\nc")).toContainEqual(["CR LF for each LF of the body", "a\r\nb\r\nc"]);
    expect(bodyVariants(Buffer.from("ë")).at(-1)).toEqual({
      mistake: "the body in Latin-1",
      value: Buffer.from([0xeb]),
    });
  });

  it("keep the bytes that were sent, which need not be UTF-8", () => {
    const bytes = new Uint8Array([0xff, 0xfe]);
    expect(bodyVariants(bytes)[0]).toEqual({ value: bytes });
  });

  /** The texts by the style they are said to be in. */
  const styles = (body: string) =>
    Object.fromEntries(
      of(body).flatMap(([mistake = "", text]) => {
        const style = /^the body written anew \((.*)\), and not the bytes that were sent$/.exec(mistake)?.[1];
        return style === undefined ? [] : [[style, text]];
      }),
    );

  it("are JSON in the styles of other libraries", () => {
    const found = styles('{ "b": [1, {"d": null}], "a": "ë/<" }');
    const compact = '{"b":[1,{"d":null}],"a":"ë/<"}';
    expect(found).toEqual({
      "without white space": compact,
      "without white space, everything but ASCII escaped": compact.replace("ë", "\\u00eb"),
      "without white space, slashes escaped": compact.replace("/", "\\/"),
      "without white space, slashes and everything but ASCII escaped": compact
        .replace("ë", "\\u00eb")
        .replace("/", "\\/"),
      "without white space, <, > and & escaped": compact.replace("<", "\\u003c"),
      ...ofStyle("with a space after each colon and comma", '{"b": [1, {"d": null}], "a": "ë/<"}'),
      ...ofStyle("indented by 2", JSON.stringify(JSON.parse(compact), null, 2)),
      ...ofStyle("indented by 4", JSON.stringify(JSON.parse(compact), null, 4)),
      ...ofStyle("indented by tabs", JSON.stringify(JSON.parse(compact), null, "\t")),
      ...ofStyle("without white space, its fields sorted", '{"a":"ë/<","b":[1,{"d":null}]}'),
      ...ofStyle("with a space after each colon and comma, its fields sorted", '{"a": "ë/<", "b": [1, {"d": null}]}'),
      ...ofStyle("indented by 2, its fields sorted", sortedAndIndented(2)),
      ...ofStyle("indented by 4, its fields sorted", sortedAndIndented(4)),
      ...ofStyle("indented by tabs, its fields sorted", sortedAndIndented("\t")),
    });
  });
  const sortedAndIndented = (by: number | string) => JSON.stringify({ a: "ë/<", b: [1, { d: null }] }, null, by);
  const ofStyle = (style: string, text: string) => ({
    [style]: text,
    [`${style}, everything but ASCII escaped`]: text.replace("ë", "\\u00eb"),
    [`${style}, slashes escaped`]: text.replace("/", "\\/"),
    [`${style}, slashes and everything but ASCII escaped`]: text.replace("ë", "\\u00eb").replace("/", "\\/"),
    [`${style}, <, > and & escaped`]: text.replace("<", "\\u003c"),
  });

  it("are sorted and spaced at every depth", () => {
    expect(styles('[{"c":{"z":1,"y":2},"b":[{"n":1,"m":"x"}]}]')).toMatchObject({
      "without white space, its fields sorted": '[{"b":[{"m":"x","n":1}],"c":{"y":2,"z":1}}]',
      "with a space after each colon and comma": '[{"c": {"z": 1, "y": 2}, "b": [{"n": 1, "m": "x"}]}]',
    });
  });

  it("are JSON written anew with a newline as well", () => {
    expect(of('{ "a": 1 }')).toContainEqual([
      "the body written anew (without white space), with a newline at its end",
      '{"a":1}\n',
    ]);
  });

  it("are an object without one of its fields, of at most 50", () => {
    const without = (body: string) => of(body).filter(([mistake]) => mistake?.startsWith("the body without its "));
    expect(without('{"a":1,"b":2}')).toEqual([
      ["the body without its a", '{"b":2}'],
      ["the body without its b", '{"a":1}'],
    ]);
    for (const other of ["[1]", "null", "7", '"text"']) expect(without(other)).toEqual([]);
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, index]));
    expect(without(JSON.stringify(fields))).toHaveLength(50);
    // A name that may be a value of somebody's own does not get into a message.
    expect(without('{"a b@c":1,"d":2}').map(([mistake]) => mistake)).toEqual(["the body without its d"]);
  });
});

it("puts path and body together in these ways", () => {
  const [path, body] = [Buffer.from("/p"), Buffer.from("{}")];
  const found = joinVariants.map(({ mistake, value }) => [mistake, Buffer.from(value(path, body)).toString()]);
  expect(found).toEqual([
    [undefined, "/p{}"],
    ["a newline between path and body", "/p\n{}"],
    ["a space between path and body", "/p {}"],
    ["a newline (CR LF) between path and body", "/p\r\n{}"],
    ["a dot between path and body", "/p.{}"],
    ["a colon between path and body", "/p:{}"],
    ["an ampersand between path and body", "/p&{}"],
    ["a bar between path and body", "/p|{}"],
    ["the body in front of the path", "{}/p"],
  ]);
});

it("hands these to the signing function", () => {
  const found = wholeVariants.map(({ mistake, value }) => [mistake, Buffer.from(value(Buffer.from("text")))]);
  const digest = digestOf("text");
  expect(found).toEqual([
    [undefined, Buffer.from("text")],
    ["the SHA-256 of the text, which signing hashed once more", digest],
    ["the SHA-256 of the text in hex, which signing hashed once more", Buffer.from(digest.toString("hex"))],
    ["the SHA-256 of the text in Base64, which signing hashed once more", Buffer.from(digest.toString("base64"))],
    ["the Base64 of the text", Buffer.from(Buffer.from("text").toString("base64"))],
  ]);
});
