import { inspect } from "node:util";
import { expect, it, vi } from "vitest";
import type { AccessTokenContext } from "../../src/auth/auth-options.js";
import { callerTokenSource } from "../../src/auth/caller-token-source.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { failure, handled, settle, withFakeTimeAndNothingUnhandled } from "./manager-fixture.js";

withFakeTimeAndNothingUnhandled();

const deadline = new Deadline({});
type AccessToken = (context: AccessTokenContext) => Promise<string> | string;
const sourceOf = (accessToken: AccessToken) => callerTokenSource({ accessToken });

it("calls the function for every call, with a refused token only where there is one", async () => {
  const accessToken = vi.fn(({ rejectedToken }: AccessTokenContext) => `after-${rejectedToken}`);
  const source = sourceOf(accessToken);
  // A plain string costs the call no wait.
  expect(source.current(deadline, 2)).toBe("after-undefined");
  expect(await sourceOf(async () => "a").current(deadline, 2)).toBe("a");
  source.refused?.("canary");
  expect([source.current(deadline, 2), source.current(deadline, 2)]).toEqual(["after-canary", "after-undefined"]);
  expect(accessToken.mock.calls.map(([context]) => "rejectedToken" in context)).toEqual([false, true, false]);
});

it("passes the refused token after a 401", async () => {
  expect(await sourceOf(({ rejectedToken }) => `after-${rejectedToken}`).renew("a", deadline, 2)).toBe("after-a");
  const error = await failure(sourceOf(() => "canary").renew("canary", deadline, 2));
  expect(error).toMatchObject({ code: "token_rejected", message: expect.stringContaining("the same one again") });
  expect(inspect(error)).not.toContain("canary");
});

it.each([
  ["", "an empty string"],
  ["Bearer canary", "text that can't stand in a header"],
  ["cänary", "text that can't stand in a header"],
  [undefined, "undefined"],
  [{ accessToken: "canary" }, "an object"],
])("refuses %j without showing it, at once or promised", async (given, found) => {
  for (const accessToken of [() => given as string, async () => given as string]) {
    const error = await failure(sourceOf(accessToken).current(deadline, 2));
    expect(error).toMatchObject({
      code: "token_source_invalid",
      message: expect.stringContaining(`returned ${found};`),
    });
    expect(inspect(error, { showHidden: true })).not.toMatch(/c[aä]nary/);
  }
});

it.each([true, false])(
  "says that the function failed, without the token that it was given (at once: %s)",
  async (isAtOnce) => {
    const fail = ({ rejectedToken }: AccessTokenContext): never => {
      throw new Error(`no token after ${rejectedToken}`);
    };
    const accessToken = isAtOnce ? fail : async (context: AccessTokenContext) => fail(context);
    for (const [asked, cause] of [
      [sourceOf(accessToken).current(deadline, 2), "no token after undefined"],
      [sourceOf(accessToken).renew("canary", deadline, 2), "no token after [redacted]"],
    ] as const) {
      const error = await failure(asked);
      expect(error).toMatchObject({
        code: "token_source_failed",
        message: expect.stringContaining("auth.accessToken failed"),
        cause: { message: expect.stringContaining(cause) },
      });
      expect(inspect(error)).not.toContain("canary");
    }
  },
);

it("ends with the call, and aborts the function's signal", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const source = sourceOf(({ signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  const abort = new AbortController();
  const asked = handled(Promise.resolve(source.current(new Deadline({ signal: abort.signal }), 2)));
  await settle();
  expect(signals[0]?.aborted).toBe(false);
  abort.abort();
  await expect(asked).rejects.toBeInstanceOf(Ended);
  expect(signals[0]?.aborted).toBe(true);
});
