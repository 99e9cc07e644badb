import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Page } from "../../src/paging/page.js";
import { Records } from "../../src/paging/records.js";

/** Pages of numbers; a page of `fail` is an error in its place. */
type Script = readonly (readonly number[] | "fail")[];

async function* pagesOf(script: Script, seen: string[]): AsyncGenerator<Page<number>, void, undefined> {
  try {
    for (const [index, items] of script.entries()) {
      seen.push(`page ${index}`);
      await new Promise((resolve) => setImmediate(resolve));
      if (items === "fail") throw new Error(`page ${index} failed`);
      yield new Page(items, () => undefined, "after");
    }
  } finally {
    seen.push("left");
  }
}

/** What `Records` must behave like, only slower. */
async function* generated(pages: AsyncGenerator<Page<number>, void, undefined>) {
  for await (const page of pages) yield* page.items;
}

type Step = "next" | "return" | "throw" | "wait";

async function play(records: AsyncGenerator<number, void, undefined>, steps: readonly Step[]) {
  const results: Promise<unknown>[] = [];
  for (const step of steps) {
    if (step === "wait") await Promise.allSettled(results);
    else if (step === "throw") results.push(records.throw(new Error("thrown in")));
    else results.push(step === "next" ? records.next() : records.return());
  }
  return (await Promise.allSettled(results)).map((result) =>
    result.status === "fulfilled" ? result.value : String(result.reason),
  );
}

describe("the records of pages", () => {
  it("come as a generator would give them, whatever calls of next, return and throw are mixed", async () => {
    const page = fc.oneof(
      { weight: 6, arbitrary: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constant("fail" as const) },
    );
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.constant<Step>("next") },
      { weight: 3, arbitrary: fc.constant<Step>("wait") },
      { weight: 1, arbitrary: fc.constantFrom<Step>("return", "throw") },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(page, { maxLength: 4 }), fc.array(step, { maxLength: 14 }), async (script, steps) => {
        const seen: string[] = [];
        const wanted: string[] = [];
        const results = await play(new Records(pagesOf(script, seen)), steps);
        expect(results).toEqual(await play(generated(pagesOf(script, wanted)), steps));
        expect(seen).toEqual(wanted);
      }),
      { numRuns: 500 },
    );
  });

  it("leave the pages when a loop is left, and when they are disposed of", async () => {
    const seen: string[] = [];
    for await (const record of new Records(pagesOf([[1, 2], [3]], seen))) if (record === 1) break;
    expect(seen).toEqual(["page 0", "left"]);
    const records = new Records(pagesOf([[1]], seen));
    await records.next();
    await records[Symbol.asyncDispose]();
    expect(await records.next()).toEqual({ value: undefined, done: true });
  });
});
