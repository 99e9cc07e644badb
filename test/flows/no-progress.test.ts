import { expect, it } from "vitest";
import { stretched } from "../support/patience.js";
import { brief, flowFixture, isList, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

/** A flow whose money is taken, and whose owners each end before they have read the list of payments once. */
async function shortLives(lives: number) {
  let isSlow = false;
  const fixture = await flowFixture(
    {
      onRequest: async (seen) => {
        // Nobody gets a response while owners live for less than one.
        if (isSlow && isList(seen)) await new Promise(() => {});
        return undefined;
      },
    },
    brief,
  );
  const { bank, flow } = fixture;
  const takeFunds: typeof bank.takeFunds = (call) => {
    bank.takeFunds(call);
    throw new Error("the response was lost");
  };
  await errorOf(flow({ takeFunds }).run("k", request));
  isSlow = true;
  for (let life = 0; life < lives; life += 1) {
    const owner = flow({ leaseMs: stretched(100), readBackDelayMs: 0 });
    const stop = new AbortController();
    const recovering = all(owner.recover({ signal: stop.signal })).catch(() => {});
    await expect.poll(async () => (await fixture.journal.read("k"))?.epoch).toBe(life + 2);
    stop.abort();
    await recovering;
  }
  isSlow = false;
  return fixture;
}

it("is told to operators where owner after owner ends before it has looked once, and can be resolved", async () => {
  const { flow, bank, sandbox } = await shortLives(10);
  expect(await all(flow().held())).toMatchObject([
    {
      status: "stuck",
      key: "k",
      phase: "funds-requested",
      failures: { code: "flow_no_progress", count: 10, message: expect.stringContaining("none got it further") },
    },
  ]);
  const decision = { by: "Olga Operator", why: "no process lives for long enough" };
  expect(await flow().resolve("k", "release", decision)).toMatchObject({ status: "rejected" });
  expect([bank.released, sandbox.payments]).toEqual([["k"], []]);
});

it("is no operator's business before, nor once an owner got the flow further", async () => {
  const { flow } = await shortLives(9);
  expect(await all(flow().held())).toEqual([]);
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  expect(await all(flow().held())).toEqual([]);
});
