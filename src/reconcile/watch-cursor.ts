import { InvalidArgumentError } from "../errors/errors.js";
import { type Digest, digestOf, digestText } from "./digest.js";
import type { StretchMark, WindowMark } from "./payment-window.js";

const version = "pw1";

type Refuse = (problem: string) => InvalidArgumentError;

/** A cursor: letters, digits, `-`, `_` and dots. With paging tokens of 20 characters it has up to 3,000. */
export function writeCursor(baseUrl: string, { after, stretches, newestMs }: WindowMark): string {
  const marks = stretches.map(({ last, ids, states }) => [last, digestText(ids) + digestText(states)]);
  const body = encode(JSON.stringify([digestText(digestOf(baseUrl)), after ?? null, marks, newestMs ?? null]));
  return `${version}.${body}.${digestText(digestOf(body))}`;
}

/** @throws {InvalidArgumentError} on anything that is not a cursor of this version and of this service. */
export function readCursor(baseUrl: string, cursor: string): WindowMark {
  const refuse: Refuse = (problem) => new InvalidArgumentError(`watchPayments: after ${problem}`);
  const [, foundVersion = "", body = "", sum = ""] = /^(pw\d+)\.([\w-]+)\.([0-9a-f]{16})$/.exec(cursor) ?? [];
  if (foundVersion !== "" && foundVersion !== version) {
    throw refuse(
      `is a cursor of another version of this package (${foundVersion.slice(0, 9)}, this one reads ${version})`,
    );
  }
  if (sum !== digestText(digestOf(body))) {
    throw refuse(
      "is not a cursor of watchPayments, or not all of one: store it as it is, where it is not cut off (it can have several thousand characters)",
    );
  }
  return parseBody(baseUrl, body, refuse);
}

function parseBody(baseUrl: string, body: string, refuse: Refuse): WindowMark {
  const [scope, after, marks, newestMs] = decode(body);
  if (typeof scope !== "string" || !(after === null || typeof after === "string") || !Array.isArray(marks)) {
    throw refuse("is not a cursor of watchPayments");
  }
  if (scope !== digestText(digestOf(baseUrl))) {
    throw refuse(
      "is a cursor of another service: it was made with another baseUrl than this client's. Paging tokens mean nothing elsewhere",
    );
  }
  const stretches = marks.map((mark) => parseMark(mark, refuse));
  return { after: after ?? undefined, stretches, newestMs: typeof newestMs === "number" ? newestMs : undefined };
}

function parseMark(mark: unknown, refuse: Refuse): StretchMark {
  const [last, sums]: unknown[] = Array.isArray(mark) ? mark : [];
  if (typeof last !== "string" || last === "" || typeof sums !== "string" || !/^[0-9a-f]{32}$/.test(sums)) {
    throw refuse("is not a cursor of watchPayments");
  }
  return { last, ids: parseDigest(sums.slice(0, 16)), states: parseDigest(sums.slice(16)) };
}

function parseDigest(text: string): Digest {
  return { high: Number.parseInt(text.slice(0, 8), 16), low: Number.parseInt(text.slice(8), 16) };
}

/** Base64 for URLs. `btoa` takes Latin letters only, and JSON can write every other one as an escape. */
function encode(json: string): string {
  const ascii = json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return btoa(ascii).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(body: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
