import { expect, it, onTestFinished, vi } from "vitest";
import { holdsBack, isNotedRefusal, noteRefusal } from "../../src/auth/noted-refusal.js";

it("holds the same credentials back for a minute, and nobody where its writer's clock is ahead", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const refusal = noteRefusal("mark", 401);
  expect(refusal).toEqual({ mark: "mark", status: 401, untilMs: 1_060_000 });
  const holdsAt = [999_999, 1_000_000, 1_059_999, 1_060_000].map((atMs) => {
    vi.setSystemTime(atMs);
    return [holdsBack(refusal, "mark"), holdsBack(refusal, "another")];
  });
  expect(holdsAt).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [false, false],
  ]);
});

it("is told from anything else that a store may hold", () => {
  const refusal = { mark: "mark", status: 401, untilMs: 1 };
  expect(isNotedRefusal(refusal)).toBe(true);
  const others = [undefined, { ...refusal, mark: 1 }, { ...refusal, status: "401" }, { ...refusal, untilMs: null }];
  expect(others.filter(isNotedRefusal)).toEqual([]);
});
