import { createHash } from "node:crypto";
import { percentEncoded } from "../api/path.js";
import { looksLikeName } from "../core/describe.js";

/** What may have been signed in place of a part of the text. */
export interface Variant<Value> {
  /** What it is, after "signed with "; undefined for what should have been signed. */
  readonly mistake?: string;
  readonly value: Value;
}

/** How path and body were put together. */
export type Join = (path: Uint8Array, body: Uint8Array) => Uint8Array;

export interface PathFacts {
  /** As it was on the wire. */
  readonly path: string;
  /** What of it is the service's base path, where that is known. */
  readonly basePath: string | undefined;
  /** Scheme, host and port of the service, where they are known. */
  readonly origin: string | undefined;
}

/** What people sign in place of the path: likely mistakes first, what should be signed before all. */
export function pathVariants({ path, basePath, origin }: PathFacts): Variant<Uint8Array>[] {
  const plain = path.replace(/\?.*/s, "");
  const query = path.slice(plain.length);
  const variants = new Variants<string>(path);
  variants.add("no query, though the request has one", plain);
  for (const base of basePathsOf(plain, basePath)) {
    variants.add(`no base path (${base})`, path.slice(base.length) || "/");
    variants.add(`neither base path (${base}) nor query`, plain.slice(base.length) || "/");
  }
  if (basePath !== undefined && !path.startsWith(basePath)) {
    // A proxy took it off, or put another one in its place.
    for (const base of basePathsOf(plain, undefined)) {
      const where = base === "" ? "in front of the path" : `in place of ${base}`;
      variants.add(`the base path (${basePath}) ${where}`, basePath + path.slice(base.length));
    }
  }
  if (origin !== undefined) {
    const host = origin.replace(/.*:\/\//, "");
    variants.add(`the whole address (${origin}) in place of the path`, origin + path);
    variants.add(`the host (${host}) in front of the path`, host + path);
    variants.add("the whole address without its query", origin + plain);
  }
  variants.add("a slash at the end of the path", withSlash(plain) + query);
  variants.add("no slash at the end of the path", plain.replace(/\/+$/, "") + query);
  variants.add("no slash at the beginning of the path", path.slice(1));
  for (const base of basePathsOf(plain, basePath)) {
    variants.add("two slashes where the request has one", `${base}/${path.slice(base.length)}`);
  }
  variants.add("one slash where the request has more", plain.replace(/\/+/g, "/") + query);
  variants.add("the path decoded, where the request has it percent-encoded", decoded(path));
  variants.add("the path percent-encoded, where the request has it plain", encodeURI(path));
  variants.add("all of the path percent-encoded, where the request has some of it plain", encoded(plain) + query);
  variants.add("the path percent-encoded as a whole, slashes too", encodeURIComponent(path));
  variants.add("the path in lower case", path.toLowerCase());
  for (const method of ["POST", "PUT", "PATCH", "GET", "DELETE"]) {
    for (const separator of [" ", "\n", ""]) variants.add("the method in front of the path", method + separator + path);
  }
  variants.add("no path", "");
  return variants.all.map(({ value, ...rest }) => ({ ...rest, value: Buffer.from(value) }));
}

/** What people sign in place of the body. */
export function bodyVariants(body: Uint8Array): Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const variants = new Variants<string>(text);
  variants.add("a newline at the end of the body, which was not sent", `${text}\n`);
  variants.add("a newline (CR LF) at the end of the body, which was not sent", `${text}\r\n`);
  variants.add("no newline at the end of the body, though one was sent", text.replace(/[\r\n]+$/, ""));
  variants.add("the body without the white space around it", text.trim());
  variants.add("LF for each CR LF of the body", text.replaceAll("\r\n", "\n"));
  variants.add("CR LF for each LF of the body", text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n"));
  variants.add("a byte order mark in front of the body", `\ufeff${text}`);
  variants.add("no byte order mark in front of the body, though one was sent", text.replace("\ufeff", ""));
  for (const { mistake, value } of rewritten(text)) variants.add(mistake, value);
  variants.add("no body", "");
  variants.add("the Base64 of the body", Buffer.from(body).toString("base64"));
  for (const encoding of ["hex", "base64"] as const) {
    const digest = createHash("sha256").update(body).digest(encoding);
    variants.add(`the SHA-256 of the body (${encoding}) in place of the body`, digest);
  }
  variants.add("the body percent-encoded", encodeURIComponent(text));
  const bytes: Variant<Uint8Array>[] = variants.all.map(({ value, ...rest }, index) => ({
    ...rest,
    // What was sent need not be UTF-8.
    value: index === 0 ? body : Buffer.from(value),
  }));
  return [
    ...bytes,
    { mistake: "the body in UTF-16", value: Buffer.from(text, "utf16le") },
    { mistake: "the body in Latin-1", value: Buffer.from(text, "latin1") },
  ];
}

export const joinVariants: readonly Variant<Join>[] = [
  { value: joined },
  ...(
    [
      ["a newline", "\n"],
      ["a space", " "],
      ["a newline (CR LF)", "\r\n"],
      ["a dot", "."],
      ["a colon", ":"],
      ["an ampersand", "&"],
      ["a bar", "|"],
    ] as const
  ).map(([name, separator]) => ({
    mistake: `${name} between path and body`,
    value: (path: Uint8Array, body: Uint8Array) => joined(path, Buffer.from(separator), body),
  })),
  { mistake: "the body in front of the path", value: (path, body) => joined(body, path) },
];

/** What people hand to the signing function in place of the text. */
export const wholeVariants: readonly Variant<(text: Uint8Array) => Uint8Array>[] = [
  { value: (text) => text },
  { mistake: "the SHA-256 of the text, which signing hashed once more", value: (text) => sha256(text) },
  {
    mistake: "the SHA-256 of the text in hex, which signing hashed once more",
    value: (text) => Buffer.from(sha256(text).toString("hex")),
  },
  {
    mistake: "the SHA-256 of the text in Base64, which signing hashed once more",
    value: (text) => Buffer.from(sha256(text).toString("base64")),
  },
  {
    mistake: "the Base64 of the text",
    value: (text) => Buffer.from(Buffer.from(text).toString("base64")),
  },
];

/** Each value once, the first time with what should have been signed. */
class Variants<Value> {
  readonly all: Variant<Value>[];
  readonly #known: Set<Value>;

  constructor(right: Value) {
    this.all = [{ value: right }];
    this.#known = new Set([right]);
  }

  add(mistake: string, value: Value): void {
    if (this.#known.has(value)) return;
    this.#known.add(value);
    this.all.push({ mistake, value });
  }
}

type Mistaken = Required<Variant<string>>;

/** Nothing where the text is not JSON, or has more levels than can be written anew. */
function rewritten(text: string): Mistaken[] {
  try {
    const content: unknown = JSON.parse(text);
    return [...writtenAnew(content), ...withoutOneField(content)];
  } catch {
    return [];
  }
}

/** A text that was signed before its last field came. */
function withoutOneField(content: unknown): Mistaken[] {
  const fields = Object.entries(Object(content));
  // What is at an index of a list or of a text has no name.
  const names = fields.map(([name]) => name).filter(looksLikeName);
  return names.slice(0, mostFields).map((name) => {
    const others = fields.filter(([other]) => other !== name);
    return { mistake: `the body without its ${name}`, value: JSON.stringify(Object.fromEntries(others)) };
  });
}

/** A payment has 15. */
const mostFields = 50;

/** What JSON libraries make of the same content. Numbers and the order of fields can get lost on the way, as they do there. */
function writtenAnew(content: unknown): Mistaken[] {
  const variants: Mistaken[] = [];
  for (const [order, value] of [
    ["", content],
    [", its fields sorted", sorted(content)],
  ] as const) {
    for (const [style, written] of stylesOf(value)) {
      for (const [escapes, escaped] of escapesOf(written)) {
        const how = `${style}${order}${escapes}`;
        variants.push({ mistake: `the body written anew (${how}), and not the bytes that were sent`, value: escaped });
        variants.push({ mistake: `the body written anew (${how}), with a newline at its end`, value: `${escaped}\n` });
      }
    }
  }
  return variants;
}

function stylesOf(value: unknown): [style: string, text: string][] {
  const compact = JSON.stringify(value);
  return [
    ["without white space", compact],
    ["with a space after each colon and comma", spaced(value)],
    ["indented by 2", JSON.stringify(value, null, 2)],
    ["indented by 4", JSON.stringify(value, null, 4)],
    ["indented by tabs", JSON.stringify(value, null, "\t")],
  ];
}

/** As Python writes it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}: ${spaced(part)}`)
    .join(", ")}}`;
}

function escapesOf(text: string): [escapes: string, text: string][] {
  const inUnicode = (characters: RegExp) =>
    text.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [
    ["", text],
    [", everything but ASCII escaped", inUnicode(/[\u0080-\uffff]/g)],
    [", slashes escaped", text.replaceAll("/", "\\/")],
    [", slashes and everything but ASCII escaped", inUnicode(/[\u0080-\uffff]/g).replaceAll("/", "\\/")],
    [", <, > and & escaped", inUnicode(/[<>&]/g)],
  ];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(Reflect.get(value, name))]));
}

/** The base path, or else each beginning of the path that could be one. */
function basePathsOf(path: string, basePath: string | undefined): string[] {
  if (basePath !== undefined) return path.startsWith(basePath) ? [basePath] : [];
  return Array.from(path.matchAll(/\//g), ({ index }) => path.slice(0, index));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

/** As this library encodes ids; proxies that rewrite a path leave only some characters encoded. */
function encoded(path: string): string {
  return path
    .split("/")
    .map((segment) => percentEncoded(decoded(segment)))
    .join("/");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

function sha256(text: Uint8Array): Buffer {
  return createHash("sha256").update(text).digest();
}
