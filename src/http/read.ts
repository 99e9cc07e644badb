import { repeatsRequest } from "../api/fields.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { clock } from "../core/clock.js";
import { Ended } from "../core/deadline.js";
import { parseRetryAfterMs } from "../core/retry.js";
import { type BrokenBody, WireFailure, type WireResponse } from "../wire/transport.js";
import { classifyBroken, classifyFailure, classifyResponse, type FailureClass } from "./decision.js";
import type { Mismatch, Schemas } from "./schema.js";

/** How an attempt failed, as data. `toError` turns it into the error of the call. */
export type Failure = NoStatus | RefusedStatus | UnusableResponse | Thrown;

export interface NoStatus {
  readonly kind: "no-status";
  readonly class: FailureClass;
  readonly reason: string;
  readonly cause: WireFailure | Ended;
}

/** A status other than 2xx. */
export interface RefusedStatus {
  readonly kind: "status";
  readonly class: FailureClass;
  readonly reason: string;
  readonly response: WireResponse;
  readonly retryAfterMs: number | undefined;
}

/** A 2xx that can't be used. */
export interface UnusableResponse {
  readonly kind: "unusable";
  readonly class: FailureClass;
  readonly reason: string;
  readonly response: WireResponse;
  readonly problem: string;
}

/** Something outside of the exchange failed: a token, a signature, or this library. Not to be retried. */
export interface Thrown {
  readonly kind: "thrown";
  readonly error: unknown;
}

/** The failure of an exchange that threw. */
export function failureOfThrown(error: unknown): NoStatus | Thrown {
  if (!(error instanceof WireFailure || error instanceof Ended)) return { kind: "thrown", error };
  const reason = error instanceof WireFailure ? error.reason : endedReasons[error.kind];
  return { kind: "no-status", class: classifyFailure(error), reason, cause: error };
}

export function refusedStatus(failureClass: FailureClass, response: WireResponse): RefusedStatus {
  const retryAfterMs = parseRetryAfterMs(response.headers["retry-after"], clock.wallMs());
  return { kind: "status", class: failureClass, reason: String(response.status), response, retryAfterMs };
}

/** @param isMade it is certainly the record of this create. */
export function unreadable(response: WireResponse, problem: string, isMade = false): UnusableResponse {
  return { kind: "unusable", class: isMade ? "made" : "unreadable", reason: "unreadable", response, problem };
}

export function brokenOff(response: WireResponse, broken: BrokenBody): UnusableResponse {
  const reason = classifyBroken(broken);
  return { kind: "unusable", class: reason, reason, response, problem: brokenTexts[broken] };
}

export const endedReasons = { timeout: "DEADLINE", abort: "ABORTED" } as const;

const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "the response broke off",
  "too-large": "the response is larger than maxResponseBytes allows",
  "not-utf8": "the response is not valid UTF-8",
  encoded: "the response is compressed in a way that can't be read",
  timeout: "the deadline passed before all of it had arrived",
  abort: "the caller's signal ended the call before all of it had arrived",
};

/** How to compare responses with the description: `report` differences, throw (`strict`), or don't compare (`off`). */
export type ValidationMode = "report" | "strict" | "off";

/** The data or a failure, and the differences from the description. */
export interface ReadResponse {
  readonly outcome: { readonly data: unknown } | Failure;
  readonly mismatches: readonly Mismatch[];
}

/**
 * Reads a response: its status, its JSON, its shape, its fields. Pure.
 *
 * @param sent what the request held, by field.
 */
export function readResponse(
  operation: AnyOperation,
  sent: Readonly<Record<string, unknown>>,
  response: WireResponse,
  validation: ValidationMode,
  schemas: Schemas,
): ReadResponse {
  const failureClass = classifyResponse(response);
  if (failureClass !== undefined) return only(refusedStatus(failureClass, response));
  if (operation.verb === "request") return only(readRaw(response));
  // The description gives this response no body, so the update is done, unless it's a proxy's page.
  if (operation.verb === "update") {
    return only(isPage(response) ? unreadable(response, "it is a page of HTML") : { data: undefined });
  }
  const { text, broken } = response;
  if (broken !== undefined) return only(brokenOff(response, broken));
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return only(unreadable(response, "it is not JSON"));
  }
  const problem = problemOf(operation, sent, data);
  if (problem !== undefined) return only(unreadable(response, problem));
  const mismatches = validation === "off" ? noMismatches : schemas.mismatches(operation, data);
  const [first] = mismatches;
  if (validation !== "strict" || first === undefined) return { outcome: { data }, mismatches };
  const difference = `${first.field} is not ${first.expected} but ${first.found}`;
  return { outcome: unreadable(response, difference, operation.verb === "create"), mismatches };
}

/** Accepts any JSON, or no body. */
function readRaw(response: WireResponse): ReadResponse["outcome"] {
  const { text, broken } = response;
  if (broken !== undefined) return brokenOff(response, broken);
  if (text === "") return { data: undefined };
  try {
    return { data: JSON.parse(text) as unknown };
  } catch {
    return unreadable(response, "it is not JSON");
  }
}

const noMismatches: readonly Mismatch[] = [];

function only(outcome: ReadResponse["outcome"]): ReadResponse {
  return { outcome, mismatches: noMismatches };
}

/** Why the data isn't what was asked for, if so. A 2xx alone proves nothing: proxies send it, and so does a connection out of step. */
function problemOf(
  { verb, identifiedBy, record }: Operation,
  sent: Readonly<Record<string, unknown>>,
  data: unknown,
): string | undefined {
  if (isDeep(data)) return `it has more than ${maxLevels} levels`;
  if (verb === "list") return isArrayOfObjects(data) ? undefined : "it is not an array of records";
  if (!isObject(data)) return "it is not a record";
  if (!isIdentity(data.id)) return "it is not a record: it has no id";
  if (repeatsRequest(record, sent, data)) return "it is the request";
  if (identifiedBy === undefined || sent[identifiedBy] === undefined) return undefined;
  const isOwn = idText(data[identifiedBy]) === idText(sent[identifiedBy]);
  return isOwn ? undefined : `its ${identifiedBy} is not the one that was sent`;
}

/** A service may trim an id, or return it as a number. */
function idText(id: unknown): unknown {
  return typeof id === "string" || typeof id === "number" ? String(id).trim() : id;
}

/** A number is a difference from the description, but still an identity. */
function isIdentity(value: unknown): value is string | number {
  return typeof value === "string" ? value !== "" : typeof value === "number";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isArrayOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

/** More levels than any record has, and few enough to copy and store it. */
const maxLevels = 100;

function isDeep(value: unknown, left = maxLevels): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((item) => typeof item === "object" && isDeep(item, left - 1));
}

/** Decided by the body, since frameworks label an empty body as HTML, too. */
function isPage({ text, headers, broken }: WireResponse): boolean {
  if (broken !== undefined && text === "") return /html/i.test(headers["content-type"] ?? "");
  return /^\s{0,9999}</.test(text);
}
