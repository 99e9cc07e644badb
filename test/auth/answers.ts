import type { TokenErrorCode } from "../../src/core/errors.js";
import {
  granted,
  maybeSent,
  notSent,
  type Reply,
  refusal,
  responded,
  timedOut,
  unknownHost,
  untrusted,
} from "./fake-token-endpoint.js";

/** What follows a refresh that got it: the same refresh token, or a login, at once or once the old token has expired. */
type After = "refresh" | "login at once" | "login at the end";

type Row = readonly [name: string, reply: Reply, code: TokenErrorCode, after: After];

/** The identity provider is away, which passes. */
const away: readonly Row[] = [
  ["no connection", notSent(), "token_endpoint_unreachable", "refresh"],
  ["a lost response", maybeSent(), "token_endpoint_unreachable", "login at the end"],
  ["no response in its own time", timedOut(), "token_endpoint_unreachable", "login at the end"],
  [
    "a response that broke off",
    { ...granted("x"), broken: "cut-short" },
    "token_endpoint_unreachable",
    "login at the end",
  ],
  ["a 503", responded(503), "token_endpoint_failing", "refresh"],
  ["a 500", responded(500, { error: "invalid_grant" }), "token_endpoint_failing", "login at the end"],
  ["a proxy's 502", responded(502, "<html>"), "token_endpoint_failing", "login at the end"],
  ["a proxy's 408", responded(408, "<html>"), "token_endpoint_failing", "login at the end"],
  ["a proxy's 499", responded(499), "token_endpoint_failing", "login at the end"],
  ["a web page", responded(200, "<html>"), "token_endpoint_failing", "login at the end"],
  ["a 429", responded(429, { error: "invalid_request" }), "token_throttled", "refresh"],
  ["a firewall's 429", responded(429, "<html>"), "token_throttled", "refresh"],
];

/** It says nothing of the credentials, and waiting for it doesn't help. */
const elsewhere: readonly Row[] = [
  ["an unknown host", unknownHost(), "token_endpoint_unreachable", "refresh"],
  ["an untrusted certificate", untrusted(), "token_endpoint_untrusted", "refresh"],
  ["a redirect", responded(302, {}, { location: "https://other.example" }), "token_endpoint_redirected", "refresh"],
  ["a 200 without a token", responded(200, {}), "token_response_unreadable", "login at the end"],
  [
    "a 200 that is too large",
    { ...granted("x"), broken: "too-large" },
    "token_response_unreadable",
    "login at the end",
  ],
  [
    "a realm that isn't there",
    responded(404, { error: "Realm does not exist" }),
    "token_endpoint_not_found",
    "login at once",
  ],
  ["another server's 404", responded(404, "<html>"), "token_endpoint_not_found", "login at once"],
  ["a 405", responded(405, "<html>"), "token_endpoint_not_found", "login at once"],
  ["a disabled realm", responded(403, { error: "access_denied" }), "token_endpoint_blocked", "login at once"],
  ["a firewall's 400", responded(400, "Bad Request"), "token_endpoint_blocked", "login at once"],
];

const refused: readonly Row[] = [
  ...[400, 401, 403, 404, 422].map((status): Row => [`${status}`, refusal(status), "login_refused", "login at once"]),
  ["a 401 of anyone", responded(401, "<html>"), "login_refused", "login at once"],
];

/** How long no token is requested after the answer, in milliseconds, with jitter off, and whether calls wait for that. */
const toAnswers = (rows: readonly Row[], holdMs: number, waits: boolean) =>
  rows.map(([name, reply, code, after]) => ({ name, reply, code, after, holdMs, waits }));

/** The table: what the token endpoint answers, and what follows. */
export const answers = [
  ...toAnswers(away, 100, true),
  ...toAnswers(elsewhere, 3000, false),
  ...toAnswers(refused, 60_000, false),
];

export type Answer = (typeof answers)[number];
