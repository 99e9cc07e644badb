import { inspect } from "node:util";
import { expect, it, vi } from "vitest";
import type { AccessTokenContext } from "../../src/auth/auth-options.js";
import { callerTokenSource } from "../../src/auth/caller-token-source.js";
import { Deadline, Ended } from "../../src/core/deadline.js";
import { failure, handled, settle, withFakeTimeAndNothingUnhandled } from "./manager-fixture.js";

withFakeTimeAndNothingUnhandled();

it("gives a token that the function returns at once as a plain string", () => {
  expect(callerTokenSource({ accessToken: () => "a" }).current(new Deadline({}), 2)).toBe("a");
});

it("waits for a token that is promised", async () => {
  expect(await callerTokenSource({ accessToken: async () => "a" }).current(new Deadline({}), 2)).toBe("a");
});

it("calls the function for every call, with a refused token only where there is one", async () => {
  const contexts: AccessTokenContext[] = [];
  const source = callerTokenSource({
    accessToken: (context) => {
      contexts.push(context);
      return `token-${contexts.length}`;
    },
  });
  expect([source.current(new Deadline({}), 2), source.current(new Deadline({}), 2)]).toEqual(["token-1", "token-2"]);
  expect(contexts.some((context) => "rejectedToken" in context)).toBe(false);
});

it("passes the refused token after a 401", async () => {
  const source = callerTokenSource({ accessToken: ({ rejectedToken }) => `after-${rejectedToken}` });
  expect(await source.renew("a", new Deadline({}), 2)).toBe("after-a");
});

it("tells the function of a token that a call was refused with, once", async () => {
  const accessToken = vi.fn(({ rejectedToken }: AccessTokenContext) => `after-${rejectedToken}`);
  const source = callerTokenSource({ accessToken });
  source.refused?.("canary");
  expect(await source.current(new Deadline({}), 2)).toBe("after-canary");
  expect(await source.current(new Deadline({}), 2)).toBe("after-undefined");
});

it("rejects when the refused token comes back", async () => {
  const source = callerTokenSource({ accessToken: () => "canary" });
  const error = await failure(source.renew("canary", new Deadline({}), 2));
  expect(error).toMatchObject({
    code: "token_rejected",
    message: expect.stringMatching(/refused the access token.*auth\.accessToken returned the same/),
  });
  expect(inspect(error)).not.toContain("canary");
});

it.each([
  ["", "an empty string"],
  ["Bearer canary", "text that can't stand in a header"],
  ["canary\r\nx: y", "text that can't stand in a header"],
  ["canary\u0000", "text that can't stand in a header"],
  ["cänary", "text that can't stand in a header"],
  [undefined, "undefined"],
  [null, "null"],
  [7, "a number"],
  [{ accessToken: "canary" }, "an object"],
])("refuses %j without showing it, at once or promised", async (given, found) => {
  for (const accessToken of [() => given as string, async () => given as string]) {
    const error = await failure(callerTokenSource({ accessToken }).current(new Deadline({}), 2));
    expect(error).toMatchObject({ code: "token_source_invalid" });
    expect(error.message).toContain(`returned ${found};`);
    expect(inspect(error, { showHidden: true })).not.toMatch(/c[aä]nary/);
  }
});

it("turns what the function throws into an error with a safe cause, at once or promised", async () => {
  const thrown = Object.assign(new Error("vault: access_token=canary is sealed"), {
    code: "SEALED",
    request: { token: "canary" },
  });
  const throwing = () => {
    throw thrown;
  };
  for (const accessToken of [throwing, () => Promise.reject(thrown)]) {
    const error = await failure(callerTokenSource({ accessToken }).current(new Deadline({}), 2));
    expect(error).toMatchObject({ code: "token_source_failed", cause: { code: "SEALED" } });
    expect(error.message).toContain("auth.accessToken failed");
    expect(String(error.cause)).toBe("Error: vault: access_token=[redacted] is sealed");
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
  }
});

it("redacts the refused token in what the function throws", async () => {
  const accessToken = ({ rejectedToken }: AccessTokenContext) =>
    Promise.reject(new TypeError(`no token but\n    at ${rejectedToken}`));
  const error = await failure(callerTokenSource({ accessToken }).renew("canary", new Deadline({}), 2));
  expect(String(error.cause)).toBe("TypeError: no token but\n    at [redacted]");
  expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
});

it("survives a function that throws something other than an error", async () => {
  const accessToken = () => Promise.reject("canary");
  const error = await failure(callerTokenSource({ accessToken }).current(new Deadline({}), 2));
  expect(error).toMatchObject({ code: "token_source_failed" });
  expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
});

it("ends with the call, and aborts the function's signal", async () => {
  let signal: AbortSignal | undefined;
  const source = callerTokenSource({
    accessToken: (context) => {
      signal = context.signal;
      return new Promise<string>((_, reject) => {
        context.signal?.addEventListener("abort", () => reject(new Error("aborted")));
      });
    },
  });
  const abort = new AbortController();
  const asked = handled(Promise.resolve(source.current(new Deadline({ signal: abort.signal }), 2)));
  await settle();
  expect(signal?.aborted).toBe(false);
  abort.abort();
  await expect(asked).rejects.toBeInstanceOf(Ended);
  expect(signal?.aborted).toBe(true);
});
