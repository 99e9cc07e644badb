import { expect, it } from "vitest";
import { readCallback, readPending } from "../../src/login/authorization.js";
import { failureOf } from "./login-fixture.js";

const checks = { state: "the-state-of-this", nonce: "the-nonce-of-this", verifier: "the-verifier-of-this" };
const settings = {
  auth: { authUrl: "https://id.test", realm: "r", clientId: "c" },
  redirectUri: "https://bank.test/callback",
  scope: "openid",
  issuer: "https://id.test/auth/realms/r",
};
const read = async (query: Record<string, string>, begun: typeof checks | undefined = checks) =>
  readCallback(new URLSearchParams(query), begun, settings);
const { state } = checks;
type Failure = { code: string; serviceCode?: string; serviceMessage?: string };

it("takes the code of a callback, and nothing else of what it says", async () => {
  const { url, ...rest } = await read({ state, code: "the code", session_state: "x", iss: settings.issuer });
  expect(rest).toEqual({ ...checks, issuer: settings.issuer });
  const query = `code=the+code&state=${state}&iss=${encodeURIComponent(settings.issuer)}`;
  expect(String(url)).toBe(`https://bank.test/callback?${query}`);
});

it.each<[Record<string, string>, Failure]>([
  [{ state: "another", code: "c", error: "access_denied" }, { code: "login_state_mismatch" }],
  [{ state }, { code: "login_failed" }],
  [{ state, code: "" }, { code: "login_failed" }],
  [
    { state, error: "server_error", error_description: `  try\nlater ${checks.verifier}` },
    { code: "login_failed", serviceCode: "server_error", serviceMessage: "try later [redacted]" },
  ],
  ...["<b>server_error", "server_error<b>", "", "a".repeat(65)].map((error): [Record<string, string>, Failure] => [
    { state, error },
    { code: "login_failed" },
  ]),
])("refuses the callback %j", async (query, failure) => {
  const { code, message, serviceCode, serviceMessage } = await failureOf(read(query));
  expect({ code, serviceCode, serviceMessage }).toEqual(failure);
  expect(message).toMatch(/^No user is logged in: (?!.*server_error)/);
});

it("reads what was kept of a login, if all of it is there", () => {
  expect(readPending(JSON.stringify(checks))).toEqual(checks);
  for (const name of ["state", "nonce", "verifier"]) {
    expect(readPending(JSON.stringify({ ...checks, [name]: 7 }))).toBeUndefined();
  }
});
