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

interface Classified {
  readonly class: FailureClass;
  /** A status, a code such as `ECONNRESET`, or why a 2xx can't be used. */
  readonly reason: string;
}

export interface NoStatus extends Classified {
  readonly kind: "no-status";
  readonly cause: WireFailure | Ended;
}

/** A status other than 2xx. */
export interface RefusedStatus extends Classified {
  readonly kind: "status";
  readonly response: WireResponse;
  readonly retryAfterMs: number | undefined;
}

/** A 2xx that can't be used. */
export interface UnusableResponse extends Classified {
  readonly kind: "unusable";
  readonly response: WireResponse;
  readonly problem: string;
}

/** Something outside of the exchange failed, such as a token, a signature, or this library. It isn't retried. */
interface Thrown {
  readonly kind: "thrown";
  readonly error: unknown;
}

/** The failure of an exchange that threw. */
export function failureOfThrown(error: unknown): NoStatus | Thrown {
  if (!(error instanceof WireFailure || error instanceof Ended)) return { kind: "thrown", error };
  const code = error instanceof Ended ? endedReasons[error.kind] : error.reason;
  // Your `fetch` can give its errors any code. Three digits may be of an account.
  const reason = /^(?!.*\d{3})[\w/]{1,64}$/.test(code) ? code : "UNKNOWN";
  return { kind: "no-status", class: classifyFailure(error), reason, cause: error };
}

function unreadable(response: WireResponse, problem: string): UnusableResponse {
  return { kind: "unusable", class: "unreadable", reason: "unreadable", response, problem };
}

function brokenOff(response: WireResponse, broken: BrokenBody): UnusableResponse {
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
  abort: "your signal ended the call before all of it had arrived",
};

/** How to compare responses with the description: `report` differences, throw (`strict`), or don't compare (`off`). */
export type ValidationMode = "report" | "strict" | "off";

/** The data or a failure, and the differences from the description. */
export interface ReadResponse {
  readonly outcome: { readonly data: unknown } | Failure;
  readonly mismatches: readonly Mismatch[];
}

/**
 * Reads the status, the JSON, the shape, and the fields of a response. Pure.
 *
 * @param sent the values of the request, by field.
 */
export function readResponse(
  operation: AnyOperation,
  sent: Readonly<Record<string, unknown>>,
  response: WireResponse,
  validation: ValidationMode,
  schemas: Schemas,
): ReadResponse {
  const outcome = readData(operation, sent, response);
  const isCompared = operation.verb !== "request" && operation.verb !== "update" && validation !== "off";
  const mismatches = isCompared && "data" in outcome ? schemas.mismatches(operation, outcome.data) : noMismatches;
  const [first] = mismatches;
  if (validation !== "strict" || first === undefined) return { outcome, mismatches };
  const refused = unreadable(response, `${first.field} is not ${first.expected} but ${first.found}`);
  // It is certainly the record of this create.
  return { outcome: operation.verb === "create" ? { ...refused, class: "made" } : refused, mismatches };
}

const noMismatches: readonly Mismatch[] = [];

function readData(
  operation: AnyOperation,
  sent: Readonly<Record<string, unknown>>,
  response: WireResponse,
): ReadResponse["outcome"] {
  const { status, headers, text, broken } = response;
  const failureClass = classifyResponse(response);
  if (failureClass !== undefined) {
    const retryAfterMs = parseRetryAfterMs(headers["retry-after"], clock.wallMs());
    return { kind: "status", class: failureClass, reason: String(status), response, retryAfterMs };
  }
  // The description gives this response no body, so the update is done, unless it's a proxy's page.
  if (operation.verb === "update") {
    return isPage(response) ? unreadable(response, "it is a page of HTML") : { data: undefined };
  }
  if (broken !== undefined) return brokenOff(response, broken);
  if (operation.verb === "request" && text === "") return { data: undefined };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return unreadable(response, "it is not JSON");
  }
  const problem = operation.verb === "request" ? undefined : problemOf(operation, sent, data);
  return problem === undefined ? { data } : unreadable(response, problem);
}

/** Why the data isn't this record, if so. A 2xx alone proves nothing, since a proxy or a connection out of step may have sent it. */
function problemOf(
  { verb, identifiedBy, record }: Operation,
  sent: Readonly<Record<string, unknown>>,
  data: unknown,
): string | undefined {
  if (isDeep(data)) return `it has more than ${maxLevels} levels`;
  if (verb === "list") return Array.isArray(data) && data.every(isObject) ? undefined : "it is not an array of records";
  if (!isObject(data)) return "it is not a record";
  if (data.id === "" || idText(data.id) === undefined) return "it is not a record: it has no id";
  if (repeatsRequest(record, sent, data)) return "it is the request";
  if (identifiedBy === undefined || sent[identifiedBy] === undefined) return undefined;
  const isOwn = idText(data[identifiedBy]) === idText(sent[identifiedBy]);
  return isOwn ? undefined : `its ${identifiedBy} is not the one that was sent`;
}

/** A service may trim an id, or return it as a number. */
function idText(id: unknown): string | undefined {
  return typeof id === "string" || typeof id === "number" ? String(id).trim() : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
