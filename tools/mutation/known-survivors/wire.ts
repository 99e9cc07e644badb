import type { KnownSurvivor } from "../known-survivor.js";

const baseUrl = "src/wire/base-url.ts";
const bodyChunks = "src/wire/body-chunks.ts";
const decodeBody = "src/wire/decode-body.ts";
const undiciExchange = "src/wire/undici-exchange.ts";
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
    file: bodyChunks,
    line: "if (this.#block === undefined || this.#start === this.#end) return;",
    replacement: "this.#block === undefined && this.#start === this.#end",
    why: "One chunk more, which is empty.",
  },
  ...["chunk.length * 2 <= chunk.buffer.byteLength", "chunk.length / 2"].map((replacement) => ({
    file: bodyChunks,
    line: "return chunk.length < 1024 || chunk.length * 2 < chunk.buffer.byteLength;",
    replacement,
    why: sameBytes,
  })),
  {
    file: "src/wire/parse-json-object.ts",
    line: "} catch {",
    replacement: "{}",
    why: "A function that ends gives undefined.",
  },
  {
    file: undiciExchange,
    line: "if (this.#settled) return;",
    replacement: "false",
    why: "What has settled stays so, whatever else comes: leaving early saves decoding the body again.",
  },
  {
    file: undiciExchange,
    line: 'if (this.#encodedBytes > this.#maxEncodedBytes) this.#cut("too-large");',
    replacement: "this.#encodedBytes >= this.#maxEncodedBytes",
    why: "The limit is a rough one: a byte more or less is the same.",
  },
  {
    file: undiciExchange,
    line: '#isSent(reason = ""): boolean {',
    replacement: '"Stryker was here!"',
    why: "Neither is a code of a connection that was not made.",
  },
  {
    file: "src/wire/fetch-transport.ts",
    line: "stopListening?.();",
    replacement: "stopListening()",
    why: "For the compiler: a promise calls its function before it is there.",
  },
  {
    file: "src/wire/fetch-transport.ts",
    line: "Promise.resolve(body?.cancel()).catch(() => {});",
    replacement: "body.cancel",
    why: "Where there is no body, what that throws is caught.",
  },
  {
    file: "src/wire/undici-transport.ts",
    line: "if (route !== undefined && exchange !== undefined) return exchange(route, request, deadline);",
    original: "route !== undefined",
    replacement: "true",
    why: "For the compiler: `exchange` is there after the route.",
  },
];
