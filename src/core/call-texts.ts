import { docsPage } from "./describe.js";
import type { Effect } from "./errors.js";

/** What failed in a call. */
export type CallProblem =
  | StatusProblem
  | { readonly kind: "unusable"; readonly status: number; readonly problem: string }
  | { readonly kind: "unconnected" | "untrusted" | "broken"; readonly reason: string }
  | { readonly kind: "proxy"; readonly says: string }
  | { readonly kind: "timeout" | "abort" | "unexpected" | "earlier" };

interface StatusProblem {
  readonly kind: "status";
  readonly status: number;
  /** The service's own, if it looks like a code. */
  readonly serviceCode?: string | undefined;
  /** Whether the response isn't in the service's own form. */
  readonly isForeign: boolean;
}

/** What is known of the call that failed. Nothing here may be confidential. */
export interface CallTextFacts {
  readonly operation: string;
  readonly verb: "create" | "get" | "list" | "update" | "request";
  readonly method: string;
  /** Without a query; with ids only if they may be shown. */
  readonly url: string;
  /** Whether the path names a record. */
  readonly hasIds: boolean;
  /** Whether it is a create that moves no money. */
  readonly isRepeatable: boolean;
  readonly attempts: number;
  /** What all attempts together may have done. */
  readonly effect: Effect;
  /** Whether any byte of any attempt may have left. */
  readonly isSent: boolean;
  /** Whether the service ever responded to this client. */
  readonly hasResponded: boolean;
}

/** The message of a failed call: what failed, with what, what to check, and what the service did. */
export function callText(problem: CallProblem, facts: CallTextFacts): string {
  const { operation, attempts } = facts;
  const after = attempts > 1 ? ` after ${attempts} attempts` : "";
  const sentences = [`${operation} failed: ${what(problem, facts, after)}.`, hint(problem, facts), consequence(facts)];
  return sentences.filter(Boolean).join(" ");
}

function what(problem: CallProblem, facts: CallTextFacts, after: string): string {
  const request = `${facts.method} ${facts.url}${after}`;
  const during = facts.isSent ? ` during ${request}` : after;
  switch (problem.kind) {
    case "status":
      return `${statusLine(problem)} for ${request}`;
    case "unusable":
      return `${problem.status} for ${request}, but ${problem.problem}`;
    case "unconnected":
    case "untrusted":
      return `could not connect to ${originOf(facts)} (${problem.reason})${after}`;
    case "broken":
      return `the connection broke (${problem.reason})${during}`;
    case "proxy":
      return `${problem.says}${after}`;
    case "timeout":
      return `the deadline (timeoutMs) passed${during}`;
    case "abort":
      return `your signal ended the call${during}`;
    case "unexpected":
      return `an unexpected error inside the client${during}`;
    case "earlier":
      return `an earlier attempt may have succeeded, and the last one failed${during}`;
  }
}

function statusLine({ status, serviceCode = phrases.get(status) }: StatusProblem): string {
  return serviceCode === undefined ? String(status) : `${status} ${serviceCode}`;
}

const phrases: ReadonlyMap<number, string> = new Map([
  [301, "Moved Permanently"],
  [302, "Found"],
  [303, "See Other"],
  [307, "Temporary Redirect"],
  [308, "Permanent Redirect"],
  [400, "Bad Request"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "Not Found"],
  [405, "Method Not Allowed"],
  [408, "Request Timeout"],
  [409, "Conflict"],
  [413, "Content Too Large"],
  [415, "Unsupported Media Type"],
  [422, "Unprocessable Content"],
  [429, "Too Many Requests"],
  [431, "Request Header Fields Too Large"],
  [500, "Internal Server Error"],
  [502, "Bad Gateway"],
  [503, "Service Unavailable"],
  [504, "Gateway Timeout"],
]);

function hint(problem: CallProblem, facts: CallTextFacts): string | undefined {
  switch (problem.kind) {
    case "status":
      return statusHint(problem, facts);
    case "untrusted":
      return "Check the server's certificate and TLS version. A private CA goes into tls.ca.";
    case "unconnected":
      return connectionHint(problem.reason, facts);
    case "broken":
      return isClosed.test(problem.reason) && !facts.hasResponded && facts.url.startsWith("https:")
        ? "If the server wants a client certificate, pass tls.cert and tls.key."
        : undefined;
    default:
      return undefined;
  }
}

/** In TLS 1.3 a client learns in no other way that the server wants a certificate of it. */
const isClosed = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

function statusHint(
  { status, serviceCode = "", isForeign }: StatusProblem,
  { hasIds }: CallTextFacts,
): string | undefined {
  if (status >= 300 && status < 400) return "Redirects aren't followed. Check baseUrl.";
  if (status === 401) return "Check that the token is meant for this service (audience), and that the clocks agree.";
  if (status === 404 && hasIds) return "There is no such record, or the path in baseUrl is wrong.";
  if (status === 404) return "Check the path in baseUrl.";
  if (status === 431) return "The access token may be too large.";
  if (/signature/i.test(serviceCode)) return `See ${docsPage("invalid-signature.md")}.`;
  return isForeign ? "It isn't the service's own response, so a proxy may have sent it." : undefined;
}

function connectionHint(reason: string, { url, hasResponded }: CallTextFacts): string | undefined {
  if (hasResponded || !/^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(reason)) return undefined;
  if (isOfTests.test(new URL(url).hostname)) return "In a test with MSW or Nock, pass the fetch option.";
  return reason === "ENOTFOUND" ? "Check the host in baseUrl." : undefined;
}

/** Hosts that only tests use (RFC 2606), and this machine. */
const isOfTests = /(?:^|\.)(?:test|example|invalid|localhost|example\.(?:com|net|org))$|^127\.0\.0\.1$|^\[::1\]$/;

function originOf({ url }: CallTextFacts): string {
  return new URL(url).origin;
}

/** What the service did, as a sentence. A read does nothing in any case. */
function consequence({ operation, verb, isRepeatable, effect, isSent }: CallTextFacts): string | undefined {
  if (!isSent && effect === "none") return "Nothing was sent.";
  if (verb === "get" || verb === "list") return undefined;
  if (isRepeatable)
    return effect === "none" ? "Nothing was created." : "It moves no money, so it's safe to call again.";
  const [subject, done] = operation === "payments.create" ? (["payment", "made"] as const) : deeds[verb];
  if (effect === "none") return `The ${subject} was not ${done}.`;
  if (effect === "done") return `The ${subject} was ${done}.`;
  const advice = operation === "payments.create" ? "Look for it before you pay again or refund." : advices[verb];
  return `The ${subject} may have been ${done}. ${advice}`;
}

const deeds = {
  create: ["record", "created"],
  update: ["record", "updated"],
  request: ["request", "carried out"],
} as const;

const advices = {
  create: "Look for it before you create it again.",
  update: "It's safe to call again.",
  request: "Check that before you send it again.",
};

/** The message without what it says of its call alone. */
export function withoutConsequence(message: string): string {
  return message.replace(
    / (?:Nothing was (?:sent|created)\.|It moves no money|The (?:payment|record|request) (?:was|may have been) ).*$/,
    "",
  );
}
