import { repeatsRequest } from "../api/fields.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { clock } from "../core/clock.js";
import { Ended } from "../core/deadline.js";
import { parseRetryAfterMs } from "../core/retry.js";
import { type BrokenBody, WireFailure, type WireResponse } from "../wire/transport.js";
import { classifyBroken, classifyFailure, classifyResponse, type FailureClass } from "./decision.js";
import type { Mismatch, Schemas } from "./schema.js";

/** How an attempt failed, as data. `toError` turns it into the error of the call. */
export interface Failure {
  readonly class: FailureClass;
  /** A status, a code such as `ECONNRESET`, or why a 2xx can't be used. */
  readonly reason: string;
  readonly isSent: boolean;
  /** Absent if no status arrived. */
  readonly response?: WireResponse;
  /** Why a 2xx can't be used, as a sentence. */
  readonly problem?: string;
  readonly retryAfterMs?: number | undefined;
  /** undici's error about a proxy, which has its status, and nothing of the request. */
  readonly cause?: unknown;
}

/** Something outside of the exchange failed, such as a token, a signature, or this library. It isn't retried. */
export interface Thrown {
  readonly error: unknown;
}

/** The data, with its differences from the description, or a failure. */
export type Outcome = { readonly data: unknown; readonly mismatches: readonly Mismatch[] } | Failure;

/** The failure of an exchange that threw. */
export function failureOfThrown(error: unknown): Failure | Thrown {
  if (error instanceof Ended) {
    return { class: classifyFailure(error), reason: endedReasons[error.kind], isSent: error.sent };
  }
  if (!(error instanceof WireFailure)) return { error };
  const { reason, sent: isSent, cause } = error;
  // Your `fetch` can give its errors any code. Three digits may be of an account.
  return { class: classifyFailure(error), reason: /\d{3}/.test(reason) ? "UNKNOWN" : reason, isSent, cause };
}

const endedReasons = { timeout: "DEADLINE", abort: "ABORTED" } as const;

const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "The response broke off.",
  "too-large": "The response is larger than maxResponseBytes allows.",
  "not-utf8": "The response is not valid UTF-8.",
  encoded: "The response is compressed in a way that can't be read.",
  timeout: "The deadline passed before all of it had arrived.",
  abort: "Your signal ended the call before all of it had arrived.",
};

/** How to compare responses with the description: `report` differences, throw (`strict`), or don't compare (`off`). */
export type ValidationMode = "report" | "strict" | "off";

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
): Outcome {
  const { status, headers, text, broken } = response;
  const refused = classifyResponse(response);
  if (refused !== undefined) {
    const retryAfterMs = parseRetryAfterMs(headers["retry-after"], clock.wallMs());
    return { class: refused, reason: String(status), isSent: true, response, retryAfterMs };
  }
  const unusable = (problem: string, kind: FailureClass = "unreadable", reason: string = kind) => {
    return { class: kind, reason, isSent: true, response, problem };
  };
  // The description gives this response no body, so the update is done, unless it's a proxy's page.
  if (operation.verb === "update") return isPage(response) ? unusable("The response is a page of HTML.") : noData;
  if (broken !== undefined) {
    const ended = broken === "timeout" || broken === "abort" ? endedReasons[broken] : undefined;
    return unusable(brokenTexts[broken], classifyBroken(broken), ended);
  }
  if (operation.verb === "request" && text === "") return noData;
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return unusable("The response is not JSON.");
  }
  if (operation.verb === "request") return { ...noData, data };
  const problem = problemOf(operation, sent, data);
  if (problem !== undefined) return unusable(`The response is ${problem}.`);
  const mismatches = validation === "off" ? [] : schemas.mismatches(operation, data);
  const [first] = mismatches;
  if (validation !== "strict" || first === undefined) return { data, mismatches };
  // It is certainly the record of a create.
  const kind = operation.verb === "create" ? "made" : "unreadable";
  return unusable(`Its ${first.field} is not ${first.expected} but ${first.found}.`, kind);
}

const noData: Outcome = { data: undefined, mismatches: [] };

/** Why the data isn't this record, if so. A 2xx alone proves nothing, since a proxy or a connection out of step may have sent it. */
function problemOf(
  { verb, identifiedBy, record }: Operation,
  sent: Readonly<Record<string, unknown>>,
  data: unknown,
): string | undefined {
  if (isDeep(data)) return `JSON of more than ${maxLevels} levels`;
  if (verb === "list") return Array.isArray(data) && data.every(isObject) ? undefined : "not an array of records";
  if (!isObject(data)) return "not a record";
  if (data.id === "" || idText(data.id) === undefined) return "not a record, since it has no id";
  if (repeatsRequest(record, sent, data)) return "only the request";
  if (identifiedBy === undefined || sent[identifiedBy] === undefined) return undefined;
  const isOwn = idText(data[identifiedBy]) === idText(sent[identifiedBy]);
  return isOwn ? undefined : `of another request, since its ${identifiedBy} is not the one that was sent`;
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
  return /^\s*</.test(text);
}
