import { expect, it, onTestFinished, vi } from "vitest";
import { clock } from "../../src/core/clock.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";

function clockAt(startMs: number) {
  const spy = vi.spyOn(clock, "monotonicMs").mockReturnValue(startMs);
  onTestFinished(() => spy.mockRestore());
  return { set: (ms: number) => void spy.mockReturnValue(ms) };
}

it("keeps a value until its time is over, and from then on takes another", async () => {
  const now = clockAt(1000);
  const store = new MemoryTokenStore();
  expect(await store.read("key")).toBeUndefined();
  expect(await store.write("key", "one", 500, undefined)).toBe(true);
  now.set(1499);
  const { value, version } = (await store.read("key")) ?? {};
  expect(value).toBe("one");
  expect(await store.write("key", "two", 500, undefined)).toBe(false);
  now.set(1500);
  expect(await store.read("key")).toBeUndefined();
  expect(await store.write("key", "two", 500, version)).toBe(false);
  expect(await store.write("key", "two", 500, undefined)).toBe(true);
  expect((await store.read("key"))?.version).not.toBe(version);
});

it("holds a lock until its time is over, or its owner lets go of it", async () => {
  const now = clockAt(1000);
  const store = new MemoryTokenStore();
  await store.unlock("key", "one");
  expect(await store.lock("key", "one", 500)).toBe(true);
  await store.unlock("key", "two");
  now.set(1499);
  expect(await store.lock("key", "two", 500)).toBe(false);
  now.set(1500);
  expect(await store.lock("key", "two", 500)).toBe(true);
  expect(await store.lock("key", "two", 900)).toBe(true);
  now.set(2100);
  expect(await store.lock("key", "one", 500)).toBe(false);
  await store.unlock("key", "two");
  expect(await store.lock("key", "one", 500)).toBe(true);
});
