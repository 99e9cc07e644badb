import { isPassingStatus } from "../../wire/response.js";
import { NoAnswer } from "./no-answer.js";
import type { Seen } from "./prober.js";
import { nonEmptyText, zonedMsOf } from "./tokens.js";

/** A record of a list, as it came. */
export type Row = Readonly<Record<string, unknown>>;

/** The records of a response; undefined where it has none. */
export function rowsOf({ status, json }: Seen): readonly Row[] | undefined {
  if (status !== 200 || !Array.isArray(json)) return undefined;
  return json.filter((row) => typeof row === "object" && row !== null);
}

/** The records of a response; undefined where what was asked for is refused. @throws {NoAnswer} where it has neither. */
export function takenRows(seen: Seen): readonly Row[] | undefined {
  const rows = rowsOf(seen);
  if (rows === undefined && !isRefused(seen)) throw notSaid(seen);
  return rows;
}

/** A response that is the service's answer. @throws {NoAnswer} where it says only that another time is better. */
export function settled(seen: Seen): Seen {
  if (isPassingStatus(seen.status)) throw notSaid(seen);
  return seen;
}

function notSaid(seen: Seen): NoAnswer {
  return new NoAnswer(`${seen.request.id} responded with ${describe(seen)}`);
}

export function tokensOf(rows: readonly Row[]): readonly string[] {
  return rows.flatMap((row) => nonEmptyText(row.pagingToken) ?? []);
}

/** Whether a cache on the way says that it made this response. Some say an `Age` of 0 of what they hand on. */
export function isCached({ headers }: Seen): boolean {
  return Number(headers.age) > 0 || cacheHeaders.some((name) => /\bhit\b/i.test(headers[name] ?? ""));
}

const cacheHeaders = ["x-cache", "cache-status", "cf-cache-status", "x-cache-status", "x-proxy-cache"];

/** Status and form of a response, without anything of what it says. */
export function describe(seen: Seen): string {
  return `${seen.status} (${formOf(seen)})`;
}

/** Type of a body, and the names of its fields. */
export function formOf({ headers, json, hasBody }: Seen): string {
  if (!hasBody) return "no body";
  const type = (headers["content-type"] ?? "no content type").split(";")[0]?.trim() ?? "";
  const shown = /^[\w.+/-]{1,60}$/.test(type) ? type : "a content type of its own";
  if (typeof json !== "object" || json === null || Array.isArray(json)) return shown;
  const names = Object.keys(json).filter((name) => /^\w{1,40}$/.test(name));
  return `${shown}: ${names.sort().slice(0, 8).join(", ")}`;
}

/** The code of a refusal, where it is a word. */
export function codeIn({ json }: Seen): string | undefined {
  const { error, code, title } = Object(json) as Record<string, unknown>;
  return [error, code, title].find((word): word is string => typeof word === "string" && /^[\w.-]{1,60}$/.test(word));
}

/** Whether the service refuses what was asked, and not who asks, or when. */
export function isRefused({ status }: Seen): boolean {
  return status >= 400 && status < 500 && status !== 401 && !isPassingStatus(status);
}

/** `createdAt` in milliseconds since 1970, where it says its zone. */
export function createdAtMs({ createdAt }: Row): number | undefined {
  const ms = zonedMsOf(String(createdAt));
  return Number.isNaN(ms) ? undefined : ms;
}
