import type { KnownSurvivor } from "../known-survivor.js";

const baseUrl = "src/wire/base-url.ts";
const decodeBody = "src/wire/decode-body.ts";
const sameBytes = "The same bytes: how long their memory is kept is a matter of time and memory alone.";

export const wire: readonly KnownSurvivor[] = [
  {
    file: baseUrl,
    line: 'const [, authority = "", path = "", rest = ""] = written;',
    replacement: '"Stryker was here!"',
    why: "For the compiler: each of the three groups is there, where the expression fits.",
  },
  {
    file: baseUrl,
    line: 'if (hostname === "localhost" || hostname === "[::1]" || /^127(\\.\\d{1,3}){3}$/.test(hostname)) return undefined;',
    replacement: "/127(\\.\\d{1,3}){3}$/",
    why: "A host that ends in a number is an IPv4 address and nothing else, or the URL parser refuses it.",
  },
  ...[
    ["chunks.length === 1 && chunks[0] !== undefined", "false"],
    ["chunks[0] !== undefined", "true"],
    ["chunks[0] !== undefined", "chunks[0] === undefined"],
  ].map(([original = "", replacement = ""]) => ({
    file: decodeBody,
    line: "const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : join(chunks);",
    original,
    replacement,
    why: "One chunk is joined to the same bytes.",
  })),
  ...["false", "size < kept.length"].map((replacement) => ({
    file: decodeBody,
    line: "const memory = size <= kept.length ? kept : new Uint8Array(size);",
    replacement,
    why: sameBytes,
  })),
  ...["true", "false", "size < mostKeptBytes", "size > mostKeptBytes"].map((replacement) => ({
    file: decodeBody,
    line: "if (size <= mostKeptBytes) kept = memory;",
    replacement,
    why: sameBytes,
  })),
  {
    file: "src/wire/parse-json-object.ts",
    line: "} catch {",
    replacement: "{}",
    why: "A function that ends gives undefined.",
  },
];
