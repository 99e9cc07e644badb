import { expect, it } from "vitest";
import {
  ApiError,
  ConnectionError,
  PagingError,
  TimeoutError,
  TokenError,
  type TokenErrorCode,
  UnexpectedResponseError,
} from "../../src/core/errors.js";
import { retryDelayMs } from "../../src/reconcile/read-payments.js";

const response = (status: number) => ({ status, headers: {}, text: "" });
const refused = (status: number, serviceMessage?: string, retryAfterMs?: number) =>
  ApiError.of("refused", { code: `http_${status}`, response: response(status), serviceMessage, retryAfterMs });
const token = (code: TokenErrorCode, heldUntilMs?: number) => new TokenError("no token", { code, heldUntilMs });
const delayMs = (error: unknown, failures = 0) => retryDelayMs(error, failures, () => 1, 5000);

it.each<[what: string, error: unknown, isRetried: boolean]>([
  ["no connection", new ConnectionError("away"), true],
  ["a deadline", new TimeoutError("late"), true],
  ["503", refused(503, "maintenance"), true],
  ["a firewall's 403", refused(403), true],
  ["an identity server that is away", token("token_endpoint_unreachable"), true],
  ["401", refused(401), false],
  ["the service's own 403", refused(403, "not yours"), false],
  ["a certificate that is not trusted", new ConnectionError("untrusted", { code: "connection_untrusted" }), false],
  ["a refused login", token("login_refused"), false],
  ["a list that can't be followed", new PagingError("no tokens"), false],
])("after %s, retries or gives up", (_, error, isRetried) => {
  expect(delayMs(error)).toBe(isRetried ? 1000 : undefined);
});

it("waits longer after each failure, up to a minute, and as long as it is asked to", () => {
  expect([0, 1, 2, 5, 6, 100].map((failures) => delayMs(refused(503), failures))).toEqual([
    1000, 2000, 4000, 32_000, 60_000, 60_000,
  ]);
  expect(delayMs(refused(429, undefined, 90_000))).toBe(90_000);
  expect(delayMs(token("token_throttled", 12_000))).toBe(7000);
  expect(delayMs(token("token_throttled", 365 * 86_400_000))).toBe(3_600_000);
});

it.each([
  ["a response that is never readable", new UnexpectedResponseError("HTML", { response: response(200) }), 10],
  ["an end that is never proved", new PagingError("unproved", { code: "paging_end_unproved" }), 3],
])("gives up on %s", (_, error, failures) => {
  expect(delayMs(error, failures - 1)).toBeGreaterThan(0);
  expect(delayMs(error, failures)).toBeUndefined();
});
