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
  /** The service's base path, if it is known. */
  readonly basePath?: string | undefined;
  /** Scheme, host, and port of the service, if they are known. */
  readonly origin?: string | undefined;
}

/** What people sign in place of the path: likely mistakes first, what should be signed before all. */
export function pathVariants({ path, basePath, origin }: PathFacts): Variant<Uint8Array>[] {
  const plain = path.replace(/\?.*/s, "");
  const query = path.slice(plain.length);
  const beginnings = Array.from(plain.matchAll(/\//g), ({ index }) => plain.slice(0, index));
  const hasBase = basePath === undefined || path.startsWith(basePath);
  const bases = basePath === undefined ? beginnings : hasBase ? [basePath] : [];
  return unique(path, [
    ["no query, though the request has one", plain],
    ...bases.flatMap((base): Mistaken[] => [
      [`no base path (${base})`, path.slice(base.length) || "/"],
      [`neither base path (${base}) nor query`, plain.slice(base.length) || "/"],
    ]),
    // A proxy took it off, or put another one in its place.
    ...(hasBase ? [] : beginnings).map((base): Mistaken => {
      const where = base === "" ? "in front of the path" : `in place of ${base}`;
      return [`the base path (${basePath}) ${where}`, basePath + path.slice(base.length)];
    }),
    ...(origin === undefined ? [] : addressVariants(origin, path)),
    ["a slash at the end of the path", (plain.endsWith("/") ? plain : `${plain}/`) + query],
    ["no slash at the end of the path", plain.replace(/\/+$/, "") + query],
    ["no slash at the beginning of the path", path.slice(1)],
    ...bases.map((base): Mistaken => ["two slashes where the request has one", `${base}/${path.slice(base.length)}`]),
    ["one slash where the request has more", plain.replace(/\/+/g, "/") + query],
    ["the path decoded, where the request has it percent-encoded", decoded(path)],
    ["the path percent-encoded, where the request has it plain", encodeURI(path)],
    // As this library encodes ids; proxies that rewrite a path leave only some characters encoded.
    [
      "all of the path percent-encoded, where the request has some of it plain",
      plain.split("/").map(decoded).map(percentEncoded).join("/") + query,
    ],
    ["no path", ""],
  ]);
}

function addressVariants(origin: string, path: string): Mistaken[] {
  const host = origin.replace(/.*:\/\//, "");
  return [
    [`the whole address (${origin}) in place of the path`, origin + path],
    [`the host (${host}) in front of the path`, host + path],
  ];
}

/** What people sign in place of the body. */
export function bodyVariants(body: Uint8Array): Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const digest = createHash("sha256").update(body).digest();
  const [, ...others] = unique(text, [
    ["a newline at the end of the body, which was not sent", `${text}\n`],
    ["a newline (CR LF) at the end of the body, which was not sent", `${text}\r\n`],
    ["no newline at the end of the body, though one was sent", text.replace(/[\r\n]+$/, "")],
    ["the body without the white space around it", text.trim()],
    ["LF for each CR LF of the body", text.replaceAll("\r\n", "\n")],
    ["CR LF for each LF of the body", text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n")],
    ["a byte order mark in front of the body", `\ufeff${text}`],
    ["no byte order mark in front of the body, though one was sent", text.replace("\ufeff", "")],
    ...rewritten(text),
    ["no body", ""],
    ["the SHA-256 of the body (hex) in place of the body", digest.toString("hex")],
    ["the SHA-256 of the body (base64) in place of the body", digest.toString("base64")],
  ]);
  // What was sent need not be UTF-8.
  return [{ value: body }, ...others];
}

const separators = { "a newline": "\n", "a newline (CR LF)": "\r\n", "a space": " ", "a dot": ".", "a colon": ":" };

export const joinVariants: readonly Variant<Join>[] = [
  { value: (path, body) => Buffer.concat([path, body]) },
  ...Object.entries(separators).map(([name, separator]) => ({
    mistake: `${name} between path and body`,
    value: (path: Uint8Array, body: Uint8Array) => Buffer.concat([path, Buffer.from(separator), body]),
  })),
  { mistake: "the body in front of the path", value: (path, body) => Buffer.concat([body, path]) },
];

/** What people hand to the signing function in place of the text. */
export const wholeVariants: readonly Variant<(text: Uint8Array) => Uint8Array>[] = [
  { value: (text) => text },
  { mistake: "the SHA-256 of the text, which signing hashed once more", value: sha256 },
  {
    mistake: "the SHA-256 of the text in hex, which signing hashed once more",
    value: (text) => Buffer.from(sha256(text).toString("hex")),
  },
  {
    mistake: "the SHA-256 of the text in Base64, which signing hashed once more",
    value: (text) => Buffer.from(sha256(text).toString("base64")),
  },
];

type Mistaken = readonly [mistake: string, text: string];

/** Each text once, after the one that should have been signed. */
function unique(right: string, mistaken: readonly Mistaken[]): Variant<Uint8Array>[] {
  const texts = new Map<string, string | undefined>([[right, undefined]]);
  for (const [mistake, text] of mistaken) if (!texts.has(text)) texts.set(text, mistake);
  return Array.from(texts, ([text, mistake]) => ({
    ...(mistake !== undefined && { mistake }),
    value: Buffer.from(text),
  }));
}

/** Empty if the text isn't JSON, or has more levels than can be written again. */
function rewritten(text: string): Mistaken[] {
  try {
    const content: unknown = JSON.parse(text);
    return [...writtenAgain(content), ...withoutOneField(content)];
  } catch {
    return [];
  }
}

/** A text that was signed before its last field came. */
function withoutOneField(content: unknown): Mistaken[] {
  const fields = Object.entries(Object(content));
  // What is at an index of a list or of a text has no name.
  const names = fields.map(([name]) => name).filter(looksLikeName);
  return names.slice(0, maxFields).map((name): Mistaken => {
    const others = fields.filter(([other]) => other !== name);
    return [`the body without its ${name}`, JSON.stringify(Object.fromEntries(others))];
  });
}

/** A payment has 15. */
const maxFields = 50;

/** What JSON libraries make of the same content. Numbers and the order of fields can get lost on the way, as they do there. */
function writtenAgain(content: unknown): Mistaken[] {
  const orders = [["", content] as const, [", its fields sorted", sorted(content)] as const];
  return orders.flatMap(([order, value]) =>
    stylesOf(value).flatMap(([style, written]) =>
      escapesOf(written).flatMap(([escapes, text]): Mistaken[] => {
        const how = `the body written anew (${style}${order}${escapes})`;
        return [
          [`${how}, and not the bytes that were sent`, text],
          [`${how}, with a newline at its end`, `${text}\n`],
        ];
      }),
    ),
  );
}

function stylesOf(value: unknown): [style: string, text: string][] {
  const written = (indent: string) => JSON.stringify(value, null, indent);
  // As Python writes it. Line breaks inside of texts are escaped.
  const spaced = written(" ").replace(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, "");
  return [
    ["without white space", JSON.stringify(value)],
    ["with a space after each colon and comma", spaced.replace(/\n\s*/g, " ")],
    ["indented by 2", written("  ")],
    ["indented by 4", written("    ")],
    ["indented by tabs", written("\t")],
  ];
}

function escapesOf(text: string): [escapes: string, text: string][] {
  const inUnicode = (characters: RegExp) =>
    text.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [
    ["", text],
    [", everything but ASCII escaped", inUnicode(/[\u0080-\uffff]/g)],
    [", slashes escaped", text.replaceAll("/", "\\/")],
    [", <, > and & escaped", inUnicode(/[<>&]/g)],
  ];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(Reflect.get(value, name))]));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function sha256(text: Uint8Array): Buffer {
  return createHash("sha256").update(text).digest();
}
