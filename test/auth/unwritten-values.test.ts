import { expect, it } from "vitest";
import { UnwrittenValues } from "../../src/auth/unwritten-values.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";

const shared = (number: number) => ({ refreshToken: `refresh-${number}` });

it("keeps the newest thousand of what a store did not take, for all sessions of that store", () => {
  const store = new MemoryTokenStore();
  for (let number = 0; number <= 1000; number += 1) UnwrittenValues.of(store).note(`owner-${number}`, shared(number));
  const values = UnwrittenValues.of(store);
  expect(values.get("owner-0")).toBeUndefined();
  expect(values.get("owner-1")).toEqual(shared(1));
  expect(values.get("owner-1000")).toEqual(shared(1000));
  expect(UnwrittenValues.of(new MemoryTokenStore()).get("owner-1")).toBeUndefined();
});

it("forgets one whose mark was replaced, and nothing where there was no mark", () => {
  const values = UnwrittenValues.of(new MemoryTokenStore());
  values.note("owner-1", shared(1));
  values.forget(undefined);
  expect([values.get("owner-1"), values.get(undefined)]).toEqual([shared(1), undefined]);
  values.forget("owner-1");
  expect(values.get("owner-1")).toBeUndefined();
});

it("follows what came of a refresh token to the end, and not round in a circle", () => {
  const values = UnwrittenValues.of(new MemoryTokenStore());
  values.noteUsed("client", "refresh-1", shared(2));
  values.noteUsed("client", "refresh-2", shared(3));
  expect([values.newest("client", shared(1)), values.newest("client", shared(3)), values.newest("client", {})]).toEqual(
    [shared(3), shared(3), {}],
  );
  const lost = { ...shared(3), spentBy: "owner" };
  values.noteUsed("client", "refresh-3", lost);
  expect([values.newest("client", shared(1)), values.isUsed("client", "refresh-3")]).toEqual([lost, true]);
  values.noteUsed("client", "refresh-3", shared(1));
  expect([values.newest("client", shared(2)), values.isUsed("client", "refresh-1")]).toEqual([shared(1), false]);
});

it("keeps the newest thousand of what came of refresh tokens", () => {
  const values = UnwrittenValues.of(new MemoryTokenStore());
  for (let number = 0; number <= 1000; number += 1)
    values.noteUsed("client", `refresh-${number}`, { refreshToken: "other" });
  expect([
    values.isUsed("client", "refresh-0"),
    values.isUsed("client", "refresh-1"),
    values.isUsed("client", "refresh-1000"),
  ]).toEqual([false, true, true]);
});

it("keeps what came of a refresh token from another client", () => {
  const values = UnwrittenValues.of(new MemoryTokenStore());
  values.noteUsed("client", "refresh-1", shared(2));
  expect([values.newest("other", shared(1)), values.isUsed("other", "refresh-1")]).toEqual([shared(1), false]);
});
