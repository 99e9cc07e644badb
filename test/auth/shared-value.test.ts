import { describe, expect, it } from "vitest";
import {
  readSharedValue,
  type SharedValue,
  sharedToken,
  toSharedValue,
  unspentRefreshToken,
  usefulForMs,
  writeSharedValue,
} from "../../src/auth/shared-value.js";
import type { Granted } from "../../src/auth/token-endpoint.js";
import { now } from "../../src/core/clock.js";
import { withFakeTime } from "./manager-fixture.js";

withFakeTime();

const day = 86_400_000;

const granted = (more: Partial<Granted> = {}): Granted => ({
  accessToken: "a",
  refreshToken: "r",
  lifetimeMs: 300_000,
  refreshLifetimeMs: 1_800_000,
  sentAt: now(),
  ...more,
});

describe("a value", () => {
  it.each<[string, Granted, SharedValue]>([
    [
      "all there is to know",
      granted({ sentAt: { wallMs: 1000, monotonicMs: 7 } }),
      { accessToken: "a", lifetimeMs: 300_000, expiresAtMs: 301_000, refreshToken: "r", refreshExpiresAtMs: 1_801_000 },
    ],
    [
      "a token without a lifetime",
      granted({ lifetimeMs: undefined, refreshLifetimeMs: undefined }),
      { accessToken: "a", refreshToken: "r" },
    ],
    [
      "a token of no lifetime at all",
      granted({ lifetimeMs: 0, refreshLifetimeMs: 0, sentAt: { wallMs: 0, monotonicMs: 0 } }),
      { accessToken: "a", lifetimeMs: 0, expiresAtMs: 0, refreshToken: "r", refreshExpiresAtMs: 0 },
    ],
    [
      "no refresh token",
      granted({ refreshToken: undefined, lifetimeMs: undefined, refreshLifetimeMs: undefined }),
      { accessToken: "a" },
    ],
  ])("is read as it was written: %s", (_, response, value) => {
    expect(readSharedValue(writeSharedValue(toSharedValue(response, undefined)))).toStrictEqual(value);
  });

  it("keeps the refresh token that a response does not repeat, and drops the one that it replaces", () => {
    expect(toSharedValue(granted({ refreshToken: undefined }), "kept")).toMatchObject({ refreshToken: "kept" });
    expect(toSharedValue(granted(), "kept")).toMatchObject({ refreshToken: "r" });
  });

  const right = { v: 1, accessToken: "a", lifetimeMs: 5, expiresAtMs: 7, refreshToken: "r", refreshExpiresAtMs: 9 };
  const rightText = JSON.stringify({ ...right, spentBy: "p" });

  it("is read with a field that it does not know, which it drops", () => {
    const { v, ...value } = right;
    expect(readSharedValue(JSON.stringify({ ...right, spentBy: "p", more: {} }))).toStrictEqual({
      ...value,
      spentBy: "p",
    });
  });

  const wrongTimes = ['"5"', "-1", "1e999", "null", "[5]", "true", "{}"];
  it.each([
    ...["2", '"1"', "null", "true"].map((wrong) => ["v", wrong]),
    ...['"a b"', '"a\\nb"', '""', "7", "null", '["a"]', "{}"].map((wrong) => ["accessToken", wrong]),
    ...['"\\ud800"', '""', "7", "null", '["r"]', "{}"].map((wrong) => ["refreshToken", wrong]),
    ...["lifetimeMs", "expiresAtMs", "refreshExpiresAtMs"].flatMap((name) => wrongTimes.map((wrong) => [name, wrong])),
    ...['""', "7", "null", "true", '["p"]', "{}"].map((wrong) => ["spentBy", wrong]),
  ])("is none where its %s is %s", (name = "", wrong = "") => {
    expect(readSharedValue(rightText)).toBeDefined();
    const wrongText = rightText.replace(new RegExp(`"${name}":[^,}]+`), () => `"${name}":${wrong}`);
    expect(wrongText).not.toBe(rightText);
    expect(readSharedValue(wrongText)).toBeUndefined();
  });

  it.each(["v", "lifetimeMs", "expiresAtMs"] as const)("is none without its %s", (name) => {
    expect(readSharedValue(JSON.stringify({ ...right, [name]: undefined }))).toBeUndefined();
  });
});

describe("the access token of a value", () => {
  it.each<[string, SharedValue]>([
    ["only a refresh token", { refreshToken: "r", spentBy: "p" }],
    ["only times", { lifetimeMs: 300_000, expiresAtMs: Date.UTC(2031, 0, 1) }],
    ["nothing", {}],
  ])("is absent where there is %s", (_, value) => {
    expect(sharedToken(value, undefined)).toBeUndefined();
  });

  it("is over where it has a lifetime whose end is missing", () => {
    const token = sharedToken({ accessToken: "a", lifetimeMs: 300_000 }, undefined);
    expect(token?.expiresAt?.monotonicMs).toBeLessThanOrEqual(performance.now());
  });

  it("needs no lifetime, and no leeway then", () => {
    expect(sharedToken({ accessToken: "a" }, 7000)).toEqual({ value: "a", leewayMs: 0 });
  });

  it.each([
    ["ends when its writer said", 200_000, 200_000],
    ["is over where its writer said so", -1, -1],
    ["lasts no longer than its lifetime from now on, where its writer's clock was fast", 9_000_000, 300_000],
  ])("%s", (_, untilEndMs, leftMs) => {
    const at = now();
    const value = { accessToken: "a", lifetimeMs: 300_000, expiresAtMs: at.wallMs + untilEndMs };
    expect(sharedToken(value, 7000)).toEqual({
      value: "a",
      expiresAt: { wallMs: at.wallMs + leftMs, monotonicMs: at.monotonicMs + leftMs },
      leewayMs: 7000,
    });
  });
});

it.each<[string, Partial<SharedValue>, string | undefined]>([
  ["can be sent", {}, "r"],
  ["can be sent a moment before it expires", { refreshExpiresAtMs: 1 }, "r"],
  ["is not sent once it has expired", { refreshExpiresAtMs: 0 }, undefined],
  ["is not sent after somebody may have sent it", { spentBy: "p" }, undefined],
  ["is not sent after that, although it would live", { spentBy: "p", refreshExpiresAtMs: 1 }, undefined],
])("a refresh token %s", (_, { refreshExpiresAtMs, ...value }, sendable) => {
  const expiry = refreshExpiresAtMs === undefined ? undefined : { refreshExpiresAtMs: Date.now() + refreshExpiresAtMs };
  expect(unspentRefreshToken({ refreshToken: "r", ...expiry, ...value })).toBe(sendable);
});

it.each<[string, SharedValue, number]>([
  ["as long as its refresh token lives", { refreshToken: "r", expiresAtMs: 5000, refreshExpiresAtMs: 70_000 }, 70_000],
  ["in whole milliseconds", { refreshToken: "r", refreshExpiresAtMs: 70_000.2 }, 70_001],
  ["30 days where the refresh token has no known end", { refreshToken: "r", expiresAtMs: 5000 }, 30 * day],
  ["30 days at most", { refreshToken: "r", refreshExpiresAtMs: 31 * day }, 30 * day],
  ["as long as its access token lives, where that is all", { expiresAtMs: 5000, refreshExpiresAtMs: 70_000 }, 5000],
  ["30 days where nothing has an end", {}, 30 * day],
  ["a second at least, for a store that takes no less", { expiresAtMs: -1 }, 1000],
])("a value is kept for %s", (_, { expiresAtMs, refreshExpiresAtMs, ...value }, ms) => {
  const startMs = Date.now();
  const ends = {
    ...(expiresAtMs === undefined ? undefined : { expiresAtMs: startMs + expiresAtMs }),
    ...(refreshExpiresAtMs === undefined ? undefined : { refreshExpiresAtMs: startMs + refreshExpiresAtMs }),
  };
  expect(usefulForMs({ ...value, ...ends })).toBe(ms);
});
