import { describe, expect, it } from "vitest";
import { readCallback, readPending } from "../../src/login/authorization.js";
import { failureOf } from "./login-fixture.js";

const checks = { state: "the-state-of-this", nonce: "the-nonce-of-this", verifier: "the-verifier-of-this" };
const settings = {
  auth: { authUrl: "https://id.test", realm: "r", clientId: "c" },
  redirectUri: "https://bank.test/callback",
  scope: "openid",
  issuer: "https://id.test/auth/realms/r",
};
const read = async (query: Record<string, string> | string, begun: typeof checks | undefined = checks) =>
  readCallback(new URLSearchParams(query), begun, settings);
const { state } = checks;

describe("a callback", () => {
  it("gives its code, and nothing else of what it says", async () => {
    const { url, ...rest } = await read({ state, code: "the code", session_state: "x", iss: settings.issuer });
    expect(rest).toEqual({ ...checks, issuer: settings.issuer });
    expect(String(url)).toBe(
      `https://bank.test/callback?code=the+code&state=${state}&iss=${encodeURIComponent(settings.issuer)}`,
    );
  });

  it("of another login counts for nothing", async () => {
    expect(await failureOf(read({ state: "another", code: "c", error: "access_denied" }))).toMatchObject({
      code: "login_state_mismatch",
      message: "Nobody is logged in: the callback does not belong to a login that began here, or was used before",
    });
    const none = new URLSearchParams({ state, code: "c" });
    expect(await failureOf((async () => readCallback(none, undefined, settings))())).toMatchObject({
      code: "login_state_mismatch",
    });
  });

  it("of another issuer counts for nothing, and does not show its name", async () => {
    expect(await failureOf(read({ state, code: "c", iss: "https://forger.test" }))).toMatchObject({
      code: "login_issuer_mismatch",
      message:
        "Nobody is logged in: the callback names another issuer. Check authUrl and realm, or set issuer to the name that the realm uses",
    });
  });

  it.each([{}, { code: "" }])("with neither code nor error has failed: %j", async (query) => {
    expect(await failureOf(read({ state, ...query }))).toMatchObject({
      code: "login_failed",
      message: "Nobody is logged in: the callback has neither a code nor an error",
    });
  });
});

describe("an error of the login page", () => {
  it("is the user's refusal, or another one", async () => {
    const denied = await failureOf(read({ state, error: "access_denied" }));
    expect(denied).toMatchObject({
      code: "login_denied",
      message: "Nobody is logged in: the user refused. Begin a new login when they ask for it",
      serviceCode: "access_denied",
    });
    expect(denied.serviceMessage).toBeUndefined();
    expect(
      await failureOf(read({ state, error: "server_error", error_description: `  try\nlater ${checks.verifier}` })),
    ).toMatchObject({
      code: "login_failed",
      message: "Nobody is logged in: the login page reported an error, which is in serviceCode",
      serviceCode: "server_error",
      serviceMessage: "try later [redacted]",
    });
  });

  it.each(["<b>server_error", "server_error<b>", "", "a".repeat(65)])(
    "is not repeated where it is none: %s",
    async (error) => {
      expect((await failureOf(read({ state, error }))).serviceCode).toBeUndefined();
    },
  );
});

describe("what is kept of a login", () => {
  it("is read back", () => {
    expect(readPending(JSON.stringify(checks))).toEqual(checks);
  });

  it.each(["state", "nonce", "verifier"])("is nothing without its %s", (name) => {
    expect(readPending(JSON.stringify({ ...checks, [name]: undefined }))).toBeUndefined();
    expect(readPending(JSON.stringify({ ...checks, [name]: 7 }))).toBeUndefined();
  });
});
