import { MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { boundJournal } from "./bound-journal.js";
import { flowFixture, request } from "./flow-fixture.js";
import { errorOf } from "./results.js";

/** A journal that lets something happen once, after a flow was read. */
function afterRead(journal: MemoryJournal, happen: () => Promise<unknown>) {
  let hasHappened = false;
  return boundJournal(journal, {
    read: async (key) => {
      const entry = await journal.read(key);
      if (!hasHappened) {
        hasHappened = true;
        await happen();
      }
      return entry;
    },
  });
}

it("cancels the quote that took the place of an expired one meanwhile, and says so only then", async () => {
  const { flow } = await flowFixture();
  let aheadMs = 0;
  const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const first = await flow({ journal }).quote("k", request);
  aheadMs = 900_000;
  const renewing = afterRead(journal, () => flow({ journal }).quote("k", request));
  const declined = await flow({ journal: renewing }).cancel("k", "too expensive");
  expect(declined).toMatchObject({ status: "declined", reason: "too expensive" });
  expect(declined.intent.id).not.toBe(first.intent.id);
  expect(await flow({ journal }).outcome("k")).toEqual(declined);
});

it("does not say declined of a quote that was confirmed meanwhile", async () => {
  const { flow, journal, sandbox } = await flowFixture();
  const { intent } = await flow().quote("k", request);
  const confirming = afterRead(journal, () => flow().confirm("k", { intentId: intent.id }));
  expect(await errorOf(flow({ journal: confirming }).cancel("k"))).toMatchObject({ code: "flow_confirmed" });
  expect(sandbox.payments).toHaveLength(1);
});
