import { expect, it } from "vitest";
import { Page } from "../../src/paging/page.js";
import { RecordIterator } from "../../src/paging/record-iterator.js";

const pageOf = (...items: number[]) => new Page(items, () => undefined, "up");

/** Records of three pages, and what happened to the pages. */
function records(failsAt = 4) {
  const seen: string[] = [];
  async function* pages() {
    try {
      for (const [index, page] of [pageOf(1, 2), pageOf(), pageOf(3)].entries()) {
        seen.push(`page ${index + 1}`);
        if (index + 1 === failsAt) throw new Error("the page failed");
        await Promise.resolve();
        yield page;
      }
    } finally {
      seen.push("closed");
    }
  }
  return { iterator: new RecordIterator(pages()), seen };
}

const value = (item: number) => ({ done: false, value: item });
const done = { done: true, value: undefined };

it("requests a page when its first record is asked for", async () => {
  const { iterator, seen } = records();
  expect(seen).toEqual([]);
  await iterator.next();
  await iterator.next();
  expect(seen).toEqual(["page 1"]);
  expect(await iterator.next()).toEqual(value(3));
  expect(seen).toEqual(["page 1", "page 2", "page 3"]);
  expect([await iterator.next(), await iterator.next()]).toEqual([done, done]);
});

it("serves calls that do not wait for each other in their order", async () => {
  const { iterator } = records();
  const calls = [1, 2, 3, 4].map(() => iterator.next());
  const end = iterator.return();
  expect(await Promise.all([...calls, end, iterator.next()])).toEqual([value(1), value(2), value(3), done, done, done]);
});

it("hands out no record after return, also where that waits for a page", async () => {
  const { iterator } = records();
  const first = iterator.next();
  const later = first.then(() => iterator.next());
  expect(await Promise.all([first, iterator.return(), later])).toEqual([value(1), done, done]);
});

it("hands out no record after return, and closes the pages once", async () => {
  const { iterator, seen } = records();
  expect(await iterator.next()).toEqual(value(1));
  expect(await Promise.all([iterator.return(), iterator.next()])).toEqual([done, done]);
  expect(await iterator.return()).toEqual(done);
  expect(seen).toEqual(["page 1", "closed"]);
});

it.each(["break", "an error"])("closes the pages where a loop ends by %s", async (how) => {
  const { iterator, seen } = records();
  const loop = async () => {
    for await (const _ of iterator) {
      if (how === "break") break;
      throw new Error("the caller failed");
    }
  };
  await loop().catch(() => {});
  expect(seen).toEqual(["page 1", "closed"]);
  expect(await iterator.next()).toEqual(done);
});

it("throws what it is told to throw, and is over", async () => {
  const { iterator, seen } = records();
  await iterator.next();
  const error = new Error("enough");
  await expect(iterator.throw(error)).rejects.toBe(error);
  expect(await iterator.next()).toEqual(done);
  expect(seen).toEqual(["page 1", "closed"]);
});

it("throws what a page throws, once, for the call that asked for it", async () => {
  const { iterator } = records(3);
  const calls = [1, 2, 3, 4].map(() => iterator.next());
  const settled = await Promise.allSettled(calls);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(await iterator.next()).toEqual(done);
});

it("is closed by `await using`", async () => {
  const { iterator, seen } = records();
  {
    await using own = iterator;
    await own.next();
  }
  expect(seen).toEqual(["page 1", "closed"]);
});
