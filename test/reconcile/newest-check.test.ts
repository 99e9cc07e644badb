import { expect, it } from "vitest";
import { NewestCheck, notAfter } from "../../src/reconcile/newest-check.js";

const watched = (id: string, createdMs: number, token = id) => ({ id, token, createdMs, state: { high: 0, low: 0 } });

it("knows when the newest payment was made that was handed out, in whatever order they come", () => {
  expect(new NewestCheck(undefined).newestMs).toBeUndefined();
  const check = new NewestCheck(10);
  check.see(watched("a", 5));
  expect(check.newestMs).toBe(10);
  check.see(watched("b", 20));
  check.see(watched("c", 15));
  expect(check.newestMs).toBe(20);
});

it("refuses to go on where the newest payment was not handed out by two readings in a row", () => {
  const check = new NewestCheck(10);
  const hidden = watched("999", 20);
  check.afterReread(hidden);
  expect(() => check.afterReread(hidden)).toThrow(
    "payments.list: the newest payment is not listed after those before it: new paging tokens do not follow the older ones, as where numbers are ordered as texts, so that 1000 comes before 999. The payments of this service can't be watched from here on. reconcilePayments reads all of them, in the order of the service: compare by that until it orders its tokens by value, or gives all of them one length",
  );
  expect(notAfter(hidden)).toMatchObject({ name: "PagingError", operation: "payments.list" });
  expect(notAfter(watched("a", 0, "a9")).message).not.toContain("numbers");
  const named = new NewestCheck(undefined);
  named.afterReread(watched("a", 20, "9-token"));
  expect(() => named.afterReread(watched("b", 30, "token-8"))).toThrow(
    "new paging tokens do not follow the older ones. The payments of this service can't be watched from here on. Take what is missing from reconcilePayments, then watch without a cursor, or with startAfter, once the service orders its tokens as it makes them",
  );
});

it("goes on where the hidden one came after all, where a replica does not know it, and where there is none", () => {
  const check = new NewestCheck(10);
  check.afterReread(undefined);
  check.afterReread(watched("old", 10));
  check.afterReread(watched("old", 10));
  check.afterReread(watched("late", 20));
  check.afterReread(watched("known to a replica", 9));
  check.see(watched("late", 20));
  check.afterReread(watched("late", 20));
  check.afterReread(watched("next", 30));
  expect(() => check.afterReread(watched("after that", 40))).toThrow("the newest payment is not listed");
});
