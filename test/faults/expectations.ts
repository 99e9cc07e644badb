/** The kinds of operation that the decision table tells apart; the token request is a login or a refresh. */
export const kinds = ["read", "create", "payment", "login", "refresh"] as const;
export type Kind = (typeof kinds)[number];

export function isTokenRequest(kind: Kind): kind is "login" | "refresh" {
  return kind === "login" || kind === "refresh";
}

/** How a call must end. */
export interface Expected {
  /** The name of the error, `well`, or `by status`: the class that stands for the status. */
  readonly ends: string;
  readonly effect: "none" | "possible" | "done";
  /** How many attempts there are. */
  readonly tries: number;
  readonly code?: string;
  /** The least time between two attempts. */
  readonly apartMs?: number;
}

const well = (tries = 1): Expected => ({ ends: "well", effect: "none", tries });
const ends = (name: string, effect: Expected["effect"], tries: number, code?: string): Expected => ({
  ends: name,
  effect,
  tries,
  ...(code === undefined ? undefined : { code }),
});
const token = (code: string, tries: number): Expected => ends("TokenError", "none", tries, code);
const tokens = (expected: Expected): Pick<Row, "login" | "refresh"> => ({ login: expected, refresh: expected });
const all = (expected: Expected): Pick<Row, "read" | "create" | "payment"> => ({
  read: expected,
  create: expected,
  payment: expected,
});
const creates = (expected: Expected): Pick<Row, "create" | "payment"> => ({ create: expected, payment: expected });

export type Row = Readonly<Record<Kind, Expected>>;

/** Every call may be retried twice, so 3 attempts are all that are allowed. */
const most = 3;

const unknown = ends("OutcomeUnknownError", "possible", 1);
const done = ends("UnexpectedResponseError", "done", 1);
const deadline = ends("TimeoutError", "none", 1);
const abort = ends("AbortedError", "none", 1);
const refusedByStatus = ends("by status", "none", 1);
const openByStatus = ends("by status", "possible", 1);

/**
 * What must follow from each way to fail, for each kind of operation. Written by hand, so that it can disagree with the table in
 * the code.
 */
export const expectations = {
  well: { ...all(well()), ...tokens(well()) },

  // Nothing was sent: everything may be retried, a payment with the same bytes and signature.
  unsent: {
    ...all(ends("ConnectionError", "none", most, "connection_failed")),
    ...tokens(token("token_endpoint_unreachable", 2)),
  },
  "unsent for good": {
    ...all(ends("ConnectionError", "none", 1, "connection_untrusted")),
    ...tokens(token("token_endpoint_untrusted", 1)),
  },
  "deadline unsent": { ...all(deadline), ...tokens(deadline) },
  "abort unsent": { ...all(abort), ...tokens(abort) },

  // No status came: a create may have been done and is never sent again.
  "maybe sent": {
    read: ends("ConnectionError", "none", most, "connection_failed"),
    ...creates(unknown),
    login: { ...token("token_endpoint_unreachable", 2), apartMs: 1000 },
    // The refresh token may be used up: one login, which may be retried like any other.
    refresh: token("token_endpoint_unreachable", 3),
  },
  "maybe sent, then well": {
    read: well(2),
    ...creates(unknown),
    login: { ...well(2), apartMs: 1000 },
    refresh: well(2),
  },
  "deadline sent": { read: deadline, ...creates(unknown), ...tokens(deadline) },
  "abort sent": { read: abort, ...creates(unknown), ...tokens(abort) },

  // The status was 2xx: it was done, whatever happened to the body.
  "body broken": {
    read: ends("UnexpectedResponseError", "none", most),
    ...creates(done),
    ...tokens(token("token_response_unreadable", 1)),
  },
  "body over the cap": {
    read: ends("UnexpectedResponseError", "none", 1),
    ...creates(done),
    ...tokens(token("token_response_unreadable", 1)),
  },
  "deadline reading": { read: deadline, ...creates(done), ...tokens(deadline) },
  "abort reading": { read: abort, ...creates(done), ...tokens(abort) },
  // 200 is the only success that the description gives the token endpoint.
  "another success": { ...all(well()), ...tokens(token("token_response_unreadable", 1)) },

  // The status decides.
  refused: { ...all(refusedByStatus), login: token("login_refused", 1), refresh: token("login_refused", 2) },
  unauthorized: {
    ...all(ends("by status", "none", 2)),
    login: token("login_refused", 1),
    refresh: token("login_refused", 2),
  },
  conflict: { read: refusedByStatus, ...creates(openByStatus), ...tokens(token("token_endpoint_failing", most)) },
  "conflict, long wait": {
    read: refusedByStatus,
    ...creates(openByStatus),
    ...tokens(token("token_endpoint_failing", 1)),
  },
  failing: {
    read: ends("by status", "none", most),
    ...creates(openByStatus),
    ...tokens(token("token_endpoint_failing", most)),
  },
  "failing, wait of 1 s": {
    read: { ...ends("by status", "none", 2), apartMs: 1000 },
    ...creates(openByStatus),
    ...tokens({ ...token("token_endpoint_failing", most), apartMs: 1000 }),
  },
  "failing, long wait": {
    read: refusedByStatus,
    ...creates(openByStatus),
    ...tokens(token("token_endpoint_failing", 1)),
  },
  throttled: { ...all(ends("by status", "none", most)), ...tokens(token("token_throttled", most)) },
  "throttled, wait of 1 s": {
    ...all({ ...ends("by status", "none", 2), apartMs: 1000 }),
    ...tokens({ ...token("token_throttled", most), apartMs: 1000 }),
  },
  "throttled, long wait": { ...all(refusedByStatus), ...tokens(token("token_throttled", 1)) },
  redirect: { read: refusedByStatus, ...creates(openByStatus), ...tokens(token("token_endpoint_redirected", 1)) },
  "see other": {
    read: refusedByStatus,
    ...creates(ends("by status", "done", 1)),
    ...tokens(token("token_endpoint_redirected", 1)),
  },

  // Faults that affect only some kinds of operation.
  "deadline unsent where it is signed": { ...all(well()), payment: deadline, ...tokens(well()) },
  "abort unsent where it is signed": { ...all(well()), payment: abort, ...tokens(well()) },
} satisfies Record<string, Row>;

export type FailureClass = keyof typeof expectations;

/** The error class of a status. */
export function errorOfStatus(status: number): string {
  return statusErrors.get(status) ?? (status >= 500 ? "ServerError" : "ApiError");
}

const statusErrors: ReadonlyMap<number, string> = new Map([
  [400, "BadRequestError"],
  [401, "AuthenticationError"],
  [403, "PermissionDeniedError"],
  [404, "NotFoundError"],
  [409, "ConflictError"],
  [422, "UnprocessableEntityError"],
  [429, "RateLimitError"],
]);

/** What must follow when the fault happens once only: a retry succeeds. */
export function onceOnly(expected: Expected): Expected {
  const isEnded = expected.ends === "TimeoutError" || expected.ends === "AbortedError";
  if (isEnded || expected.ends === "well" || expected.tries === 1) return expected;
  return { ...well(2), ...(expected.apartMs === undefined ? undefined : { apartMs: expected.apartMs }) };
}
