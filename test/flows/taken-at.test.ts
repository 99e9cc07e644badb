import { expect, it } from "vitest";
import type { TakeFundsByKey } from "../../src/flows/funds-functions.js";
import { flowFixture, isList, isPayment, refusal, request } from "./flow-fixture.js";
import { longList } from "./long-list.js";
import { errorOf } from "./results.js";

/** A service with so many payments, a second apart and up to now, which refuses the flow's own. */
async function refusingFixture(count: number) {
  const lists: string[] = [];
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen)) return refusal();
      if (!isList(seen)) return undefined;
      lists.push(seen.query);
      return longList(count, {}, seen);
    },
  });
  return { ...fixture, lists };
}

/** When the newest payment of `longList` was made. */
const newestMs = (count: number) => Date.UTC(2026, 0, 1) + 1000 * count;

it("ends the look of a payment whose money may have been taken before at the bank's own time", async () => {
  const takenAtMs = newestMs(2000);
  const { flow, bank, lists } = await refusingFixture(2000);
  bank.takeFunds({ key: "k" });
  const takeFunds: TakeFundsByKey = (context) => {
    const funds = bank.takeFunds(context);
    return funds && { ...funds, takenAtMs };
  };
  const outcome = await flow({ takeFunds, bankSkewMs: 60_000 }).run("k", request);
  expect(outcome).toMatchObject({ status: "held", looks: [{ complete: true, grounds: { end: "enough" } }] });
  expect(lists.length).toBeLessThan(20);
});

it("refuses a time that lies ahead of its clock, and one that changes", async () => {
  const { flow, bank } = await flowFixture();
  const at = (takenAtMs: unknown): TakeFundsByKey => {
    return (context) => ({ ...bank.takeFunds(context), takenAtMs }) as ReturnType<TakeFundsByKey>;
  };
  const messageOf = async (takeFunds: TakeFundsByKey, key = "k") =>
    Reflect.get(Object((await errorOf(flow({ takeFunds, bankSkewMs: 1000 }).run(key, request))).cause), "message");
  expect(await messageOf(at(Date.now() + 60_000))).toMatch(/takenAtMs is \d+, which is ahead of this process's clock/);
  expect(await messageOf(at("now"), "text")).toMatch(/takenAtMs is a string/);
  // The money was taken at this time, and then the bank's own reply was lost.
  const first = Date.now();
  const stop = new AbortController();
  const once: TakeFundsByKey = (context) => {
    stop.abort();
    return at(first)(context);
  };
  await errorOf(flow({ takeFunds: once }).run("changing", request, { signal: stop.signal }));
  expect(await messageOf(at(first + 1), "changing")).toMatch(/returned the takenAtMs \d+, and \d+ when it was called/);
});
