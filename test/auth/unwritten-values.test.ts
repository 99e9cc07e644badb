import { expect, it } from "vitest";
import { UnwrittenValues } from "../../src/auth/unwritten-values.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";

const shared = (number: number) => ({ refreshToken: `refresh-${number}` });

it("keeps the newest 4,000 of what a store did not take, for all sessions of that store", () => {
  const store = new MemoryTokenStore();
  for (let number = 0; number <= 4000; number += 1) UnwrittenValues.of(store).note(`owner-${number}`, shared(number));
  const values = UnwrittenValues.of(store);
  expect(values.get("owner-0")).toBeUndefined();
  expect(values.get("owner-1")).toEqual(shared(1));
  expect(values.get("owner-4000")).toEqual(shared(4000));
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

it("follows what came of a client's refresh token to the end", () => {
  const values = UnwrittenValues.of(new MemoryTokenStore());
  values.note("client refresh-1", shared(2));
  values.note("client refresh-2", shared(3));
  const newest = (client: string, number: number) => values.newest(`${client} `, shared(number));
  expect([newest("client", 1), newest("client", 3), newest("other", 1)]).toEqual([shared(3), shared(3), shared(1)]);
  const lost = { ...shared(3), spentBy: "owner" };
  values.note("client refresh-3", lost);
  expect(newest("client", 1)).toEqual(lost);
});
