import { expect, it } from "vitest";
import { OwnSession } from "../../src/auth/own-session.js";
import { now } from "../../src/core/clock.js";

it.each<[string, (session: OwnSession) => void]>([
  ["nothing happened", () => {}],
  ["a refresh was lost", (session) => session.doubt(true)],
  ["one was refused", (session) => session.end({ class: "refused", status: 400, serviceCode: "invalid_grant" })],
  [
    "a token came without a refresh token",
    (session) =>
      session.goOn(
        { accessToken: "a", refreshToken: undefined, lifetimeMs: 1, refreshLifetimeMs: undefined, sentAt: now() },
        "refresh_token",
      ),
  ],
])("has no refresh token to use or to end where it never had one, and %s", (_, happen) => {
  const session = new OwnSession(true, undefined);
  happen(session);
  expect(session.lastToken(false)).toBeUndefined();
  expect([session.refreshToken, session.livingToken, session.usableToken]).toEqual([undefined, undefined, undefined]);
});
