import { afterEach, expect, it, vi } from "vitest";
import { TokenManager } from "../../src/auth/token-manager.js";
import { Deadline } from "../../src/core/deadline.js";
import { TokenError } from "../../src/core/errors.js";
import { UserTokens } from "../../src/login/user-tokens.js";
import { fetchTransport } from "../../src/wire/fetch.js";

afterEach(() => void vi.restoreAllMocks());

const deadline = new Deadline({});
const options = {
  auth: { authUrl: "https://id.test", realm: "r", clientId: "c", refreshToken: "the refresh token" },
  transport: fetchTransport(async () => Response.error()),
};
const manager = TokenManager.prototype;
const source = (tokens: UserTokens) => tokens.source(() => {});

it("takes a session for ended only where its refresh token was refused", async () => {
  const tokens = new UserTokens();
  tokens.open(options);
  const renew = vi.spyOn(manager, "renew");
  const opened = source(tokens);
  for (const error of [
    new TokenError("away", { code: "token_endpoint_unreachable" }),
    new TokenError("the client is refused", { code: "login_refused", heldUntilMs: 60_000 }),
    Object.assign(new Error("of somebody else"), { code: "login_refused" }),
  ]) {
    renew.mockRejectedValueOnce(error);
    await expect(opened.renew("used", deadline, 0)).rejects.toBe(error);
    expect(tokens.isOpen).toBe(true);
  }
  const refusal = { code: "login_refused", status: 400, serviceCode: "invalid_grant", serviceMessage: "gone" } as const;
  renew.mockRejectedValueOnce(new TokenError("no", refusal));
  await expect(opened.renew("used", deadline, 0)).rejects.toMatchObject({ ...refusal, code: "session_ended" });
  expect(tokens.isOpen).toBe(false);
});

it("does not take the end of an earlier session for that of the one after it", async () => {
  const tokens = new UserTokens();
  tokens.open(options);
  let refuse = (_: Error): void => {};
  vi.spyOn(manager, "renew").mockReturnValueOnce(
    new Promise((_, reject) => {
      refuse = reject;
    }),
  );
  const renewed = source(tokens).renew("used", deadline, 0);
  tokens.open(options);
  refuse(new TokenError("no", { code: "login_refused" }));
  await expect(renewed).rejects.toMatchObject({ code: "session_ended" });
  expect(tokens.isOpen).toBe(true);
});
