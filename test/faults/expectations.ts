/** The kinds of operation that the decision table tells apart; the token request is a login or a refresh. */
export const kinds = ["read", "update", "create", "intent", "payment", "login", "refresh"] as const;
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
  /** It is tried until the call's deadline: `tries` is the least number. */
  readonly untilDeadline?: boolean;
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
/** The identity server is away: calls wait for it, and tries are a backoff apart. */
const away = (code: string): Pick<Row, "login" | "refresh"> =>
  tokens({ ...token(code, 2), apartMs: 100, untilDeadline: true });
type Calls = Pick<Row, "read" | "update" | "create" | "intent" | "payment">;
const all = (expected: Expected): Calls => ({
  read: expected,
  update: expected,
  create: expected,
  intent: expected,
  payment: expected,
});
const writes = (expected: Expected): Omit<Calls, "read"> => {
  const { read: _, ...others } = all(expected);
  return others;
};
/** Every call may be retried twice, so 3 attempts are all that are allowed. */
const most = 3;
/** Reads, updates and intents are repeated. */
const passing = (name: string, code?: string): Calls => ({
  ...all(ends(name, "possible", 1)),
  read: ends(name, "none", most, code),
  update: ends(name, "possible", most),
  intent: ends(name, "possible", most),
});

export type Row = Readonly<Record<Kind, Expected>>;

const unknown = ends("OutcomeUnknownError", "possible", 1);
const unusable = ends("UnexpectedResponseError", "possible", 1);
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
    ...away("token_endpoint_unreachable"),
  },
  "unknown host": {
    ...all(ends("ConnectionError", "none", 1, "connection_failed")),
    ...tokens(token("token_endpoint_unreachable", 1)),
  },
  "unsent for good": {
    ...all(ends("ConnectionError", "none", 1, "connection_untrusted")),
    ...tokens(token("token_endpoint_untrusted", 1)),
  },
  "deadline unsent": { ...all(deadline), ...tokens(deadline) },
  "abort unsent": { ...all(abort), ...tokens(abort) },

  // No status came: what moves money may have been done and is never sent again.
  "maybe sent": {
    ...passing("OutcomeUnknownError"),
    read: ends("ConnectionError", "none", most, "connection_failed"),
    // The refresh token may be used up: then a login, which is tried again like any other.
    ...away("token_endpoint_unreachable"),
  },
  "maybe sent, then well": {
    ...all(well(2)),
    create: unknown,
    payment: unknown,
    ...tokens({ ...well(2), apartMs: 100 }),
  },
  "deadline sent": { read: deadline, ...writes(unknown), ...tokens(deadline) },
  "abort sent": { read: abort, ...writes(unknown), ...tokens(abort) },

  // The status was 2xx. An update is done, whatever happened to the body; a create only if all of the record came.
  "not the record": {
    ...passing("UnexpectedResponseError"),
    update: well(),
    ...tokens(token("token_response_unreadable", 1)),
  },
  "not the record, broken off": {
    ...passing("UnexpectedResponseError"),
    update: well(),
    ...away("token_endpoint_unreachable"),
  },
  "another payment": { ...all(well()), payment: unusable, ...tokens(well()) },
  "a page": { ...passing("UnexpectedResponseError"), ...away("token_endpoint_failing") },
  "body over the cap": {
    read: ends("UnexpectedResponseError", "none", 1),
    ...writes(unusable),
    update: well(),
    ...tokens(token("token_response_unreadable", 1)),
  },
  "deadline reading": { read: deadline, ...writes(unusable), update: well(), ...tokens(deadline) },
  "abort reading": { read: abort, ...writes(unusable), update: well(), ...tokens(abort) },

  // The status decides, and whose it is.
  refused: { ...all(refusedByStatus), login: token("login_refused", 1), refresh: token("login_refused", 2) },
  "not there, says another": {
    read: refusedByStatus,
    ...writes(openByStatus),
    login: token("token_endpoint_not_found", 1),
    refresh: token("token_endpoint_not_found", 2),
  },
  // It says nothing of the credentials. A refresh is followed by one login.
  blocked: {
    read: refusedByStatus,
    ...writes(openByStatus),
    login: token("token_endpoint_blocked", 1),
    refresh: token("token_endpoint_blocked", 2),
  },
  "refused by another": {
    read: refusedByStatus,
    ...writes(openByStatus),
    ...away("token_endpoint_failing"),
  },
  unauthorized: {
    ...all(ends("by status", "none", 2)),
    login: token("login_refused", 1),
    refresh: token("login_refused", 2),
  },
  conflict: { read: refusedByStatus, ...writes(openByStatus), ...away("token_endpoint_failing") },
  failing: { ...passing("by status"), ...away("token_endpoint_failing") },
  "failing, long wait": {
    read: refusedByStatus,
    ...writes(openByStatus),
    ...tokens({ ...token("token_endpoint_failing", 1), untilDeadline: true }),
  },
  throttled: { ...all(ends("by status", "none", most)), ...away("token_throttled") },
  "throttled by another": {
    ...passing("by status"),
    create: ends("by status", "possible", most),
    ...away("token_throttled"),
  },
  "throttled, long wait": { ...all(refusedByStatus), ...tokens(token("token_throttled", 1)) },
  redirect: { read: refusedByStatus, ...writes(openByStatus), ...tokens(token("token_endpoint_redirected", 1)) },

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
